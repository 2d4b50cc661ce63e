from __future__ import annotations

import pytest
import torch
from helpers import assert_sound, out_edges, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import TableScores, connected_pairs, integer_table
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.planning import Lookahead
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')


def slow_walk_ahead(
    data: Data, table: list[list[float]], start: int, goal: int, depth: int
) -> tuple[list[int], int]:
    """The route, empty if the walk got stuck, and the number of nodes seen."""
    ways, costs = out_edges(data), data.edge_cost.tolist()
    path, seen, left = [start], {start}, {}
    while path[-1] != goal:
        near = {path[-1]}
        level = [(path[-1], 0.0, -1)]  # node, cost, first step
        options = []
        for _ in range(depth):
            reached: dict[int, tuple[float, int]] = {}
            for node, cost, first in level:
                for edge, head in ways[node]:
                    c = cost + costs[edge]
                    step = head if first < 0 else first
                    if head not in reached or c < reached[head][0]:
                        reached[head] = c, step
            level = [
                (node, *reached[node])
                for node in sorted(reached)
                if node not in near and node not in path
            ]
            options += [(c, step) for node, c, step in level if node == goal]
            level = [entry for entry in level if entry[0] != goal]
            near |= {node for node, _, _ in level}
        seen |= near
        for node, cost, first in level:
            if left.get(node, INFINITE) == INFINITE:
                scores = [
                    table[edge][goal]
                    for edge, head in ways[node]
                    if head not in path
                ]
                left[node] = min(scores, default=INFINITE)
            options.append((cost + left[node], first))
        best = min(options, key=lambda option: option[0], default=(INFINITE, 0))
        if best[0] == INFINITE:
            return [], len(seen)
        path.append(best[1])
        seen |= {path[-1]} - {goal}
    return path, len(seen)


@pytest.mark.parametrize('depth', [1, 2, 3])
@settings(deadline=None, max_examples=30)
@given(graph=random_graphs(), high=st.integers(1, 20), seed=st.integers(0, 99))
def test_as_one_query_at_a_time(
    depth: int, graph: Data, high: int, seed: int
) -> None:
    data = planning_graph(graph)
    table = integer_table(data, high, seed)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    scorer = TableScores(adjacency, table)
    plan = Lookahead(depth)(scorer, adjacency, starts, goals)
    assert_sound_where_found(plan, data, starts, goals)
    rows = table.tolist()
    queries = zip(starts.tolist(), goals.tolist(), strict=True)
    for query, (start, goal) in enumerate(queries):
        path, seen = slow_walk_ahead(data, rows, start, goal, depth)
        assert plan.path(query) == path
        assert plan.expansions[query] == (0 if start == goal else seen)
        assert len(set(path)) == len(path)  # no loops


def assert_sound_where_found(plan, data, starts, goals) -> None:
    assert plan.lower_bound.eq(0).all()
    assert_sound(plan, data, starts.tolist(), goals.tolist())


def test_a_depth_beyond_the_graph_costs_no_more() -> None:
    """All is in sight; the rest of the depth must not be counted out."""
    data = planning_graph(
        Data(
            pos=torch.randn(4, 2),
            edge_index=torch.tensor([[0, 1, 2, 0], [1, 2, 3, 3]]),
            edge_cost=torch.tensor([1.0, 1.0, 1.0, 9.0]),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = TableScores(adjacency, torch.zeros(4, 4))
    ends = torch.tensor([0]), torch.tensor([3])
    plan = Lookahead(10**9)(scorer, adjacency, *ends)
    assert plan.path(0) == [0, 1, 2, 3]


def test_two_true_costs_correct_the_map() -> None:
    # 0 -> 1 -> 3 -> 5 costs 3, 0 -> 2 -> 4 -> 5 costs 9; the map says that
    # both are equal from 3 and 4 on, and likes 2 better than 1.
    data = planning_graph(
        Data(
            pos=torch.randn(6, 2),
            edge_index=torch.tensor([[0, 1, 3, 0, 2, 4], [1, 3, 5, 2, 4, 5]]),
            edge_cost=torch.tensor([1.0, 1.0, 1.0, 1.0, 7.0, 1.0]),
        )
    )
    adjacency = Adjacency.from_data(data)
    table = torch.ones(6, 6)
    table[adjacency.src == 1] = 3
    start, goal = torch.tensor([0]), torch.tensor([5])
    routes = [
        Lookahead(depth)(TableScores(adjacency, table), adjacency, start, goal)
        for depth in (1, 2, 3)
    ]
    assert [route.path(0) for route in routes] == [
        [0, 2, 4, 5],
        [0, 1, 3, 5],
        [0, 1, 3, 5],
    ]


def test_each_node_is_asked_once(grid: Data) -> None:
    adjacency = Adjacency.from_data(grid)
    scorer = TableScores(adjacency, integer_table(grid, 50, seed=1))
    starts, goals = connected_pairs(grid)
    some = torch.randperm(len(starts))[:1]
    plan = Lookahead(2)(scorer, adjacency, starts[some], goals[some])
    assert len(scorer.asked) <= int(plan.expansions[0])


def test_lookahead() -> None:
    assert str(Lookahead()) == 'Lookahead(depth=2)'
    assert Lookahead(3) == Lookahead(depth=3)
    for depth in (0, -1, 1.5, None, True):
        with pytest.raises(BCMError, match='depth'):
            Lookahead(depth)

from __future__ import annotations

import networkx as nx
import pytest
import torch
from helpers import assert_same_plan, assert_sound, random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import (
    TableScores,
    connected_pairs,
    integer_table,
    optimal_costs,
    path_inside,
    slow_search,
)
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    Readout,
    VisitedGreedy,
    _engine,
)
from bcm_pyg.utils import Adjacency

GUIDES = [
    Greedy(),
    VisitedGreedy(),
    Backtracking(),
    Lookahead(1),
    Beam(1),
    BestFirst(2),
]


@pytest.mark.parametrize('bidirectional', [False, True])
@settings(deadline=None, max_examples=15)
@given(
    graph=random_graphs(),
    high=st.integers(1, 20),
    seed=st.integers(0, 99),
    radius=st.integers(0, 2),
)
def test_as_one_query_at_a_time(
    bidirectional: bool, graph: Data, high: int, seed: int, radius: int
) -> None:
    # No two routes cost the same, so that all agree which one is widened.
    noise = torch.Generator().manual_seed(seed)
    uneven = torch.rand(graph.edge_attr.shape, generator=noise)
    graph.edge_attr = graph.edge_attr + uneven
    data = planning_graph(graph)
    table = integer_table(data, high, seed)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    scorer = TableScores(adjacency, table)
    readout = Corridor(radius, BestFirst(), bidirectional)
    plan = readout(scorer, adjacency, starts, goals)
    assert plan.success.all()
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    narrow = Corridor(0, BestFirst(), bidirectional)
    routes = narrow(scorer, adjacency, starts, goals)
    rows, graph_nx = table.tolist(), to_nx(data)
    queries = zip(starts.tolist(), goals.tolist(), strict=True)
    for query, (start, goal) in enumerate(queries):
        allowed = set(slow_search(data, rows, start, goal)[0])
        if bidirectional:
            most = 2 * len(allowed)
            back = slow_search(data, rows, goal, start, most=most)
            allowed |= set(back[0])
        path, cost = path_inside(data, allowed, start, goal)
        assert routes.cost[query] == cost
        assert routes.expansions[query] == len(allowed)
        better = radius > 0 and start != goal
        while better:
            for node in path:
                allowed |= nx.single_source_shortest_path_length(
                    graph_nx, node, cutoff=radius
                ).keys()
            path, after = path_inside(data, allowed, start, goal)
            better, cost = after < cost, after
        assert plan.cost[query] == cost
        assert plan.expansions[query] == len(allowed)


@pytest.mark.parametrize('guide', GUIDES, ids=str)
@settings(deadline=None, max_examples=10)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_any_guide_draws_a_corridor(
    guide: Readout, graph: Data, seed: int
) -> None:
    data = planning_graph(graph)
    table = integer_table(data, 9, seed)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    scorer = TableScores(adjacency, table)
    alone = guide(scorer, adjacency, starts, goals)
    costs = [alone.cost.tolist()]
    for readout in (
        Corridor(0, guide, bidirectional=False),
        Corridor(0, guide),
        Corridor(12, guide),
    ):
        plan = readout(scorer, adjacency, starts, goals)
        assert plan.success.all()
        assert_sound(plan, data, starts.tolist(), goals.tolist())
        assert (plan.expansions + 1 >= plan.hops).all()
        costs.append(plan.cost.tolist())
    # Wider is better, and the widest is exact.
    for wide, narrow in zip(costs[1:], costs[:-1], strict=True):
        assert all(w <= n for w, n in zip(wide, narrow, strict=True))
    assert costs[-1] == optimal_costs(data, starts, goals)


def test_it_widens_until_the_route_stays(diamond: Data) -> None:
    # Three rows of 12; the guide sees the first alone, the last is the best.
    side, rows = 12, 3
    cell = torch.arange(rows * side).view(rows, side)
    along = torch.stack([cell[:, :-1].flatten(), cell[:, 1:].flatten()])
    down = torch.stack([cell[:-1].flatten(), cell[1:].flatten()])
    edge_index = torch.cat([along, down, along.flip(0), down.flip(0)], 1)
    row = edge_index // side
    flat = row[0] == row[1]
    cost = torch.where(flat, torch.tensor([9.0, 6.0, 1.0])[row[0]], 1.0)
    data = planning_graph(
        Data(
            pos=torch.randn(rows * side, 2),
            edge_index=edge_index,
            edge_cost=cost,
        )
    )
    adjacency = Adjacency.from_data(data)
    score = torch.where(row[1] == 0, 1.0, 100.0)[:, None].repeat(1, rows * side)
    ends = torch.tensor([0]), torch.tensor([side - 1])
    scorer = TableScores(adjacency, score)
    found = [
        Corridor(radius, VisitedGreedy(), bidirectional=False)(
            scorer, adjacency, *ends
        )
        for radius in (0, 1)
    ]
    assert [plan.cost.item() for plan in found] == [99.0, 15.0]
    assert found[1].expansions.item() == rows * side


def test_the_way_back_is_given_up(diamond: Data) -> None:
    # 0 -> 1 -> 2 and from there one-way into a tail of 500 nodes.
    node = torch.arange(500)
    data = planning_graph(
        Data(
            pos=torch.randn(501, 2),
            edge_index=torch.stack([node, node + 1]),
            edge_cost=torch.ones(500),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = TableScores(adjacency, torch.zeros(500, 501))
    start, goal = torch.tensor([0, 7]), torch.tensor([2, 7])
    plan = Corridor(0)(scorer, adjacency, start, goal)
    assert plan.path(0) == [0, 1, 2]
    assert plan.path(1) == [7]
    assert plan.expansions.tolist() == [2 + 4, 0]
    assert plan.expansions.sum() == len(scorer.asked)
    plan = Corridor(0, VisitedGreedy())(scorer, adjacency, start, goal)
    assert plan.expansions.tolist() == [3, 0]  # the goal is one of them
    assert plan.path(0) == [0, 1, 2]


def test_corridors_are_drawn_a_few_at_a_time(
    grid: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    adjacency = Adjacency.from_data(grid)
    starts, goals = connected_pairs(grid)
    starts, goals = starts[::211], goals[::211]
    table = integer_table(grid, 50, seed=0)
    for readout in (Corridor(), Corridor(2, VisitedGreedy())):
        scorer = TableScores(adjacency, table)
        whole = readout(scorer, adjacency, starts, goals)
        assert 30 < len(whole)
        with monkeypatch.context() as patch:
            patch.setattr(_engine, 'MAX_LISTED', 5 * grid.num_nodes)
            plan = readout(scorer, adjacency, starts, goals)
        assert_same_plan(plan, whole)


def test_corridor() -> None:
    assert str(Corridor()) == (
        'Corridor(radius=2, guide=BestFirst(weight=1.0), bidirectional=True)'
    )
    assert Corridor(3) == Corridor(radius=3, guide=BestFirst(1.0))
    for radius in (-1, 1.5, None, True):
        with pytest.raises(BCMError, match='radius'):
            Corridor(radius)
    for guide in (Greedy, 'greedy', None):
        with pytest.raises(BCMError, match='guide'):
            Corridor(1, guide)

from __future__ import annotations

import networkx as nx
import pytest
import torch
from helpers import assert_sound, out_edges, random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import TableScores, connected_pairs, exact_table
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.planning import Backtracking, VisitedGreedy
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')
#: Scores that lead astray.
HOSTILE = {
    'random': lambda shape: torch.rand(shape),
    'constant': lambda shape: torch.ones(shape),
    'zero': lambda shape: torch.zeros(shape),
    'negative': lambda shape: -torch.rand(shape),
    'infinite': lambda shape: torch.full(shape, INFINITE),
    'nan': lambda shape: torch.full(shape, float('nan')),
    'huge': lambda shape: 1e30 * torch.rand(shape),
}


def both_ways(edges: list[tuple[int, int]], costs: list[float]) -> Data:
    tail, head = torch.tensor(edges).T
    return planning_graph(
        Data(
            pos=torch.randn(int(max(tail.max(), head.max())) + 1, 2),
            edge_index=torch.stack(
                [torch.cat([tail, head]), torch.cat([head, tail])]
            ),
            edge_cost=torch.tensor(costs + costs),
        )
    )


def slow_walk(
    data: Data, table: list[list[float]], start: int, goal: int
) -> list[int]:
    """Real-time A* as it is defined, on positive costs: all nodes walked."""
    every, costs = out_edges(data), data.edge_cost.tolist()
    walk, learned = [start], {}
    while walk[-1] != goal:
        values = []
        for edge, head in every[walk[-1]]:
            rest = max(0.0, table[edge][goal] - costs[edge])
            rest = learned.get(head, rest)
            values.append((costs[edge] + rest, head in learned, edge, head))
        values.sort()
        learned[walk[-1]] = values[1][0] if len(values) > 1 else INFINITE
        walk.append(values[0][3])
    return walk


@settings(deadline=None, max_examples=60)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_as_the_definition(graph: Data, seed: int) -> None:
    graph.edge_attr = graph.edge_attr + 1
    graph.edge_index = torch.cat(
        [graph.edge_index, graph.edge_index.flip(0)], dim=1
    )
    graph.edge_attr = graph.edge_attr.repeat(2)
    data = planning_graph(graph)
    generator = torch.Generator().manual_seed(seed)
    table = torch.rand(data.num_edges, data.num_nodes, generator=generator)
    table *= 20
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    plan = Backtracking()(
        TableScores(adjacency, table), adjacency, starts, goals
    )
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    rows, costs = table.double().tolist(), to_nx(data)
    for query, (start, goal) in enumerate(
        zip(starts.tolist(), goals.tolist(), strict=True)
    ):
        walk = slow_walk(data, rows, start, goal)
        if len(walk) > 4 * data.num_nodes:
            continue
        cost = nx.path_weight(costs, walk, 'cost')
        assert plan.walked_cost[query] == pytest.approx(cost)
        assert plan.expansions[query] == len(set(walk[:-1]))
        assert set(plan.path(query)) <= set(walk)
        assert len(set(plan.path(query))) == len(plan.path(query))


@pytest.mark.parametrize('name', HOSTILE)
@settings(deadline=None, max_examples=25)
@given(
    graph=random_graphs(),
    seed=st.integers(0, 99),
    free=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_it_always_arrives(
    name: str, graph: Data, seed: int, free: float
) -> None:
    """One-way edges, zero-cost cycles and hostile scores included."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    costs = graph.edge_attr
    graph.edge_attr = costs * (
        torch.rand(len(costs), generator=generator) >= free
    )
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    table = HOSTILE[name]((data.num_edges, data.num_nodes))
    starts, goals = connected_pairs(data)
    scorer = TableScores(adjacency, table)
    plan = Backtracking()(scorer, adjacency, starts, goals)
    assert plan.success.all()
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    longest = (6 * data.num_nodes + 1) * starts.numel()
    assert len(scorer.asked) <= longest


def test_it_comes_out_of_a_trap() -> None:
    """A long dead end that looks best; the unvisited-first walk fails."""
    # 0 - 1 - 2 - 3 (a dead end), and 0 - 4 - 5.
    data = both_ways([(0, 1), (1, 2), (2, 3), (0, 4), (4, 5)], [1.0] * 5)
    adjacency = Adjacency.from_data(data)
    table = exact_table(data)
    table[adjacency.dst <= 3] = 0.5
    table[(adjacency.src == 0) & (adjacency.dst == 4)] = 9
    scorer = TableScores(adjacency, table)
    ends = torch.tensor([0]), torch.tensor([5])
    plan = Backtracking()(scorer, adjacency, *ends)
    assert plan.path(0) == [0, 4, 5]
    assert plan.cost.tolist() == [2]
    assert plan.walked_cost.tolist() == [2 + 6]
    assert plan.expansions.tolist() == [5]
    walk = VisitedGreedy()(scorer, adjacency, *ends)
    assert walk.path(0) == [0, 1, 2, 3, 2, 1, 0, 4, 5] or not walk.success


def test_a_new_node_comes_first_among_equals() -> None:
    """A ring of edges that cost nothing: all values tie."""
    node = torch.arange(50)
    data = planning_graph(
        Data(
            pos=torch.randn(50, 2),
            edge_index=torch.cat(
                [
                    torch.stack([node, (node + 1) % 50]),
                    torch.stack([node, (node - 1) % 50]),
                ],
                dim=1,
            ),
            edge_cost=torch.zeros(100),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = TableScores(adjacency, torch.zeros(100, 50))
    starts, goals = torch.tensor([0, 10]), torch.tensor([25, 9])
    plan = Backtracking()(scorer, adjacency, starts, goals)
    assert plan.success.all()
    assert len(scorer.asked) <= 100  # no step was made twice


def test_a_sink_is_left_again() -> None:
    # 0 -> 1 is one-way into a dead end; the goal lies the other way.
    data = planning_graph(
        Data(
            pos=torch.randn(4, 2),
            edge_index=torch.tensor([[0, 0, 2], [1, 2, 3]]),
            edge_cost=torch.tensor([1.0, 5.0, 1.0]),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = TableScores(adjacency, torch.zeros(3, 4))
    plan = Backtracking()(
        scorer, adjacency, torch.tensor([0]), torch.tensor([3])
    )
    assert plan.path(0) == [0, 2, 3]
    assert plan.cost.tolist() == [6]
    assert plan.walked_cost.tolist() == [8]  # there and back again


def test_backtracking() -> None:
    assert str(Backtracking()) == 'Backtracking()'
    assert Backtracking() == Backtracking()


def test_the_start_is_the_goal(diamond: Data) -> None:
    adjacency = Adjacency.from_data(diamond)
    scorer = TableScores(adjacency, torch.zeros(5, 5))
    ends: Tensor = torch.tensor([2])
    plan = Backtracking()(scorer, adjacency, ends, ends)
    assert plan.path(0) == [2]
    assert plan.walked_cost.tolist() == plan.cost.tolist() == [0]
    assert not scorer.asked

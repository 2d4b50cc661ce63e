from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import assert_same_plan, assert_sound, random_graphs, to_nx
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import Dijkstra, dijkstra, shortest_distances
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')


def every_query(num_nodes: int) -> tuple[list[int], list[int]]:
    nodes = range(num_nodes)
    return [s for s in nodes for _ in nodes], [g for _ in nodes for g in nodes]


def test_dijkstra(diamond: Data) -> None:
    planner = Dijkstra(diamond)
    assert str(planner) == 'Dijkstra(num_nodes=5)'
    assert planner.storage_bytes() == 0
    plan = planner([0, 1, 2, 4, 0, 4], [3, 2, 3, 0, 4, 4])
    assert plan.success.tolist() == [True, True, True, False, False, True]
    assert plan.cost.tolist() == [2, 16, 0, INFINITE, INFINITE, 0]
    assert plan.lower_bound.tolist() == plan.cost.tolist()
    assert plan.hops.tolist() == [2, 3, 1, 0, 0, 0]
    assert plan.nodes.tolist() == [
        [0, 1, 3, -1],
        [1, 3, 0, 2],
        [2, 3, -1, -1],
        [-1, -1, -1, -1],
        [-1, -1, -1, -1],
        [4, -1, -1, -1],
    ]


def test_expansions_are_the_nodes_settled(diamond: Data) -> None:
    # Against the edges from 3: 3 (0), 2 (0), 1 (1), 0 (2). Nothing but 3
    # enters 0, nothing at all enters 4.
    plan = Dijkstra(diamond)([0, 1, 2, 3, 4, 3, 0], [3, 3, 3, 3, 3, 0, 4])
    assert plan.expansions.tolist() == [4, 3, 2, 0, 4, 2, 1]


@settings(deadline=None, max_examples=40)
@given(graph=random_graphs(max_nodes=15))
def test_as_networkx(graph: Data) -> None:
    data = planning_graph(graph)  # costs are halves, 0 among them
    starts, goals = every_query(data.num_nodes)
    plan = Dijkstra(graph)(starts, goals)
    assert_sound(plan, data, starts, goals)
    lengths = dict(
        nx.all_pairs_dijkstra_path_length(to_nx(data), weight='cost')
    )
    expected = [
        lengths[start].get(goal, INFINITE)
        for start, goal in zip(starts, goals, strict=True)
    ]
    assert plan.cost.tolist() == expected
    assert plan.lower_bound.tolist() == expected
    assert plan.success.tolist() == np.isfinite(expected).tolist()
    distances = shortest_distances(
        Adjacency.from_data(data), torch.tensor(starts), torch.tensor(goals)
    )
    assert distances.dtype == torch.float64
    assert distances.tolist() == expected
    for query, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        cost = expected[query]
        nearer = sum(
            lengths[node].get(goal, INFINITE) < cost
            for node in range(data.num_nodes)
        )
        settled = max(nearer, 1) + (cost < INFINITE)
        assert plan.expansions[query] == (0 if start == goal else settled)


def test_number_of_the_paper() -> None:
    """The mean over all pairs of the U at side 40."""
    data = weighted_grid('ushape', side=40, costs='uniform')
    free = (~data.blocked).nonzero().squeeze(1)
    planner = Dijkstra(data)
    total, num_pairs = 0.0, 0
    for goals in free.split(64):
        # The way back costs the same, so that half of the pairs will do.
        start, goal = torch.cartesian_prod(free, goals).T
        start, goal = start[start < goal], goal[start < goal]
        plan = planner(start, goal)
        assert bool(plan.success.all())
        total += float(plan.cost.sum())
        num_pairs += len(plan)
    assert num_pairs == 1536 * 1535 // 2
    assert total / num_pairs == pytest.approx(28.20, abs=5e-3)


def test_of_parallel_edges_the_cheapest() -> None:
    data = Data(
        pos=torch.zeros(2, 1),
        edge_index=torch.tensor([[0, 0, 0, 1], [1, 1, 1, 1]]),
        edge_cost=torch.tensor([3.0, 2.0, 4.0, 0.0]),
    )
    plan = Dijkstra(data)([0, 1], [1, 0])
    assert plan.cost.tolist() == [2, INFINITE]
    assert plan.path(0) == [0, 1]


def test_chunks(grid: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    starts, goals = sample_queries(grid, 60, seed=1)
    planner, adjacency = Dijkstra(grid), Adjacency.from_data(grid)
    whole = planner(starts, goals)
    distances = shortest_distances(adjacency, starts, goals)
    assert distances.tolist() == whole.cost.tolist()
    for max_bytes in (1, 5 * 12 * 100):  # one goal and five goals at a time
        monkeypatch.setattr(dijkstra, 'MAX_BYTES', max_bytes)
        assert_same_plan(whole, planner(starts, goals))
        again = shortest_distances(adjacency, starts, goals)
        assert again.tolist() == distances.tolist()


def test_no_queries(diamond: Data) -> None:
    plan = Dijkstra(diamond)([], [])
    assert len(plan) == 0
    assert plan.nodes.shape == (0, 1)
    assert plan.cost.dtype == torch.float64
    assert plan.expansions.dtype == torch.long
    nothing = torch.empty(0, dtype=torch.long)
    adjacency = Adjacency.from_data(diamond)
    assert shortest_distances(adjacency, nothing, nothing).shape == (0,)


def test_only_unreachable_queries(diamond: Data) -> None:
    plan = Dijkstra(diamond)([4, 4], [0, 1])
    assert plan.success.tolist() == [False, False]
    assert plan.nodes.tolist() == [[-1], [-1]]
    assert [plan.path(0), plan.path(1)] == [[], []]
    assert plan.hops.tolist() == [0, 0]


def test_ids(diamond: Data) -> None:
    planner = Dijkstra(diamond)
    expected = planner([0, 0], [3, 2])
    assert_same_plan(expected, planner(0, np.array([3, 2], dtype=np.int32)))
    assert_same_plan(expected, planner(torch.tensor([0, 0]), [3, 2]))
    for bad in ([5], [-1], [0.5], [True]):
        with pytest.raises(BCMError, match='starts'):
            planner(bad, [0])
    with pytest.raises(BCMError, match='same length'):
        planner([0, 1], [0])

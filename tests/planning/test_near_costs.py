"""Distances that a short exact search settles: ``exact_within``."""

from __future__ import annotations

import pytest
import torch
from helpers import random_graphs, tiny_map
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import every_pair
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, CognitiveMap, Planner, planning_graph
from bcm_pyg.baselines import shortest_distances
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import simplify_graph
from bcm_pyg.kernels import load_kernels
from bcm_pyg.planning import EdgeScores
from bcm_pyg.planning._engine import near_costs
from bcm_pyg.planning._plain import PlainEngine
from bcm_pyg.utils import Adjacency

INF = float('inf')


@settings(deadline=None, max_examples=40)
@given(graph=random_graphs(), limit=st.integers(1, 14))
def test_compiled_is_plain_and_exact(graph: Data, limit: int) -> None:
    data = planning_graph(graph)
    adjacency, queries = Adjacency.from_data(data), every_pair(data.num_nodes)
    planner = Planner(tiny_map(data), data)
    assert load_kernels() is not None
    cost, settled = near_costs(planner.scorer, adjacency, *queries, limit)
    ends = [ids.numpy() for ids in queries]
    plain = PlainEngine(planner.scorer, adjacency).near(*ends, limit)
    assert cost.tolist() == plain[0].tolist()
    assert settled.tolist() == plain[1].tolist()
    exact = shortest_distances(adjacency, *queries)
    assert torch.equal(cost[settled], exact[settled].to(cost.dtype))
    assert bool((cost <= exact).all())  # costs are halves: no rounding
    if limit >= data.num_nodes:
        assert bool(settled.all())


def test_by_hand() -> None:
    # 0 - 1 - 2 - 3 in a row, and 4 alone; costs 1, 2, 3.
    ends = torch.tensor([[0, 1, 2], [1, 2, 3]])
    data = Data(
        pos=torch.arange(10.0).view(5, 2),
        edge_index=ends,
        edge_cost=torch.tensor([1.0, 2.0, 3.0]),
    )
    data = planning_graph(data)
    planner = Planner(tiny_map(data), data)
    starts, goals = [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]
    for limit, count in ((1, 2), (2, 3), (3, 4)):
        cost, settled = near_costs(
            planner.scorer,
            planner.adjacency,
            torch.tensor(starts),
            torch.tensor(goals),
            limit,
        )
        assert settled.tolist() == [k < count for k in range(5)]
        lowest = [1.0, 3.0, 6.0][limit - 1]
        known = [0.0, 1.0, 3.0, 6.0][:count]
        assert cost.tolist() == known + [lowest] * (5 - count)
    found = planner.distance(starts, goals, exact_within=99)
    assert found.tolist() == [0.0, 1.0, 3.0, 6.0, INF]


@pytest.mark.parametrize('full', [False, True])
def test_distances(full: bool) -> None:
    data = planning_graph(weighted_grid('ushape', 12, 'wide', 3))
    graph = simplify_graph(data) if full else data
    model = BCM.from_data(graph.data if full else data, hidden_channels=8)
    planner = Planner(model, graph)
    queries = sample_queries(data, 60, seed=1)
    exact = shortest_distances(Adjacency.from_data(data), *queries).float()
    alone = planner.distance(*queries)
    assert torch.equal(planner.distance(*queries, exact_within=0), alone)
    errors = [
        (planner.distance(*queries, exact_within=limit) - exact).abs().mean()
        for limit in (0, 10, 40, 200)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4
    assert planner.distance([], [], exact_within=5).tolist() == []


def test_cognitive_map() -> None:
    data = weighted_grid('open', 6, 'wide', 1)
    atlas = CognitiveMap.learn(data, 0.01, progress=False)
    queries = torch.tensor([0, 3]), torch.tensor([35, 30])
    exact = shortest_distances(Adjacency.from_data(data), *queries).tolist()
    found = atlas.distance(*queries, exact_within=36).tolist()
    assert found == pytest.approx(exact)
    assert atlas.distance(0, 35, exact_within=36) == pytest.approx(exact[0])


def test_a_scorer_is_not_asked_about_what_is_settled() -> None:
    data = planning_graph(weighted_grid('open', 4, 'uniform'))

    def refuses(nodes: torch.Tensor, goals: torch.Tensor) -> EdgeScores:
        raise AssertionError('nothing is left to ask')

    found = Planner(refuses, data).distance([0, 5], [15, 5], exact_within=16)
    assert found.tolist() == [6.0, 0.0] and found.dtype == torch.float32


@pytest.mark.parametrize('value', [-1, 1.5, None, True])
def test_bad_limits(value: object) -> None:
    data = weighted_grid('open', 3)
    with pytest.raises(BCMError, match='^exact_within must be'):
        Planner(tiny_map(data), data).distance(0, 1, exact_within=value)

from __future__ import annotations

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import assert_same_plan, assert_sound, random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from bcm_pyg import BCMError, evaluate, planning_graph
from bcm_pyg.baselines import CCH, Dijkstra
from bcm_pyg.baselines.cch import CUT_WEIGHT, EliminationTree, integer_costs
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.utils import Adjacency

pytest.importorskip('routingkit_cch', reason='needs the extra peers')

INFINITE = float('inf')


def every_query(num_nodes: int) -> tuple[list[int], list[int]]:
    nodes = range(num_nodes)
    return [s for s in nodes for _ in nodes], [g for _ in nodes for g in nodes]


def assert_exact(data: Data) -> None:
    """Costs must be halves, so that nothing is rounded."""
    starts, goals = every_query(data.num_nodes)
    planner = CCH(data)
    assert planner.relative_error == 0
    plan = planner(starts, goals)
    assert_sound(plan, data, starts, goals)
    exact = Dijkstra(data)(starts, goals)
    assert plan.success.tolist() == exact.success.tolist()
    assert plan.cost.tolist() == exact.cost.tolist()
    assert plan.lower_bound.tolist() == exact.cost.tolist()
    for query in range(len(plan)):
        path = plan.path(query)
        assert len(set(path)) == len(path)


def test_small_graph(diamond: Data) -> None:
    planner = CCH(diamond)
    assert str(planner) == 'CCH(num_nodes=5, relative_error=0.0e+00)'
    assert sorted(planner.order.tolist()) == [0, 1, 2, 3, 4]
    assert planner.storage_bytes() == 8 * 5 + 8 * 5
    plan = planner([0, 1, 4, 0, 3, 4], [3, 2, 4, 4, 0, 1])
    assert plan.success.tolist() == [True, True, True, False, True, False]
    assert plan.cost.tolist() == [2.0, 16.0, 0.0, INFINITE, 10.0, INFINITE]
    assert plan.lower_bound.tolist() == plan.cost.tolist()
    assert plan.hops.tolist() == [2, 3, 0, 0, 1, 0]
    assert plan.expansions[2] == 0  # there at once
    assert plan.nodes.tolist() == [
        [0, 1, 3, -1],
        [1, 3, 0, 2],
        [4, -1, -1, -1],
        [-1, -1, -1, -1],
        [3, 0, -1, -1],
        [-1, -1, -1, -1],
    ]


@given(random_graphs())
@settings(max_examples=40, deadline=None)
def test_agrees_with_dijkstra(data: Data) -> None:
    assert_exact(data)


@given(random_graphs())
@settings(max_examples=40, deadline=None)
def test_free_edges_make_no_circle(data: Data) -> None:
    data.edge_attr = (data.edge_attr > 3).float()
    assert_exact(data)


@given(random_graphs())
@settings(max_examples=40, deadline=None)
def test_rounding_is_bounded(data: Data) -> None:
    """Costs from 1e-9 to 1e9: some are below an integer unit."""
    data.edge_attr = 10.0 ** (4.5 * data.edge_attr - 9)
    planner = CCH(data)
    starts, goals = every_query(data.num_nodes)
    plan = planner(starts, goals)
    assert_sound(plan, data, starts, goals)
    optimum = Dijkstra(data)(starts, goals).cost
    assert torch.isfinite(optimum).equal(plan.success)
    assert (plan.lower_bound <= optimum * (1 + 1e-12)).all()
    assert 0 <= planner.relative_error <= 1
    proven = (1 - planner.relative_error) * plan.cost[plan.success]
    assert (plan.lower_bound[plan.success] >= proven * (1 - 1e-12)).all()
    unit = planner.resolution * plan.hops
    excess = (plan.cost - optimum)[plan.success]
    assert (excess <= unit[plan.success] * (1 + 1e-9)).all()


@pytest.mark.parametrize('axes', [1, 2, 3])
def test_grid(axes: int) -> None:
    data = weighted_grid('block', side=24, costs='wide', seed=3)
    position = torch.zeros(data.num_nodes, axes)
    position[:, -2:] = data.pos[:, -min(axes, 2) :]
    data = planning_graph(
        Data(pos=position, edge_index=data.edge_index, edge_cost=data.edge_cost)
    )
    starts, goals = sample_queries(data, 300, seed=5)
    planner = CCH(data)
    plan, exact = planner(starts, goals), Dijkstra(data)(starts, goals)
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    torch.testing.assert_close(plan.cost, exact.cost, rtol=1e-9, atol=0)
    assert (plan.lower_bound <= exact.cost).all()
    assert (plan.lower_bound >= exact.cost * (1 - 1e-6)).all()
    assert planner.relative_error < 1e-6
    if axes > 1:
        assert plan.expansions.double().mean() < 150


def test_real_graph(andorra: Data) -> None:
    data = planning_graph(andorra)
    planner = CCH(data)
    assert planner.relative_error < 1e-4
    report = evaluate(planner, data, *sample_queries(data, 300))
    assert report.success_rate == 1.0
    assert report.gap == pytest.approx(0.0, abs=1e-6)


def test_storage() -> None:
    data = weighted_grid('ushape', side=40, costs='wide', seed=42)
    planner = CCH(data)
    # 5916 edges, 1600 nodes: the 0.06 MB that RoutingKit writes.
    assert planner.storage_bytes() == 4 * (5916 + 5916 + 1600 + 1600)
    assert planner.relative_error < 1e-6
    report = evaluate(planner, data, *sample_queries(data, 300))
    assert report.success_rate == 1.0
    assert report.gap == pytest.approx(0.0, abs=1e-4)


def test_same_again(grid: Data) -> None:
    starts, goals = sample_queries(grid, 100)
    planner = CCH(grid)
    plan = planner(starts, goals)
    assert_same_plan(plan, planner(starts, goals))
    assert_same_plan(plan, CCH(grid)(starts, goals))
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(lambda _: planner(starts, goals), range(2)):
            assert_same_plan(plan, other)


def test_copies(grid: Data) -> None:
    planner = CCH(grid)
    wanted = planner([0, 3], [5, 9])
    for other in (
        copy.copy(planner),
        copy.deepcopy(planner),
        pickle.loads(pickle.dumps(planner)),
    ):
        assert_same_plan(other([0, 3], [5, 9]), wanted)


def test_queries(diamond: Data) -> None:
    planner = CCH(diamond)
    expected = planner([0, 0], [3, 2])
    assert_same_plan(expected, planner(0, np.array([3, 2], dtype=np.int32)))
    assert_same_plan(expected, planner(torch.tensor([0, 0]), [3, 2]))
    empty = planner([], [])
    assert len(empty) == 0 and empty.nodes.shape == (0, 1)
    assert planner([4, 0], [0, 4]).nodes.tolist() == [[-1], [-1]]
    with pytest.raises(BCMError, match='is not a node'):
        planner([0], [5])
    with pytest.raises(BCMError, match='same length'):
        planner([0, 1], [1, 2, 3])


def test_without_the_package(
    diamond: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'routingkit_cch', None)
    with pytest.raises(BCMError, match=r'pip install bcm_pyg\[peers\]'):
        CCH(diamond)


@given(random_graphs())
@settings(max_examples=60, deadline=None)
def test_all_routes_stay_below_the_limit(data: Data) -> None:
    data.edge_attr = 10.0 ** (4.5 * data.edge_attr - 9)
    adjacency = Adjacency.from_data(planning_graph(data))
    weight, resolution = integer_costs(adjacency)
    assert weight.dtype == np.uint32
    assert weight.max() <= CUT_WEIGHT
    cost = adjacency.cost.double().numpy()
    assert (weight * resolution <= cost).all()
    whole = weight < CUT_WEIGHT
    assert (cost < (weight + 1.0) * resolution)[whole].all()
    distance = dijkstra(adjacency.to_scipy()) / resolution
    assert distance[np.isfinite(distance)].max() < CUT_WEIGHT


def test_undirected_costs_keep_their_bits() -> None:
    # The longest route costs a few hundred, not 1536 times 10.
    data = weighted_grid('ushape', side=40, costs='wide', seed=42)
    weight, resolution = integer_costs(Adjacency.from_data(data))
    assert resolution <= 2**-20
    assert weight.min() > 2**20


@pytest.mark.parametrize('costs', [[3.0, 8.0], [0.5, 0.25], [0.0, 0.0]])
def test_nothing_is_lost_of(costs: list[float]) -> None:
    data = Data(
        pos=torch.zeros(3, 2),
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        edge_cost=torch.tensor(costs),
    )
    weight, resolution = integer_costs(
        Adjacency.from_data(planning_graph(data))
    )
    assert (weight * resolution).tolist() == costs


def test_dear_edges_are_cut() -> None:
    """An edge that is never worth it does not cost others their bits."""
    data = Data(
        pos=torch.zeros(3, 2),
        edge_index=torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]]),
        edge_cost=torch.tensor([1.1, 1.1, 1.3, 1.3, 1e30, 1e30]),
    )
    weight, resolution = integer_costs(
        Adjacency.from_data(planning_graph(data))
    )
    assert weight.tolist().count(CUT_WEIGHT) == 2
    assert resolution <= 2**-27


@pytest.mark.parametrize('cost', [1e-44, 1e-20, 3e38])
def test_extreme_costs(cost: float) -> None:
    data = Data(
        pos=torch.zeros(2, 1),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_cost=torch.full((2,), cost),
    )
    adjacency = Adjacency.from_data(planning_graph(data))
    weight, resolution = integer_costs(adjacency)
    assert 2**28 <= weight.min() <= weight.max() < CUT_WEIGHT
    assert np.allclose(weight * resolution, adjacency.cost.double().numpy())


def slow_search_spaces(graph: nx.Graph, order: list[int]) -> list[set[int]]:
    """All that can be reached upwards, by eliminating node after node."""
    graph = graph.copy()
    up: dict[int, list[int]] = {}
    for node in order:
        up[node] = list(graph[node])
        graph.remove_node(node)
        graph.add_edges_from(combinations(up[node], 2))
    spaces: dict[int, set[int]] = {}
    for node in reversed(order):
        spaces[node] = {node}.union(*(spaces[head] for head in up[node]))
    return [spaces[node] for node in range(len(order))]


@given(random_graphs(max_nodes=20), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_search_sizes(data: Data, seed: int) -> None:
    data = planning_graph(data)
    order = np.random.default_rng(seed).permutation(data.num_nodes)
    spaces = slow_search_spaces(to_nx(data).to_undirected(), order.tolist())
    nodes = np.arange(data.num_nodes)
    starts, goals = nodes.repeat(nodes.size), np.tile(nodes, nodes.size)
    tree = EliminationTree(Adjacency.from_data(data), order)
    assert tree.search_sizes(starts, goals).tolist() == [
        len(spaces[start] | spaces[goal])
        for start, goal in zip(starts, goals, strict=True)
    ]
    assert tree.search_sizes(nodes[:0], nodes[:0]).shape == (0,)

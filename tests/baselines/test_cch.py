from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from helpers import assert_same_plan, assert_sound, random_graphs
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import BCMError, evaluate, planning_graph
from bcm_pyg.baselines import CCH, Dijkstra
from bcm_pyg.baselines.cch import _without_circles
from bcm_pyg.datasets import sample_queries, weighted_grid

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


def test_circles_are_cut() -> None:
    assert _without_circles([0, 1, 2, 3]) == [0, 1, 2, 3]
    assert _without_circles([0, 1, 2, 1, 3]) == [0, 1, 3]
    assert _without_circles([0, 1, 2, 1, 3, 2, 4]) == [0, 1, 3, 2, 4]
    assert _without_circles([5, 0, 5, 1, 5]) == [5]


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


def test_queries(diamond: Data) -> None:
    planner = CCH(diamond)
    expected = planner([0, 0], [3, 2])
    assert_same_plan(expected, planner(0, np.array([3, 2], dtype=np.int32)))
    assert_same_plan(expected, planner(torch.tensor([0, 0]), [3, 2]))
    empty = planner([], [])
    assert len(empty) == 0 and empty.nodes.shape == (0, 1)
    assert planner([4, 0], [0, 4]).nodes.tolist() == [[-1], [-1]]
    with pytest.raises(BCMError, match='is no node'):
        planner([0], [5])
    with pytest.raises(BCMError, match='same length'):
        planner([0, 1], [1, 2, 3])


def test_without_the_package(
    diamond: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'routingkit_cch', None)
    with pytest.raises(BCMError, match=r'pip install bcm_pyg\[peers\]'):
        CCH(diamond)

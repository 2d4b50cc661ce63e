from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import (
    assert_same_plan,
    assert_sound,
    out_edges,
    random_graphs,
    to_nx,
)
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import BCMError, evaluate, planning_graph
from bcm_pyg.baselines import APSP, CPD, Dijkstra, dijkstra
from bcm_pyg.baselines.cpd import first_move_runs, goal_order
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')


def every_query(num_nodes: int) -> tuple[list[int], list[int]]:
    nodes = range(num_nodes)
    return [s for s in nodes for _ in nodes], [g for _ in nodes for g in nodes]


def assert_exact(data: Data) -> None:
    """Costs must be such that sums of them are not rounded."""
    starts, goals = every_query(data.num_nodes)
    plan = CPD(data)(starts, goals)
    assert_sound(plan, data, starts, goals)
    exact = Dijkstra(data)(starts, goals)
    assert plan.success.tolist() == exact.success.tolist()
    assert plan.cost.tolist() == exact.cost.tolist()
    assert plan.lower_bound.tolist() == exact.cost.tolist()
    assert plan.expansions.tolist() == plan.hops.tolist()
    for query in range(len(plan)):
        path = plan.path(query)
        assert len(set(path)) == len(path)


def test_small_graph(diamond: Data) -> None:
    planner = CPD(diamond)
    # The order is 0, 1, 3, 2. From 0 to 1 and 3 by the first edge, to 2 by the
    # second; elsewhere there is but one way. Nothing leads to 4.
    assert str(planner) == 'CPD(num_nodes=5, num_runs=5)'
    assert planner.rank.tolist() == [0, 1, 3, 2, 4]
    assert planner.rowptr.tolist() == [0, 2, 3, 4, 5, 5]
    assert planner.num_moves == 2
    assert planner.runs.tolist() == [0, 3 * 2 + 1, 0, 0, 0]
    assert planner.storage_bytes() == 5 + 6 + 5
    plan = planner([0, 1, 4, 0, 3, 4], [3, 2, 4, 4, 0, 1])
    assert plan.success.tolist() == [True, True, True, False, True, False]
    assert plan.cost.tolist() == [2.0, 16.0, 0.0, INFINITE, 10.0, INFINITE]
    assert plan.lower_bound.tolist() == plan.cost.tolist()
    assert plan.expansions.tolist() == plan.hops.tolist() == [2, 3, 0, 0, 1, 0]
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


def test_all_edges_are_free(grid: Data) -> None:
    grid.edge_cost = torch.zeros_like(grid.edge_cost)
    starts, goals = sample_queries(grid, 200)
    plan = CPD(grid)(starts, goals)
    assert_sound(plan, grid, starts.tolist(), goals.tolist())
    assert bool(plan.success.all()) and plan.cost.eq(0).all()


def test_cost_lost_in_a_sum() -> None:
    """Both ends of a tiny edge are equally far from all else."""
    data = Data(
        pos=torch.zeros(4, 2),
        edge_index=torch.tensor(
            [[0, 1, 0, 2, 1, 2, 2, 3], [1, 0, 2, 0, 2, 1, 3, 2]]
        ),
        edge_cost=torch.tensor([1e-20] * 2 + [1.0] * 4 + [1e9] * 2),
    )
    assert_exact(data)


@pytest.mark.parametrize('costs', ['uniform', 'wide'])
def test_grid(costs: str) -> None:
    data = weighted_grid('wall', side=24, costs=costs, seed=3)
    starts, goals = sample_queries(data, 400, seed=5)
    plan, exact = CPD(data)(starts, goals), Dijkstra(data)(starts, goals)
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    torch.testing.assert_close(plan.cost, exact.cost, rtol=1e-12, atol=0)


def test_real_graph(andorra: Data) -> None:
    data = planning_graph(andorra)
    planner = CPD(data)
    report = evaluate(planner, data, *sample_queries(data, 300))
    assert report.success_rate == 1.0
    assert report.gap == pytest.approx(0.0, abs=1e-9)
    assert planner.storage_bytes() < 30_000


def test_storage() -> None:
    data = weighted_grid('ushape', side=40, costs='wide', seed=42)
    planner = CPD(data)
    arrays = planner.runs, planner.rowptr, planner.rank
    assert [array.dtype for array in arrays] == [np.uint16] * 3
    assert planner.storage_bytes() == 2 * (planner.runs.size + 1601 + 1600)
    # Far below two bits a pair, and below the paper's 0.744 MB.
    assert 0.10e6 < planner.storage_bytes() < 0.14e6
    assert APSP(data).compact_bytes() > 4 * planner.storage_bytes()
    report = evaluate(planner, data, *sample_queries(data, 200))
    assert report.gap == pytest.approx(0.0, abs=1e-9)

    # Many moves are optimal if all edges cost the same.
    uniform = CPD(weighted_grid('ushape', side=40, costs='uniform'))
    assert uniform.storage_bytes() < 0.2 * planner.storage_bytes()


def test_queries(diamond: Data) -> None:
    planner = CPD(diamond)
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


def slow_runs(data: Data, goals: list[int]) -> list[tuple[int, int]]:
    """Node and first column of each run, where all costs are positive."""
    lengths = dict(
        nx.all_pairs_dijkstra_path_length(to_nx(data), weight='cost')
    )
    cost, runs = data.edge_cost.tolist(), []
    for node, ways in enumerate(out_edges(data)):
        right: set[int] = set()
        for column, goal in enumerate(goals):
            if goal == node:
                continue
            if goal not in lengths[node]:
                fits = {-1}
            else:
                fits = {
                    edge
                    for edge, head in ways
                    if cost[edge] + lengths[head].get(goal, float('inf'))
                    == lengths[node][goal]
                }
            if ways and not right & fits:
                # A run begins where the last ended, be it at the node itself.
                runs.append((node, column if right else 0))
                right = fits
            right &= fits
    return runs


@given(random_graphs())
@settings(max_examples=60, deadline=None)
def test_runs_are_as_few_as_can_be(data: Data) -> None:
    data.edge_attr = data.edge_attr + 0.5
    data = planning_graph(data)
    adjacency = Adjacency.from_data(data)
    goals = goal_order(adjacency)
    node, column, move = first_move_runs(adjacency, goals)
    found = list(zip(node.tolist(), column.tolist(), strict=True))
    expected = slow_runs(data, goals.tolist())
    # A node whose only goal is itself keeps one run that is never asked.
    idle = set(node.tolist()) - {node for node, _ in expected}
    assert found == sorted(expected + [(node, 0) for node in idle])
    assert (move >= 0).all()
    assert (move <= adjacency.degree().numpy()[node]).all()


@given(random_graphs(max_nodes=20))
@settings(max_examples=40, deadline=None)
def test_goals_are_the_nodes_with_a_way_in(data: Data) -> None:
    adjacency = Adjacency.from_data(planning_graph(data))
    goals = goal_order(adjacency).tolist()
    assert sorted(goals) == sorted(set(adjacency.dst.tolist()))


def test_order_leaves_no_stragglers() -> None:
    # A comb: the teeth 4 and 5 come before the way on along the back.
    edges = torch.tensor([[0, 1, 1, 2, 2], [1, 4, 2, 5, 3]])
    data = Data(
        pos=torch.zeros(6, 2),
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_cost=torch.ones(10),
    )
    adjacency = Adjacency.from_data(planning_graph(data))
    assert goal_order(adjacency).tolist() == [0, 1, 4, 2, 3, 5]
    # On a grid, each goal but few is next to the one before.
    grid = weighted_grid('ushape', side=20, costs='wide')
    pos = grid.pos.numpy()[goal_order(Adjacency.from_data(grid))]
    jumps = np.abs(np.diff(pos, axis=0)).sum(axis=1) > 1
    assert jumps.mean() < 0.05


def test_chunks(grid: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CPD(grid)
    for chunk_bytes in (1, 7 * 12 * 100):  # one goal and seven at a time
        monkeypatch.setattr(dijkstra, 'MAX_BYTES', chunk_bytes)
        parts = CPD(grid)
        assert parts.runs.tolist() == whole.runs.tolist()
        assert parts.rowptr.tolist() == whole.rowptr.tolist()


def test_progress(grid: Data, capsys: pytest.CaptureFixture[str]) -> None:
    CPD(grid)
    assert capsys.readouterr().err == ''
    CPD(grid, progress=True)
    num_goals = int(grid.edge_index.unique().numel())
    assert f'{num_goals}/{num_goals}' in capsys.readouterr().err

import numpy as np
import pytest
import torch
from baseline_walks import check_plan
from helpers import random_graphs
from hypothesis import given, settings

from bcm_pyg import BCMError, evaluate, planning_graph
from bcm_pyg.baselines import APSP, Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.utils import Adjacency


def test_tables_of_a_small_graph(diamond):
    planner = APSP(diamond)
    assert str(planner) == 'APSP(num_nodes=5)'
    inf = float('inf')
    assert planner.distance.tolist() == [
        [0.0, 1.0, 5.0, 2.0, inf],
        [11.0, 0.0, 16.0, 1.0, inf],
        [10.0, 11.0, 0.0, 0.0, inf],
        [10.0, 11.0, 15.0, 0.0, inf],
        [inf, inf, inf, inf, 0.0],
    ]
    assert planner.next_hop.tolist() == [
        [-1, 1, 2, 1, -1],
        [3, -1, 3, 3, -1],
        [3, 3, -1, 3, -1],
        [0, 0, 0, -1, -1],
        [-1, -1, -1, -1, -1],
    ]
    plan = planner([0, 1, 4, 0, 3], [3, 2, 4, 4, 0])
    assert plan.success.tolist() == [True, True, True, False, True]
    assert plan.cost.tolist() == [2.0, 16.0, 0.0, inf, 10.0]
    assert plan.hops.tolist() == [2, 3, 0, 0, 1]
    assert plan.expansions.tolist() == [2, 3, 0, 0, 1]
    assert plan.lower_bound.tolist() == plan.cost.tolist()
    assert [plan.path(q) for q in range(5)] == [
        [0, 1, 3],
        [1, 3, 0, 2],
        [4],
        [],
        [3, 0],
    ]


@given(random_graphs())
@settings(max_examples=50, deadline=None)
def test_agrees_with_dijkstra(data):
    num_nodes = data.num_nodes
    starts = torch.arange(num_nodes).repeat_interleave(num_nodes)
    goals = torch.arange(num_nodes).repeat(num_nodes)
    plan = APSP(data)(starts, goals)
    check_plan(plan, Adjacency.from_data(planning_graph(data)), starts, goals)
    exact = Dijkstra(data)(starts, goals)
    assert plan.success.equal(exact.success)
    assert plan.cost.equal(exact.cost)
    assert plan.lower_bound.equal(exact.lower_bound)


def test_all_chunks_are_filled(grid, monkeypatch):
    whole = APSP(grid)
    monkeypatch.setattr('bcm_pyg.baselines.apsp.CHUNK_BYTES', 12 * 100 * 7)
    parts = APSP(grid)
    assert parts.distance.equal(whole.distance)
    assert parts.next_hop.equal(whole.next_hop)


def test_numbers_of_the_paper():
    data = weighted_grid('ushape', side=40, costs='uniform')
    planner = APSP(data)
    assert planner.storage_bytes() == 30_720_000
    assert planner.distance.dtype == torch.float64
    assert planner.next_hop.dtype == torch.int32
    tables = planner.distance, planner.next_hop
    assert sum(t.numel() * t.element_size() for t in tables) == 30_720_000
    # Two bits for each ordered pair of the 1536 free cells.
    assert planner.compact_bytes() == 1536 * 1535 * 2 // 8

    # Section 5 of baselines.md: the mean over all pairs.
    distance = planner.distance[torch.isfinite(planner.distance)]
    assert float(distance[distance > 0].mean()) == pytest.approx(
        28.20, abs=5e-3
    )

    wide = weighted_grid('ushape', side=40, costs='wide')
    report = evaluate(APSP(wide), wide, *sample_queries(wide, 200))
    assert report.success_rate == 1.0
    assert report.gap == pytest.approx(0.0, abs=1e-9)


def test_compact_table_is_exact(grid):
    """A slot among the out-edges is enough to walk every route."""
    planner = APSP(grid)
    adjacency = planner.adjacency
    starts, goals = sample_queries(grid, 50)
    slot = np.full((100, 100), -1)
    for node in range(100):
        begin, end = adjacency.rowptr[node : node + 2].tolist()
        for place, head in enumerate(adjacency.dst[begin:end].tolist()):
            slot[node, planner.next_hop[node].numpy() == head] = place
    assert slot.max() < 4  # two bits
    for start, goal in zip(starts.tolist(), goals.tolist(), strict=True):
        cost, node = 0.0, start
        while node != goal:
            edge = int(adjacency.rowptr[node]) + slot[node, goal]
            cost += float(adjacency.cost[edge])
            node = int(adjacency.dst[edge])
        assert cost == pytest.approx(float(planner.distance[start, goal]))


def test_compact_bytes_of_odd_graphs(diamond):
    # Four nodes with edges, all mutually reachable, two ways out at most.
    assert APSP(diamond).compact_bytes() == 2  # 12 bits
    diamond.edge_index = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])
    diamond.edge_cost = torch.ones(4)
    assert APSP(diamond).compact_bytes() == 3  # 'no route' is a third code


def test_refuses_large_tables(grid):
    assert APSP(grid, max_bytes=120_000).storage_bytes() == 120_000
    with pytest.raises(BCMError, match='need 120000 bytes'):
        APSP(grid, max_bytes=119_999)
    with pytest.raises(BCMError, match='max_bytes must be an int'):
        APSP(grid, max_bytes=1.5)


def test_queries(grid):
    planner = APSP(grid)
    assert len(planner([], [])) == 0
    assert planner(0, [1, 99]).success.tolist() == [True, True]
    with pytest.raises(BCMError, match='is no node'):
        planner([0], [100])
    with pytest.raises(BCMError, match='same length'):
        planner([0, 1], [1, 2, 3])


def test_directed_float_graph(andorra):
    data = planning_graph(andorra)
    starts, goals = sample_queries(data, 200)
    report = evaluate(APSP(data), data, starts, goals)
    assert report.success_rate == 1.0
    assert report.gap == pytest.approx(0.0, abs=1e-9)

from __future__ import annotations

import numpy as np
import pytest
import torch
from baseline_walks import check_plan
from helpers import random_graphs
from hypothesis import given, settings
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCMError, evaluate, planning_graph
from bcm_pyg.baselines import APSP, Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.utils import Adjacency


def every_query(num_nodes: int) -> tuple[Tensor, Tensor]:
    nodes = torch.arange(num_nodes)
    return nodes.repeat_interleave(num_nodes), nodes.repeat(num_nodes)


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
    starts, goals = every_query(data.num_nodes)
    plan = APSP(data)(starts, goals)
    check_plan(plan, Adjacency.from_data(planning_graph(data)), starts, goals)
    exact = Dijkstra(data)(starts, goals)
    assert plan.success.equal(exact.success)
    assert plan.cost.equal(exact.cost)
    assert plan.lower_bound.equal(exact.lower_bound)


def test_all_chunks_are_filled(grid, monkeypatch):
    whole = APSP(grid)
    monkeypatch.setattr('bcm_pyg.baselines.dijkstra.MAX_BYTES', 12 * 100 * 7)
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
    starts, goals = sample_queries(wide, 200)
    planner = APSP(wide)
    assert planner.compact_bytes() == 589_440
    report = evaluate(planner, wide, starts, goals)
    assert report.success_rate == 1.0
    assert report.gap == pytest.approx(0.0, abs=1e-9)


def slow_codes(planner: APSP) -> tuple[list[int], int]:
    """The place of each next hop among the out-edges, goal by goal, and bits.

    A number of bits is enough if it has room for the place of every edge, and
    for one more number if some pair needs that.
    """
    ways = [[] for _ in range(planner.adjacency.num_nodes)]
    used = set()
    ends = planner.adjacency.src.tolist(), planner.adjacency.dst.tolist()
    for tail, head in zip(*ends, strict=True):
        ways[tail].append(head)
        used |= {tail, head}
    no_route = max(map(len, ways))
    next_hop = planner.next_hop.tolist()
    codes = [
        no_route
        if next_hop[node][goal] < 0
        else ways[node].index(next_hop[node][goal])
        for goal in sorted(used)
        for node in sorted(used)
        if node != goal
    ]
    bits = 0
    while 2**bits < no_route + (no_route in codes):
        bits += 1
    return codes, bits


def check_compact(data: Data) -> APSP:
    """All next hops, packed, take as many bytes as it says."""
    planner = APSP(data)
    codes, bits = slow_codes(planner)
    number = sum(code << (bits * k) for k, code in enumerate(codes))
    assert number < 1 << (bits * len(codes)) or number == 0
    assert planner.compact_bytes() == (bits * len(codes) + 7) // 8
    return planner


@given(random_graphs())
@settings(max_examples=60, deadline=None)
def test_compact_bytes(data):
    check_compact(data)


def test_compact_without_a_choice():
    """On a directed ring no bit is needed."""
    data = Data(
        pos=torch.zeros(4, 1),
        edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]),
        edge_cost=torch.ones(3),
    )
    planner = check_compact(data)
    assert planner.compact_bytes() == 0
    assert planner([0, 0], [2, 3]).success.tolist() == [True, False]


def test_compact_components():
    """Free cells on both sides of a closed wall: a fifth code, three bits."""
    mask = np.zeros((6, 6), dtype=bool)
    mask[:, 2] = True
    data = weighted_grid(mask, side=6, costs='uniform')
    planner = check_compact(data)
    assert planner.compact_bytes() == (3 * 30 * 29 + 7) // 8
    plan = planner([0, 0, 0, 2, 2], [1, 3, 2, 0, 2])
    assert plan.success.tolist() == [True, False, False, False, True]


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
    assert planner([], []).nodes.shape == (0, 1)
    assert planner(0, [1, 99]).success.tolist() == [True, True]
    with pytest.raises(BCMError, match='is not a node'):
        planner([0], [100])
    with pytest.raises(BCMError, match='same length'):
        planner([0, 1], [1, 2, 3])


def test_directed_float_graph(andorra):
    data = planning_graph(andorra)
    starts, goals = sample_queries(data, 200)
    report = evaluate(APSP(data), data, starts, goals)
    assert report.success_rate == 1.0
    assert report.gap == pytest.approx(0.0, abs=1e-9)

from __future__ import annotations

import pytest
import torch
from helpers import out_edges, random_graphs
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.planning.neighbors import MAX_COLUMNS, NeighborTable
from bcm_pyg.utils import Adjacency


def assert_as_lists(data: Data, table: NeighborTable) -> None:
    """Row by row, against plain lists of edges."""
    num_edges, costs = data.num_edges, data.edge_cost.tolist()
    for node, ways in enumerate(out_edges(data)):
        is_wide = table.wide is not None and bool(table.wide[node])
        assert is_wide == (len(ways) > table.width)
        if is_wide:
            ways = []
        padding = table.width - len(ways)
        assert table.head[node].tolist() == [
            *(head for _, head in ways),
            *[node] * padding,
        ]
        assert table.cost[node].tolist() == [
            *(costs[edge] for edge, _ in ways),
            *[0.0] * padding,
        ]
        rest = [edge for edge, _ in ways[1:]]
        rest += [num_edges] * (table.width - 1 - len(rest))
        assert table.rest[node].tolist() == rest


@settings(deadline=None, max_examples=40)
@given(random_graphs())
def test_random_graphs(graph: Data) -> None:
    data = planning_graph(graph)
    table = NeighborTable(Adjacency.from_data(data))
    assert table.wide is None  # of so few nodes none is rare
    assert table.width == max(len(ways) for ways in out_edges(data))
    assert_as_lists(data, table)


def star(num_leaves: int, directed: bool = False) -> Data:
    leaf = torch.arange(1, num_leaves + 1)
    spokes = torch.stack([torch.zeros_like(leaf), leaf])
    if not directed:
        spokes = torch.cat([spokes, spokes.flip(0)], dim=1)
    return planning_graph(
        Data(
            pos=torch.randn(num_leaves + 1, 2),
            edge_index=spokes,
            edge_cost=torch.rand(spokes.size(1)),
        )
    )


def test_a_hub_pads_nobody() -> None:
    data = star(100)
    table = NeighborTable(Adjacency.from_data(data))
    assert table.width == 1
    assert table.wide is not None
    assert table.wide.nonzero().tolist() == [[0]]
    assert_as_lists(data, table)
    assert table.num_bytes() == 101 * (8 + 4)


def test_a_great_hub_is_cheap() -> None:
    table = NeighborTable(Adjacency.from_data(star(100_000)))
    assert table.num_bytes() < 2_000_000


@pytest.mark.parametrize('degree', [MAX_COLUMNS, MAX_COLUMNS + 1])
def test_dense_graphs_have_a_bounded_table(degree: int) -> None:
    node = torch.arange(50)
    tail = node.repeat_interleave(degree)
    head = (tail + torch.arange(1, degree + 1).repeat(50)) % 50
    data = planning_graph(
        Data(
            pos=torch.randn(50, 2),
            edge_index=torch.stack([tail, head]),
            edge_cost=torch.rand(50 * degree),
        )
    )
    table = NeighborTable(Adjacency.from_data(data))
    assert table.width == MAX_COLUMNS
    assert (table.wide is None) == (degree == MAX_COLUMNS)
    assert_as_lists(data, table)


def test_one_way_star() -> None:
    data = star(3, directed=True)  # three sinks
    table = NeighborTable(Adjacency.from_data(data))
    assert table.width == 3
    assert_as_lists(data, table)

import pytest
import torch
from helpers import random_graphs
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.graph import fingerprint


def test_is_stable(diamond):
    """Pinned: saved maps carry it, so a change of it is a change of format."""
    assert fingerprint(diamond) == (
        'd63dd1881f08be7bc95ecd551a803e116719021b25ddc91176f7f627102e8d81'
    )


@settings(max_examples=25, deadline=None)
@given(raw=random_graphs())
def test_order_of_edges_does_not_matter(raw):
    flipped = Data(
        pos=raw.pos,
        edge_index=raw.edge_index.flip(1),
        edge_attr=raw.edge_attr.flip(0),
    )
    data = planning_graph(raw)
    assert fingerprint(planning_graph(flipped)) == fingerprint(data)
    assert fingerprint(planning_graph(data)) == fingerprint(data)


def test_further_attributes_do_not_matter(diamond):
    before = fingerprint(diamond)
    diamond.x = torch.rand(5, 3)
    diamond.edge_type = torch.zeros(5)
    assert fingerprint(diamond) == before


@pytest.mark.parametrize('name', ['edge_index', 'edge_cost', 'pos', 'coord'])
def test_every_part_matters(grid, name):
    before = fingerprint(grid)
    changed = grid.clone()
    changed[name].view(-1)[0] += 1
    assert fingerprint(changed) != before
    assert fingerprint(grid) == before


def test_isolated_nodes_and_codes_matter(diamond):
    before = fingerprint(diamond)
    more = planning_graph(
        Data(
            pos=torch.cat([diamond.pos, torch.zeros(1, 2)]),
            edge_index=diamond.edge_index,
            edge_cost=diamond.edge_cost,
        )
    )
    assert fingerprint(more) != before
    diamond.coord = torch.zeros(5, 2, dtype=torch.long)
    assert fingerprint(diamond) != before


def test_memory_layout_does_not_matter(diamond):
    before = fingerprint(diamond)
    diamond.pos = diamond.pos.T.contiguous().T
    assert not diamond.pos.is_contiguous()
    assert fingerprint(diamond) == before

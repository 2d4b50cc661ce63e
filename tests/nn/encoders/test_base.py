from __future__ import annotations

import torch
from torch_geometric.data import Data

from bcm_pyg.nn.encoders.base import select_nodes


def test_select_nodes(diamond: Data) -> None:
    diamond.name = 'diamond'
    out = select_nodes(diamond, torch.tensor([3, 1, 3]))
    assert out.num_nodes == 3
    assert out.n_id.tolist() == [3, 1, 3]
    assert out.pos.tolist() == [[2.0, 0.0], [1.0, 1.5], [2.0, 0.0]]
    assert out.graph_nodes == 5
    assert sorted(out.keys()) == ['graph_nodes', 'n_id', 'num_nodes', 'pos']


def test_select_nodes_takes_every_node_attribute(grid: Data) -> None:
    grid.height = torch.arange(100.0)
    out = select_nodes(grid, torch.tensor([12, 34]))
    assert out.height.tolist() == [12.0, 34.0]
    assert out.coord.tolist() == [[1, 2], [3, 4]]
    assert out.get('edge_index') is None
    assert out.get('edge_cost') is None


def test_select_nodes_of_as_many_nodes_as_edges(diamond: Data) -> None:
    assert diamond.num_nodes == diamond.num_edges == 5
    out = select_nodes(diamond, torch.tensor([0]))
    assert 'edge_cost' not in out


def test_select_nodes_overrides_a_foreign_n_id(diamond: Data) -> None:
    diamond.n_id = torch.tensor([70, 71, 72, 73, 74])  # as PyG's loaders do
    out = select_nodes(diamond, torch.tensor([4, 2]))
    assert out.n_id.tolist() == [4, 2]

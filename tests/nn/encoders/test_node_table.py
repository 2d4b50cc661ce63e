from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError
from bcm_pyg.nn import NodeTableEncoder, check_encoder
from bcm_pyg.nn.encoders.base import select_nodes


def test_node_table(diamond: Data) -> None:
    encoder = NodeTableEncoder.from_data(diamond, channels=3)
    assert str(encoder) == 'NodeTableEncoder(num_nodes=5, channels=3)'
    assert encoder.per_node
    assert encoder.config() == {'num_nodes': 5, 'channels': 3}
    assert torch.equal(encoder(diamond), encoder.table)
    nodes = torch.tensor([4, 0, 4])
    assert torch.equal(
        encoder(select_nodes(diamond, nodes)), encoder.table[nodes]
    )
    check_encoder(encoder, diamond)


def test_bytes_per_node(grid: Data) -> None:
    model = BCM.from_data(grid, 'node_table', channels=8)
    rest = BCM.from_data(grid, 'node_table', channels=8)
    del rest.encoder.table
    assert model.storage_bytes() - rest.storage_bytes() == 100 * 4 * 8


def test_reset_parameters() -> None:
    encoder = NodeTableEncoder(6)
    before = encoder.table.detach().clone()
    encoder.reset_parameters()
    assert not torch.equal(encoder.table, before)


@pytest.mark.parametrize(('num_nodes', 'channels'), [(0, 4), (3, 0)])
def test_node_table_errors(num_nodes: int, channels: int) -> None:
    with pytest.raises(BCMError, match=r'an int of at least 1 \(got 0\)'):
        NodeTableEncoder(num_nodes, channels)


def test_node_table_refuses_another_graph(grid: Data, diamond: Data) -> None:
    with pytest.raises(BCMError, match='built for 5 nodes .got a graph of 100'):
        NodeTableEncoder.from_data(diamond)(grid)

from __future__ import annotations

import pytest
import torch
from helpers import LargestTensor, random_graph
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.nn import OneHotEncoder, check_encoder
from bcm_pyg.nn.encoders.base import select_nodes


def test_one_hot(diamond: Data) -> None:
    encoder = OneHotEncoder.from_data(diamond)
    assert str(encoder) == 'OneHotEncoder(num_nodes=5)'
    assert encoder.out_channels == 5
    assert encoder.per_node
    assert list(encoder.parameters()) == []
    out = encoder(diamond)
    assert out.is_sparse
    assert out.coalesce().values().numel() == 5
    assert torch.equal(out.to_dense(), torch.eye(5))


def test_project_is_the_dense_product(diamond: Data) -> None:
    encoder = OneHotEncoder.from_data(diamond)
    weight = torch.randn(3, 5, requires_grad=True)
    out = encoder.project(diamond, weight)
    assert torch.equal(out, torch.eye(5) @ weight.T)
    out[2].sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0]] * 3


def test_never_a_dense_code() -> None:
    data = weighted_grid('open', side=40, costs='mild', seed=0)
    encoder = OneHotEncoder.from_data(data)
    weight = torch.randn(8, 1600)
    with LargestTensor() as largest:
        encoder.project(data, weight)
        encoder(data) @ weight.T
    assert 1600 * 8 <= largest.numel < 1600 * 1600


def test_rows_agree_with_all(grid: Data) -> None:
    encoder = OneHotEncoder.from_data(grid)
    nodes = torch.tensor([99, 3, 3, 50])
    some = encoder(select_nodes(grid, nodes))
    assert some.is_sparse
    assert torch.equal(some.to_dense(), torch.eye(100)[nodes])
    weight = torch.randn(4, 100)
    assert torch.equal(
        encoder.project(select_nodes(grid, nodes), weight), weight.T[nodes]
    )


def test_an_n_id_of_the_graph_itself_means_nothing(diamond: Data) -> None:
    diamond.n_id = torch.tensor([4, 3, 2, 1, 0])  # as PyG's loaders set it
    encoder = OneHotEncoder.from_data(diamond)
    assert torch.equal(encoder(diamond).to_dense(), torch.eye(5))
    check_encoder(encoder, diamond)


@pytest.mark.parametrize('num_axes', [1, 3])
def test_any_number_of_axes(num_axes: int) -> None:
    data = planning_graph(random_graph(9, 20, seed=0, axes=num_axes))
    encoder = OneHotEncoder.from_data(data)
    assert encoder.out_channels == 9
    check_encoder(encoder, data)


def test_config_rebuilds() -> None:
    encoder = OneHotEncoder(7)
    assert encoder.config() == {'num_nodes': 7}
    assert OneHotEncoder.from_config(encoder.config()).out_channels == 7


def test_one_hot_errors(diamond: Data, grid: Data) -> None:
    with pytest.raises(BCMError, match=r'at least 1 \(got 0\)'):
        OneHotEncoder(0)
    with pytest.raises(BCMError, match='for 5 nodes .got a graph of 100'):
        OneHotEncoder.from_data(diamond)(grid)

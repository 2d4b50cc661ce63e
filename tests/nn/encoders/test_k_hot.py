from __future__ import annotations

import pytest
import torch
from helpers import LargestTensor, random_graph
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.nn import KHotEncoder, check_encoder
from bcm_pyg.nn.encoders.base import select_nodes


def test_k_hot_on_a_grid(grid: Data) -> None:
    encoder = KHotEncoder.from_data(grid)
    assert str(encoder) == 'KHotEncoder(codes=[10, 10])'
    assert encoder.out_channels == 20
    assert encoder.per_node
    assert list(encoder.parameters()) == []
    out = encoder(grid)
    assert out.is_sparse
    dense = out.to_dense()
    for node in range(100):
        expected = [0.0] * 20
        expected[node // 10] = 1.0
        expected[10 + node % 10] = 1.0
        assert dense[node].tolist() == expected


def test_unequal_axes() -> None:
    encoder = KHotEncoder([2, 3])
    out = encoder(Data(coord=torch.tensor([[0, 2], [1, 0]])))
    assert out.to_dense().tolist() == [
        [1.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 1.0, 1.0, 0.0, 0.0],
    ]


def test_float_coordinates_share_the_one() -> None:
    encoder = KHotEncoder([3, 3], bounds=[(0, 2), (0, 4)])
    assert str(encoder) == 'KHotEncoder(bins=[3, 3])'
    pos = torch.tensor([[0.25, 3.0], [1.0, 4.0], [-5.0, 9.0]])
    assert encoder(Data(pos=pos)).to_dense().tolist() == [
        [0.75, 0.25, 0.0, 0.0, 0.5, 0.5],
        [0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    ]


@pytest.mark.parametrize('num_axes', [1, 2, 3])
def test_project_is_the_dense_product(num_axes: int) -> None:
    data = planning_graph(random_graph(30, 90, seed=3, axes=num_axes))
    encoder = KHotEncoder.from_data(data, bins=7)
    weight = torch.randn(5, 7 * num_axes)
    dense = encoder(data).to_dense()
    torch.testing.assert_close(dense.sum(1), torch.full((30,), 1.0 * num_axes))
    torch.testing.assert_close(encoder.project(data, weight), dense @ weight.T)
    check_encoder(encoder, data)


def test_never_a_dense_code() -> None:
    data = weighted_grid('open', side=40, costs='mild', seed=0)
    encoder = KHotEncoder.from_data(data)
    weight = torch.randn(8, 80)
    with LargestTensor() as largest:
        encoder.project(data, weight)
        encoder(data) @ weight.T
    assert 1600 * 8 <= largest.numel < 1600 * 80


def test_rows_agree_with_all(grid: Data) -> None:
    encoder = KHotEncoder.from_data(grid)
    nodes = torch.tensor([99, 3, 3, 50])
    some = encoder(select_nodes(grid, nodes)).to_dense()
    assert torch.equal(some, encoder(grid).to_dense()[nodes])


def test_config_rebuilds() -> None:
    encoder = KHotEncoder([4, 5], [(0, 1), (-2, 2)])
    assert encoder.config() == {
        'axis_sizes': [4, 5],
        'bounds': [[0.0, 1.0], [-2.0, 2.0]],
    }
    assert str(KHotEncoder.from_config(encoder.config())) == str(encoder)
    assert KHotEncoder([4]).config() == {'axis_sizes': [4]}


def test_nodes_at_one_place_get_another_code(grid: Data) -> None:
    data = grid.clone()
    data.coord[[97, 98]] = data.coord[99].clone()
    encoder = KHotEncoder.from_data(data)
    assert encoder.out_channels == 20 + 2
    assert encoder.config() == {'axis_sizes': [10, 10], 'coincident': [2, 2]}
    out = encoder(data).to_dense()
    assert out[97:, 20:].tolist() == [[0, 0], [1, 0], [0, 1]]
    assert out[:97, 20:].sum() == 0
    check_encoder(encoder, data)

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers import random_graph
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.nn import (
    ConcatEncoder,
    KHotEncoder,
    NodeTableEncoder,
    OneHotEncoder,
    check_encoder,
    encoder_resolver,
)


def test_concat(grid: Data) -> None:
    parts = [KHotEncoder.from_data(grid), NodeTableEncoder.from_data(grid)]
    encoder = ConcatEncoder(parts)
    assert encoder.out_channels == 20 + 8
    assert encoder.per_node
    expected = torch.cat([parts[0](grid).to_dense(), parts[1](grid)], dim=1)
    assert torch.equal(encoder(grid), expected)
    check_encoder(encoder, grid)


def test_concat_of_codes_stays_sparse(grid: Data) -> None:
    encoder = ConcatEncoder(
        [KHotEncoder.from_data(grid), OneHotEncoder.from_data(grid)]
    )
    assert encoder(grid).is_sparse
    check_encoder(encoder, grid)


def test_per_node_only_if_all_are(grid: Data) -> None:
    assert encoder_resolver('k_hot+one_hot', grid).per_node
    encoder = encoder_resolver('k_hot+gnn', grid)
    assert not encoder.per_node
    check_encoder(encoder, grid)


def test_names_joined_by_a_plus(diamond: Data) -> None:
    encoder = encoder_resolver(
        'interaction+landmark', diamond, landmark={'num_landmarks': 2}
    )
    assert isinstance(encoder, ConcatEncoder)
    interaction, landmark = encoder.encoders
    assert landmark.num_landmarks == 2
    assert torch.equal(
        encoder(diamond),
        torch.cat([interaction(diamond), landmark(diamond)], dim=1),
    )


def test_some_projected_nodes() -> None:
    data = planning_graph(random_graph(30, 90, seed=5))
    model = BCM.from_data(data, 'interaction+landmark+node_table')
    nodes = torch.tensor([29, 0, 0, 7])
    torch.testing.assert_close(
        model.project_nodes(data, nodes), model.project_nodes(data)[nodes]
    )


def test_round_trip(tmp_path: Path) -> None:
    data = random_graph(20, 60, seed=6, axes=3)
    model = BCM.from_data(data, 'interaction+landmark+node_table+gnn')
    model.save(tmp_path)
    other = BCM.load(tmp_path, data)
    assert str(other) == str(model)
    assert torch.equal(model.encode(data), other.encode(data))
    with torch.no_grad():
        other.encoder.reset_parameters()
    assert not torch.equal(model.encode(data), other.encode(data))


def test_concat_errors(diamond: Data) -> None:
    with pytest.raises(BCMError, match='at least one part'):
        ConcatEncoder([])
    with pytest.raises(BCMError, match=r'of NodeEncoder \(got Linear\)'):
        ConcatEncoder([torch.nn.Linear(2, 2)])  # type: ignore[list-item]
    with pytest.raises(BCMError, match="unknown encoder 'maze'"):
        encoder_resolver('interaction+maze', diamond)
    with pytest.raises(BCMError, match="argument 'bins': arguments go with"):
        encoder_resolver('interaction+k_hot', diamond, bins=3)
    with pytest.raises(BCMError, match="argument 'gnn': arguments go with"):
        encoder_resolver('interaction+k_hot', diamond, gnn={})
    with pytest.raises(BCMError, match="unknown encoder ''"):
        encoder_resolver('interaction+', diamond)

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers import ALL_ENCODERS
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError
from bcm_pyg.datasets import ToyStreets
from bcm_pyg.nn import (
    GNNEncoder,
    InteractionEncoder,
    KHotEncoder,
    NodeEncoder,
    OneHotEncoder,
    encoder_resolver,
    register_encoder,
)
from bcm_pyg.nn.encoders import NodeTableEncoder, encoder_name, resolver
from bcm_pyg.nn.encoders.resolver import default_encoder


class Mine(NodeEncoder):
    out_channels = 2

    def forward(self, data: Data) -> Tensor:
        return data.pos


@pytest.fixture(autouse=True)
def _own_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Names that a test registers are forgotten after it."""
    monkeypatch.setattr(resolver, '_ENCODERS', dict(resolver._ENCODERS))
    yield


def test_all_encoders_are_listed() -> None:
    assert list(resolver._ENCODERS) == ALL_ENCODERS


@pytest.mark.parametrize(
    ('name', 'kind'),
    [
        ('interaction', InteractionEncoder),
        ('one_hot', OneHotEncoder),
        ('k_hot', KHotEncoder),
        ('gnn', GNNEncoder),
    ],
)
def test_resolver(grid: Data, name: str, kind: type) -> None:
    encoder = encoder_resolver(name, grid)
    assert type(encoder) is kind
    assert encoder_name(encoder) == name


@pytest.mark.parametrize('name', ALL_ENCODERS)
def test_misspelt_arguments(grid: Data, name: str) -> None:
    with pytest.raises(BCMError, match='chanels'):
        BCM.from_data(grid, name, chanels=8)


def test_arguments_are_listed(grid: Data) -> None:
    with pytest.raises(BCMError, match="'landmark'.*'chanels'") as caught:
        BCM.from_data(grid, 'landmark', chanels=8)
    assert "('num_landmarks', 'num_nodes', " in str(caught.value)
    with pytest.raises(BCMError, match="'landmark' .*'chanels'"):
        BCM.from_data(grid, 'grid+landmark', landmark={'chanels': 8})


def test_resolver_passes_arguments_on(grid: Data) -> None:
    encoder = encoder_resolver('interaction', grid, channels=7, init='random')
    assert isinstance(encoder, InteractionEncoder)
    assert (encoder.channels, encoder.init) == (7, 'random')


def test_register_encoder(diamond: Data) -> None:
    assert register_encoder('mine')(Mine) is Mine
    assert encoder_name(Mine()) == 'mine'
    model = BCM.from_data(diamond, 'mine')
    assert type(model.encoder) is Mine
    assert torch.equal(model.encode(diamond), diamond.pos)


def test_registering_the_same_class_again_replaces_it(diamond: Data) -> None:
    register_encoder('mine')(Mine)
    reloaded = type('Mine', (Mine,), {'__module__': Mine.__module__})
    register_encoder('mine')(reloaded)
    assert type(encoder_resolver('mine', diamond)) is reloaded


def test_a_subclass_has_no_name_of_its_own(grid: Data) -> None:
    class Wider(KHotEncoder):
        pass

    with pytest.raises(BCMError, match='Wider has no name.*register_encoder'):
        encoder_name(Wider.from_data(grid))


def test_resolver_errors(grid: Data) -> None:
    with pytest.raises(BCMError, match="unknown encoder 'two_hot'.*'k_hot'"):
        encoder_resolver('two_hot', grid)
    with pytest.raises(BCMError, match='unknown encoder 3'):
        encoder_resolver(3, grid)  # type: ignore[arg-type]
    with pytest.raises(BCMError, match="'k_hot' is taken by KHotEncoder"):
        register_encoder('k_hot')(Mine)
    with pytest.raises(BCMError, match='is not a subclass of NodeEncoder'):
        register_encoder('linear')(torch.nn.Linear)
    with pytest.raises(BCMError, match='is not a subclass of NodeEncoder'):
        register_encoder('object')(Mine())


@pytest.mark.parametrize(
    ('num', 'channels'),
    [(2, 8), (6144, 8), (6145, 7), (16_384, 3), (16_385, 0)],
)
def test_default_encoder(num: int, channels: int) -> None:
    data = Data(pos=torch.rand(num, 2), num_nodes=num)
    table = 'interaction+node_table', {'node_table': {'channels': channels}}
    expected = table if channels else ('interaction', {})
    assert default_encoder(data) == expected
    given = {'channels': 9}
    assert default_encoder(data, **given) == ('interaction', given)
    part = {'node_table': {'channels': 4}}
    assert default_encoder(data, **part) == ('interaction+node_table', part)
    data.coord = torch.zeros(num, 2, dtype=torch.long)
    assert default_encoder(data) == ('interaction', {})
    del data.pos
    assert default_encoder(data) == ('landmark', {})


def test_a_map_with_the_default_encoder(tmp_path: Path) -> None:
    data = ToyStreets()[0]
    model = BCM.from_data(data, hidden_channels=16)
    table = model.encoder.encoders[1]
    assert isinstance(table, NodeTableEncoder) and table.out_channels == 8
    for dtype in ('float32', 'int8'):
        model.save(tmp_path / dtype, dtype)
        loaded = BCM.load(tmp_path / dtype, data)
        assert str(loaded.encoder) == str(model.encoder)
        near = 1e-6 if dtype == 'float32' else 0.1
        difference = loaded.encode(data) - model.encode(data)
        assert float(difference.detach().abs().max()) < near

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import ALL_ENCODERS, random_graph, tiny_map
from map_folders import (
    Lazy,
    Looking,
    Tied,
    assert_same,
    read_config,
    weights_of,
)
from torch_geometric.data import Data

import bcm_pyg
from bcm_pyg import BCM, BCMError, FitConfig, Planner, fit
from bcm_pyg.graph import fingerprint
from bcm_pyg.nn import (
    GNNEncoder,
    MapInfo,
    NodeEncoder,
    Transition,
    register_encoder,
)
from bcm_pyg.nn.encoders import resolver

NAN, INF = float('nan'), float('inf')


@pytest.mark.parametrize('terminal', ['paper', 'calibrated'])
@pytest.mark.parametrize('encoder', [*ALL_ENCODERS, 'gnn+k_hot'])
def test_round_trip(
    grid: Data, tmp_path: Path, encoder: str, terminal: str
) -> None:
    model = BCM.from_data(grid, encoder, terminal)
    training = {'steps': 3, 'gap': 0.1, 'config': {'lr': 1e-3, 'x': None}}
    model.info = MapInfo(fingerprint(grid), training)
    model.save(tmp_path / 'deep' / 'map')
    other = BCM.load(tmp_path / 'deep' / 'map', grid)
    assert_same(model, other, grid)
    assert other.terminal == terminal
    assert other.info == MapInfo(fingerprint(grid), training, 'float32')
    starts, goals = torch.arange(50), torch.arange(50, 100)
    one, two = (Planner(each, grid) for each in (model, other))
    assert torch.equal(one.distance(starts, goals), two.distance(starts, goals))


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
@pytest.mark.parametrize('num_axes', [1, 3])
def test_round_trip_of_float_coordinates(
    tmp_path: Path, encoder: str, num_axes: int
) -> None:
    data = random_graph(15, 40, seed=2, axes=num_axes)
    model = BCM.from_data(data, encoder)
    model.save(tmp_path)
    assert_same(model, BCM.load(str(tmp_path), data), data)


def test_round_trip_of_options(grid: Data, tmp_path: Path) -> None:
    encoder = GNNEncoder.from_data(grid, channels=8, gnn='GraphSAGE')
    model = BCM(encoder, Transition(encoder.out_channels, 16, 12))
    model.save(tmp_path)
    assert model.info.fingerprint is None
    other = BCM.load(tmp_path, grid)
    assert_same(model, other, grid)
    assert other.info.fingerprint is None
    paper = BCM.paper(grid)
    paper.save(tmp_path)
    assert_same(paper, BCM.load(tmp_path, grid), grid)


@pytest.mark.parametrize('kind', [Tied, Looking])
def test_round_trip_of_a_registered_encoder(
    diamond: Data, tmp_path: Path, kind: type[Tied]
) -> None:
    model = BCM.from_data(diamond, kind(6))
    with pytest.raises(BCMError, match='has no name.*register_encoder'):
        model.save(tmp_path / 'map')
    register_encoder('mine')(kind)
    model.save(tmp_path / 'map')
    other = BCM.load(tmp_path / 'map', diamond)
    assert type(other.encoder) is kind
    assert other.encoder.alias is other.encoder.lin.weight
    assert_same(model, other, diamond)
    del resolver._ENCODERS['mine']
    with pytest.raises(BCMError, match="unknown encoder 'mine'"):
        BCM.load(tmp_path / 'map', diamond)


def test_round_trip_of_a_registered_part(grid: Data, tmp_path: Path) -> None:
    register_encoder('mine')(Looking)
    model = BCM.from_data(grid, 'mine+k_hot')
    model.save(tmp_path)
    assert_same(model, BCM.load(tmp_path, grid), grid)


def test_how_it_was_trained_and_what_it_scored(
    grid: Data, tmp_path: Path
) -> None:
    model = BCM.from_data(grid)
    config = FitConfig(steps=3, validation_queries=4, seed=5)
    fit(model, grid, config)
    model.save(tmp_path)
    record = BCM.load(tmp_path, grid).info.training
    assert record == model.info.training
    assert record['steps'] == 3
    assert record['config']['seed'] == 5
    assert record['validation_gap'] is None or record['validation_gap'] >= 0
    assert 0 <= record['validation_success_rate'] <= 1
    assert record['seconds'] > 0


def test_what_is_in_the_folder(diamond: Data, tmp_path: Path) -> None:
    model = tiny_map(diamond)
    model.save(tmp_path)
    config = read_config(tmp_path)
    name = weights_of(tmp_path).name
    assert sorted(os.listdir(tmp_path)) == ['config.json', name]
    content = (tmp_path / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert name == f'map-{digest[:16]}.safetensors'
    assert config['files'] == {'map': {'sha256': digest, 'bytes': len(content)}}
    assert config['dtype'] == 'float32'
    assert config['format'] == 'bcm_pyg.map'
    assert config['version'] == 3
    assert config['encoder'] == {
        'name': 'interaction',
        'config': model.encoder.config(),  # type: ignore[operator]
    }
    assert config['transition'] == model.transition.config()
    assert config['terminal'] == 'calibrated'
    assert config['fingerprint'] is None
    assert config['training'] == {}
    assert len(config['sha256']) == 64


def test_a_second_save_replaces_the_first(
    diamond: Data, tmp_path: Path
) -> None:
    model = tiny_map(diamond)
    model.save(tmp_path)
    first = weights_of(tmp_path).name
    model.reset_parameters()
    model.save(tmp_path)
    assert_same(model, BCM.load(tmp_path, diamond), diamond)
    second = weights_of(tmp_path).name
    assert first != second
    assert sorted(os.listdir(tmp_path)) == ['config.json', second]
    model.save(tmp_path)  # the very same
    assert sorted(os.listdir(tmp_path)) == ['config.json', second]


def test_other_files_in_the_folder_stay(diamond: Data, tmp_path: Path) -> None:
    mine = ['notes.txt', 'other.safetensors', 'map-1.safetensors', '.x.part']
    for name in mine:
        (tmp_path / name).write_text(name)
    tiny_map(diamond).save(tmp_path)
    for name in mine:
        assert (tmp_path / name).read_text() == name


# What cannot be saved -------------------------------------------------------


def deep_list() -> list:
    out: list = []
    for _ in range(10**5):
        out = [out]
    return out


@pytest.mark.parametrize(
    'value',
    [torch.ones(1), NAN, INF, {1, 2}, Path('x'), deep_list(), 'x' * 2**20],
    ids=['tensor', 'nan', 'inf', 'set', 'path', 'deep', 'long'],
)
def test_a_record_that_is_no_json(
    diamond: Data, saved: Path, value: Any
) -> None:
    before = sorted(os.listdir(saved))
    model = tiny_map(diamond)
    model.info = MapInfo(training={'value': value})
    with pytest.raises(BCMError, match='the map cannot be saved'):
        model.save(saved)
    assert sorted(os.listdir(saved)) == before
    BCM.load(saved, diamond)


def test_what_could_not_be_loaded_is_not_saved(
    diamond: Data, saved: Path
) -> None:
    good = BCM.load(saved, diamond)
    model = tiny_map(diamond)
    with torch.no_grad():
        model.transition.lin2.bias[3] = NAN
    with pytest.raises(BCMError, match='cannot be saved.*not finite'):
        model.save(saved)
    with pytest.raises(BCMError, match='cannot be saved.*is torch.float64'):
        tiny_map(diamond).double().save(saved)

    own = GNNEncoder.from_data(diamond, channels=26, gnn=torch.nn.Identity())
    with pytest.raises(BCMError, match='subclass NodeEncoder and register'):
        BCM(own).save(saved)
    model = tiny_map(diamond)
    model.transition = torch.nn.Identity()  # type: ignore[assignment]
    with pytest.raises(BCMError, match=r'built-in Transition.*got Identity'):
        model.save(saved)
    with pytest.raises(BCMError, match=r"dtype must be one of.*got 'int4'"):
        tiny_map(diamond).save(saved, dtype='int4')
    assert_same(good, BCM.load(saved, diamond), diamond)


def test_lazy_modules_are_refused(diamond: Data, saved: Path) -> None:
    register_encoder('lazy')(Lazy)
    model = BCM.from_data(diamond, Lazy())
    with pytest.raises(BCMError, match='lin.weight has no shape until'):
        model.save(saved)
    model.encode(diamond)  # now it has, but a rebuilt one would not
    with pytest.raises(BCMError, match='lin.weight has no shape until'):
        model.save(saved)
    assert BCM.load(saved, diamond).transition.hidden_channels == 8


def test_a_config_that_rebuilds_something_else(
    diamond: Data, saved: Path
) -> None:
    @register_encoder('forgetful')
    class Forgetful(Tied):
        def config(self) -> dict[str, Any]:
            return {}

    model = BCM.from_data(diamond, Forgetful(6))
    with pytest.raises(BCMError, match='cannot be saved: .* channels'):
        model.save(saved)

    @register_encoder('broken')
    class Broken(NodeEncoder):
        out_channels = 2

        def __init__(self, given: object) -> None:
            super().__init__()

        def forward(self, data: Data) -> torch.Tensor:
            return data.pos

    with pytest.raises(BCMError, match='cannot be rebuilt: .*given'):
        BCM.from_data(diamond, Broken(1)).save(saved)


def test_no_place_to_write(diamond: Data, tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(BCMError, match='cannot write a map to'):
        tiny_map(diamond).save(tmp_path / 'file')
    with pytest.raises(BCMError, match='cannot write a map to'):
        tiny_map(diamond).save(tmp_path / 'file' / 'map')


# What saving and loading must not do ----------------------------------------


def test_random_numbers_are_not_disturbed(grid: Data, tmp_path: Path) -> None:
    for encoder in ALL_ENCODERS:
        model = BCM.from_data(grid, encoder)
        random.seed(5)
        torch.manual_seed(5)
        expected = torch.rand(3), random.random()
        random.seed(5)
        torch.manual_seed(5)
        model.save(tmp_path / encoder)
        BCM.load(tmp_path / encoder, grid)
        assert torch.equal(torch.rand(3), expected[0])
        assert random.random() == expected[1]


def test_no_pickle_in_the_package() -> None:
    files = list(Path(bcm_pyg.__file__).parent.rglob('*.py'))
    assert len(files) > 40
    for file in files:
        text = file.read_text().replace('allow_pickle=False', '')
        text = text.replace('safetensors.torch.', 'safetensors.')
        for word in ('pickle', 'torch.load', 'torch.save'):
            assert word not in text, f'{word} in {file}'


class Rounded(Transition):
    """Adds nothing to the state, so that only its class tells it apart."""

    def rest(self, hidden: torch.Tensor) -> torch.Tensor:
        return super().rest(hidden).round()


def test_a_transition_of_ones_own_is_not_saved(
    diamond: Data, tmp_path: Path
) -> None:
    model = BCM.from_data(diamond)
    model.transition = Rounded(192)
    with pytest.raises(BCMError, match='built-in Transition .*got Rounded'):
        model.save(tmp_path / 'map')


class Named(BCM):
    """A subclass with a method of its own."""

    def name(self) -> str:
        return 'mine'


def test_a_subclass_loads_as_itself(diamond: Data, tmp_path: Path) -> None:
    Named.from_data(diamond).save(tmp_path)
    assert Named.load(tmp_path, diamond).name() == 'mine'
    assert type(BCM.load(tmp_path, diamond)) is BCM

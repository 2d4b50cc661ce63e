"""Folders made to harm: code, paths, and sizes that are not there."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import tiny_map
from map_folders import (
    Damage,
    in_config,
    in_text,
    read_config,
    refuse,
    set_weights,
    weights_of,
    write_config,
)
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError
from bcm_pyg.io import TensorFile
from bcm_pyg.nn import saved_map

ENCODER = ('encoder', 'config')
MAP = ('files', 'map')


# Sizes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ('damage', 'message'),
    [
        (
            in_config(*ENCODER, 'axis_sizes', value=[10**13, 16]),
            r'not torch.float32 of shape \(10000000000000, \d+\)',
        ),
        (in_config(*ENCODER, 'axis_sizes', value=[10**30, 16]), 'rebuilt'),
        (in_config(*ENCODER, 'axis_sizes', value=[2**62, 16]), 'rebuilt'),
        (
            in_config('transition', 'hidden_channels', value=10**9),
            r'not torch.float32 of shape \(1000000000',
        ),
        (
            in_config('transition', 'out_channels', value=10**12),
            r'not torch.float32 of shape \(1000000000000',
        ),
    ],
)
def test_a_config_that_asks_for_terabytes(
    diamond: Data, saved: Path, damage: Damage, message: str
) -> None:
    damage(saved)
    refuse(saved, diamond, message)


def test_no_map_is_allocated_before_its_shapes_are_known(
    diamond: Data, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = []
    build = saved_map._build

    def watch(cls: type[BCM], config: Any, device: str = 'cpu') -> BCM:
        devices.append(device)
        return build(cls, config, device)

    monkeypatch.setattr(saved_map, '_build', watch)
    in_config('transition', 'hidden_channels', value=9)(saved)
    refuse(saved, diamond, 'of shape')
    assert devices == ['meta']


def test_a_gnn_of_a_million_layers(diamond: Data, tmp_path: Path) -> None:
    tiny_map(diamond, 'gnn').save(tmp_path)
    in_config(*ENCODER, 'num_layers', value=10**9)(tmp_path)
    refuse(tmp_path, diamond, 'num_layers must be an int from 1 to')


def many_small_parts(folder: Path) -> None:
    in_config(*ENCODER, 'axis_sizes', value=[2] * 20_000)(folder)
    in_config(*ENCODER, 'bounds', value=[[0, 1]] * 20_000)(folder)


@pytest.mark.parametrize('encoder', ['one_hot', 'node_table', 'landmark'])
def test_rows_of_other_nodes_are_not_read(
    diamond: Data,
    grid: Data,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encoder: str,
) -> None:
    """Though no fingerprint says that the map is of another graph."""
    tiny_map(grid, encoder).save(tmp_path)
    assert read_config(tmp_path)['fingerprint'] is None
    monkeypatch.setattr(TensorFile, 'read', lambda file: pytest.fail('read'))
    nodes = rf'for {grid.num_nodes} nodes .got a graph of {diamond.num_nodes}'
    with pytest.raises(BCMError, match=nodes):
        BCM.load(tmp_path, diamond)


def test_bounds_beyond_float32(grid: Data, tmp_path: Path) -> None:
    real = Data(
        pos=torch.rand(4, 2),
        edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
        edge_cost=torch.ones(4),
    )
    tiny_map(real).save(tmp_path)
    config = read_config(tmp_path)
    config['encoder']['config']['bounds'][0][0] = -1e308
    write_config(tmp_path, config)
    refuse(tmp_path, real, 'bounds must be finite and ascending')


def test_many_small_parts(diamond: Data, saved: Path) -> None:
    """Just to build them would take hours."""
    many_small_parts(saved)
    refuse(saved, diamond, 'asks for more than the weights hold')


def test_many_small_parts_of_a_file_that_is_not_there(
    diamond: Data, saved: Path
) -> None:
    """A sparse file may claim any size, and so may its header."""
    many_small_parts(saved)
    with open(weights_of(saved), 'r+b') as file:
        file.write(struct.pack('<Q', 2**29))
        file.truncate(2**30)
    refuse(saved, diamond, r'has 1073741824 bytes, not \d+')
    in_config(*MAP, 'bytes', value=2**30)(saved)
    refuse(saved, diamond, 'header has 536,870,912 bytes, more than the')


def test_weights_are_not_read_before_they_are_wanted(
    diamond: Data, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*args: object) -> None:
        raise AssertionError

    monkeypatch.setattr(TensorFile, 'read', read)
    in_config('transition', 'hidden_channels', value=9)(saved)
    refuse(saved, diamond, r'not torch.float32 of shape \(9')


def test_many_layers_that_are_there(
    diamond: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_map, 'SPARE_CALLS', 0)
    model = BCM.from_data(diamond, 'gnn', num_layers=40, channels=1)
    model.save(tmp_path)
    other = BCM.load(tmp_path, diamond)
    assert len(other.state_dict()) == len(model.state_dict()) > 200


def test_a_config_of_a_gigabyte(diamond: Data, saved: Path) -> None:
    with open(saved / 'config.json', 'r+b') as file:
        file.truncate(2**30)
    refuse(saved, diamond, 'config.json: it has 1,073,741,824 bytes, more than')


@pytest.mark.parametrize('text', ['[', '{"format":'])
def test_a_deep_config(diamond: Data, saved: Path, text: str) -> None:
    in_text(lambda _: text * 10**5)(saved)
    refuse(saved, diamond, 'readable map: config.json')


def test_deep_parts_of_a_config(diamond: Data, saved: Path) -> None:
    text = '[' * 900 + ']' * 900
    in_text(
        lambda t: t.replace('"training": {}', f'"training": {{"x": {text}}}')
    )(saved)
    refuse(saved, diamond, 'readable map')


def test_deep_parts_of_an_encoder(diamond: Data, saved: Path) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {'name': 'concat', 'config': {'encoders': [deep]}}
    in_config('encoder', value=deep)(saved)
    refuse(saved, diamond, 'readable map')


def test_long_numbers_and_names(diamond: Data, saved: Path) -> None:
    in_text(lambda t: t.replace('"version": 3', '"version": ' + '9' * 10**5))(
        saved
    )
    refuse(saved, diamond, 'readable map: config.json')
    in_text(lambda t: '{"format": "bcm_pyg.map", "version": "' + 'x' * 10**5)(
        saved
    )
    refuse(saved, diamond, 'config.json')
    in_text(lambda t: t + 'x' * 10**5 + '"}')(saved)
    refuse(saved, diamond, "format version 'xxx")


# Paths ----------------------------------------------------------------------


@pytest.mark.parametrize(
    'name',
    [
        '../{weights}',
        '{folder}/{weights}',
        './{weights}',
        'a/../{weights}',
        '..\\{weights}',
        '{weights}/',
        '{weights}\n',
        '',
        '.',
        '..',
        'x.bin',
        'config.json',
        '/dev/zero',
        '\0.safetensors',
        '\ud800.safetensors',
        'x' * 10**5,
        'map-0123456789ABCDEF.safetensors',
    ],
)
def test_weights_elsewhere(diamond: Data, saved: Path, name: str) -> None:
    """Real weights, of the right digest, in another place."""
    path = weights_of(saved)
    (saved.parent / path.name).write_bytes(path.read_bytes())
    name = name.format(folder=saved.parent, weights=path.name)
    config = read_config(saved)
    config['files'] = {name: config['files']['map']}
    write_config(saved, config)
    refuse(saved, diamond, "no valid 'map'")
    config['files'] = {'map': {'sha256': name, 'bytes': 9}}
    write_config(saved, config)
    refuse(saved, diamond, "no valid 'sha256'")


def test_links(diamond: Data, saved: Path) -> None:
    path = weights_of(saved)
    for inner in (path, saved / 'config.json'):
        outer = saved.parent / 'elsewhere'
        inner.rename(outer)
        inner.symlink_to(outer)
        refuse(saved, diamond, f'{inner.name} is a link')
        outer.rename(inner)
    BCM.load(saved, diamond)
    (saved.parent / 'link').symlink_to(saved)  # of the whole folder
    BCM.load(saved.parent / 'link', diamond)


def test_pipes_do_not_make_it_wait(diamond: Data, saved: Path) -> None:
    for path in (weights_of(saved), saved / 'config.json'):
        content = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        refuse(saved, diamond, f'{path.name} is not a file')
        path.unlink()
        path.write_bytes(content)
    BCM.load(saved, diamond)


# Code -----------------------------------------------------------------------


def test_a_pickle_runs_nothing(
    diamond: Data, saved: Path, tmp_path: Path
) -> None:
    import pickle

    class Trap:
        def __reduce__(self) -> tuple:
            return Path.touch, (tmp_path / 'sprung',)

    set_weights(saved, pickle.dumps({'weight': Trap()}))
    refuse(saved, diamond, 'readable map')
    assert not (tmp_path / 'sprung').exists()


@pytest.mark.parametrize(
    'name', ['os.system', 'bcm_pyg.nn.BCM', '__class__', 'NodeEncoder']
)
def test_names_are_looked_up_nowhere_else(
    diamond: Data, saved: Path, name: str
) -> None:
    in_config('encoder', 'name', value=name)(saved)
    refuse(saved, diamond, f"unknown encoder '{name}'")


@pytest.mark.parametrize('name', ['Linear', '__doc__', 'os', 'basic_gnn', ''])
def test_names_of_gnns_are_those_of_gnns(
    diamond: Data, tmp_path: Path, name: str
) -> None:
    tiny_map(diamond, 'gnn').save(tmp_path)
    in_config(*ENCODER, 'gnn', value=name)(tmp_path)
    refuse(tmp_path, diamond, "gnn must .* name a PyG model such as 'GCN'")


def test_a_digest_is_no_secret(diamond: Data, saved: Path) -> None:
    """What a config says under a right digest is believed."""
    config = read_config(saved)
    config['training'] = {'gap': 0.0}
    write_config(saved, config)
    assert BCM.load(saved, diamond).info.training == {'gap': 0.0}


# What is said of them -------------------------------------------------------


@pytest.mark.parametrize(
    'damage',
    [
        in_config('encoder', 'name', value='x' * 10**5),
        in_config('terminal', value='x' * 10**5),
        in_config(*MAP, 'bytes', value=10**4200),
        in_config('dtype', value='x' * 10**5),
        in_config(*ENCODER, 'channels', value=10**4200),
        in_config(*ENCODER, 'z' * 10**5, value=1),
        in_config('transition', 'z' * 10**5, value=1),
    ],
)
def test_errors_stay_short(diamond: Data, saved: Path, damage: Damage) -> None:
    damage(saved)
    refuse(saved, diamond, 'readable map')


@pytest.mark.parametrize('path', [None, 3, b'map', '', 'a\0b', ['map']])
def test_what_is_no_folder(
    diamond: Data, path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BCMError, match='path must name a file or folder'):
        BCM.load(path, diamond)
    with pytest.raises(BCMError, match='path must name a file or folder'):
        tiny_map(diamond).save(path)
    assert list(tmp_path.iterdir()) == []


def test_force_is_yes_or_no(diamond: Data, saved: Path) -> None:
    with pytest.raises(BCMError, match="force must be a bool .*'no'"):
        BCM.load(saved, diamond, force='no')  # type: ignore[arg-type]

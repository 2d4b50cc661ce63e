from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from helpers import ALL_ENCODERS, random_graph, tiny_map
from torch import Tensor
from torch_geometric.data import Data

import bcm_pyg
from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.graph import fingerprint
from bcm_pyg.nn import GNNEncoder, NodeEncoder, Transition, register_encoder
from bcm_pyg.nn import io as map_io
from bcm_pyg.nn.encoders import resolver


class Tied(NodeEncoder):
    """A user's encoder; two of its names are one tensor."""

    per_node = True

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.out_channels = width
        self.lin = torch.nn.Linear(2, width, bias=False)
        self.alias = self.lin.weight

    def forward(self, data: Data) -> Tensor:
        return data.pos @ self.alias.T

    def config(self) -> dict[str, Any]:
        return {'width': self.out_channels}


@pytest.fixture(autouse=True)
def _own_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(resolver, '_ENCODERS', dict(resolver._ENCODERS))
    yield


@pytest.fixture
def saved(diamond: Data, tmp_path: Path) -> Path:
    """The folder of a small map of the diamond."""
    model = tiny_map(diamond)
    model.graph = fingerprint(diamond)
    model.save(tmp_path / 'map')
    return tmp_path / 'map'


def read_config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / 'config.json').read_text())


def write_config(folder: Path, config: Any) -> None:
    (folder / 'config.json').write_text(json.dumps(config))


def change_weights(
    folder: Path, change: Callable[[dict[str, Tensor]], object]
) -> None:
    """Rewrites the weights, with the digest and size that go with them."""
    config = read_config(folder)
    path = folder / config['weights']['file']
    state = safetensors.torch.load(path.read_bytes())
    change(state)
    set_weights(folder, safetensors.torch.save(state))


def set_weights(folder: Path, content: bytes) -> None:
    config = read_config(folder)
    (folder / config['weights']['file']).write_bytes(content)
    config['weights']['sha256'] = hashlib.sha256(content).hexdigest()
    config['weights']['bytes'] = len(content)
    write_config(folder, config)


def assert_same(model: BCM, other: BCM, data: Data) -> None:
    data = planning_graph(data)
    state, state2 = model.state_dict(), other.state_dict()
    assert state.keys() == state2.keys()
    for key, value in state.items():
        assert torch.equal(value, state2[key]), key
    i, j, g = torch.randint(int(data.num_nodes), (3, 40))
    assert torch.equal(model(data, i, j, g), other(data, i, j, g))
    assert torch.equal(
        model.score(model.encode(data), i, j, g),
        other.score(other.encode(data), i, j, g),
    )
    assert str(model) == str(other)


@pytest.mark.parametrize('terminal', ['paper', 'calibrated'])
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_round_trip(
    grid: Data, tmp_path: Path, encoder: str, terminal: str
) -> None:
    model = BCM.from_data(grid, encoder, terminal)
    model.record = {'steps': 3, 'gap': 0.1, 'config': {'lr': 1e-3, 'x': None}}
    model.save(tmp_path / 'deep' / 'map')
    other = BCM.load(tmp_path / 'deep' / 'map', grid)
    assert_same(model, other, grid)
    assert other.terminal == terminal
    assert other.record == model.record
    assert other.graph == model.graph == fingerprint(grid)
    starts, goals = torch.arange(50), torch.arange(50, 100)
    assert torch.equal(
        model.distance(grid, starts, goals), other.distance(grid, starts, goals)
    )


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
    encoder = GNNEncoder.from_data(grid, hidden_channels=8, gnn='GraphSAGE')
    model = BCM(encoder, Transition(encoder.out_channels, 16, 12))
    model.save(tmp_path)
    assert model.graph is None
    other = BCM.load(tmp_path, grid)
    assert_same(model, other, grid)
    assert other.graph is None
    paper = BCM.paper(grid)
    paper.save(tmp_path)
    assert_same(paper, BCM.load(tmp_path, grid), grid)


def test_round_trip_of_a_registered_encoder(
    diamond: Data, tmp_path: Path
) -> None:
    model = BCM.from_data(diamond, Tied(6))
    with pytest.raises(BCMError, match='Tied has no name.*register_encoder'):
        model.save(tmp_path / 'map')
    assert not (tmp_path / 'map').exists()
    register_encoder('tied')(Tied)
    model.save(tmp_path / 'map')
    other = BCM.load(tmp_path / 'map', diamond)
    assert isinstance(other.encoder, Tied)
    assert other.encoder.alias is other.encoder.lin.weight
    assert_same(model, other, diamond)
    del resolver._ENCODERS['tied']
    with pytest.raises(BCMError, match="unknown encoder 'tied'"):
        BCM.load(tmp_path / 'map', diamond)


def test_what_is_in_the_folder(diamond: Data, tmp_path: Path) -> None:
    model = tiny_map(diamond)
    model.save(tmp_path)
    config = read_config(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [
        'config.json',
        config['weights']['file'],
    ]
    content = (tmp_path / config['weights']['file']).read_bytes()
    assert config['weights']['sha256'] == hashlib.sha256(content).hexdigest()
    assert config['format'] == 'bcm_pyg.map'
    assert config['version'] == 1
    assert config['encoder'] == {
        'name': 'interaction',
        'config': {
            'axis_sizes': [16, 16],
            'bounds': [[0.0, 9.0], [-1.5, 9.0]],
            'channels': 64,
            'init': 'smooth',
        },
    }
    assert config['transition'] == model.transition.config()
    assert config['terminal'] == 'calibrated'
    assert config['graph'] is None
    assert config['record'] == {}


def test_a_second_save_replaces_the_first(
    diamond: Data, tmp_path: Path
) -> None:
    model = tiny_map(diamond)
    model.save(tmp_path)
    first = read_config(tmp_path)['weights']['file']
    model.reset_parameters()
    model.save(tmp_path)
    assert_same(model, BCM.load(tmp_path, diamond), diamond)
    second = read_config(tmp_path)['weights']['file']
    assert first != second
    assert sorted(os.listdir(tmp_path)) == ['config.json', second]
    model.save(tmp_path)  # the very same
    assert sorted(os.listdir(tmp_path)) == ['config.json', second]


def test_other_files_in_the_folder_stay(diamond: Data, tmp_path: Path) -> None:
    (tmp_path / 'notes.txt').write_text('mine')
    (tmp_path / 'other.safetensors').write_text('mine too')
    tiny_map(diamond).save(tmp_path)
    assert (tmp_path / 'notes.txt').read_text() == 'mine'
    assert (tmp_path / 'other.safetensors').read_text() == 'mine too'


# The graph ------------------------------------------------------------------


def cost_changed(data: Data) -> None:
    data.edge_cost = data.edge_cost + torch.tensor([0, 0, 0, 1e-6, 0])


def edge_removed(data: Data) -> None:
    data.edge_index = data.edge_index[:, 1:]
    data.edge_cost = data.edge_cost[1:]


def edge_turned(data: Data) -> None:
    data.edge_index = data.edge_index.flip(0)


def node_moved(data: Data) -> None:
    data.pos = data.pos + 0.5 * torch.eye(5, 2)


def node_added(data: Data) -> None:
    data.pos = torch.cat([data.pos, torch.ones(1, 2)])
    data.num_nodes = 6


@pytest.mark.parametrize(
    'change',
    [cost_changed, edge_removed, edge_turned, node_moved, node_added],
)
def test_another_graph_is_refused(
    diamond: Data, saved: Path, change: Callable[[Data], None]
) -> None:
    model = BCM.load(saved, diamond)
    other = diamond.clone()
    change(other)
    with pytest.raises(BCMError, match='belongs to another graph.*force=True'):
        BCM.load(saved, other)
    forced = BCM.load(saved, other, force=True)
    assert_same(model, forced, diamond)
    assert forced.graph == fingerprint(diamond)  # still the one it was made for


def test_order_of_edges_does_not_matter(diamond: Data, saved: Path) -> None:
    order = torch.tensor([3, 0, 4, 2, 1])
    other = Data(
        pos=diamond.pos,
        edge_index=diamond.edge_index[:, order],
        edge_attr=diamond.edge_cost[order],
    )
    assert_same(BCM.load(saved, diamond), BCM.load(saved, other), diamond)


def test_a_map_without_a_graph_loads_for_any(
    diamond: Data, tmp_path: Path
) -> None:
    model = tiny_map(diamond)
    assert model.graph is None
    model.save(tmp_path)
    node_moved(diamond)
    assert_same(model, BCM.load(tmp_path, diamond), diamond)


def test_a_forced_map_that_does_not_fit_says_so(
    diamond: Data, grid: Data, tmp_path: Path
) -> None:
    BCM.from_data(diamond, 'one_hot').save(tmp_path)
    model = BCM.load(tmp_path, grid, force=True)
    with pytest.raises(BCMError, match='for 5 nodes .got a graph of 100'):
        model.distance(grid, 0, 1)


# Damaged folders ------------------------------------------------------------


def in_config(*keys: str, value: Any) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        config = read_config(folder)
        place = config
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        write_config(folder, config)

    return damage


def without(key: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        config = read_config(folder)
        del config[key]
        write_config(folder, config)

    return damage


def in_weights(
    key: str, change: Callable[[Tensor], Tensor]
) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        change_weights(folder, lambda s: s.update({key: change(s[key])}))

    return damage


def in_bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / read_config(folder)['weights']['file']
        path.write_bytes(change(path.read_bytes()))

    return damage


def with_text(change: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / 'config.json'
        path.write_text(change(path.read_text()))

    return damage


def filled(value: float) -> Callable[[Tensor], Tensor]:
    def change(tensor: Tensor) -> Tensor:
        tensor.view(-1)[-1] = value
        return tensor

    return change


def flip(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


def move_weights(name: str, target: str) -> Callable[[Path], None]:
    """Real weights, of the right digest, in another place."""

    def damage(folder: Path) -> None:
        config = read_config(folder)
        path = folder / config['weights']['file']
        path.rename((folder / target).resolve())
        config['weights']['file'] = name.format(folder=folder.parent)
        write_config(folder, config)

    return damage


def link_weights(folder: Path) -> None:
    path = folder / read_config(folder)['weights']['file']
    path.rename(folder.parent / 'elsewhere.safetensors')
    path.symlink_to(folder.parent / 'elsewhere.safetensors')


def folder_for_weights(folder: Path) -> None:
    path = folder / read_config(folder)['weights']['file']
    path.unlink()
    path.mkdir()
    in_config('weights', 'bytes', value=path.stat().st_size)(folder)


def remove(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (path,) = folder.glob(name)
        path.unlink()

    return damage


def spare_tensor(folder: Path) -> None:
    change_weights(folder, lambda s: s.update({'spare': torch.ones(2)}))


def missing_tensor(folder: Path) -> None:
    change_weights(folder, lambda s: s.pop('transition.lin3.bias'))


def no_safetensors(folder: Path) -> None:
    set_weights(folder, b'\x80\x04K\x01.' * 9)


W, B = 'transition.lin2.weight', 'transition.lin2.bias'
NAN, INF = float('nan'), float('inf')
ENCODER = ('encoder', 'config')

DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    'no config': (remove('config.json'), 'there is no map in'),
    'empty config': (with_text(lambda t: ''), 'readable map: config.json'),
    'half a config': (with_text(lambda t: t[: len(t) // 2]), 'config.json'),
    'no object': (with_text(lambda t: '[1, 2]'), 'not of format'),
    'deep config': (with_text(lambda t: '[' * 10**5), 'config.json'),
    'no text': (
        lambda f: (f / 'config.json').write_bytes(b'\xff\xfe\xfa\x00'),  # type: ignore[func-returns-value]
        'config.json',
    ),
    'format': (in_config('format', value='other'), 'not of format'),
    'version': (in_config('version', value=2), 'version 2; this.* version 1'),
    'no version': (without('version'), 'version None'),
    'unknown encoder': (
        in_config('encoder', 'name', value='two_hot'),
        "unknown encoder 'two_hot'",
    ),
    'other encoder': (in_config('encoder', 'name', value='gnn'), 'rebuilt'),
    'encoder no object': (in_config('encoder', value='k_hot'), "'encoder'"),
    'no encoder config': (in_config(*ENCODER, value=None), "'encoder'"),
    'unknown argument': (in_config(*ENCODER, 'depth', value=3), 'depth'),
    'channels of text': (
        in_config(*ENCODER, 'channels', value='64'),
        'rebuilt',
    ),
    'bounds no number': (
        in_config(*ENCODER, 'bounds', value=[[0, NAN], [0, 1]]),
        'finite',
    ),
    'huge axes': (
        in_config(*ENCODER, 'axis_sizes', value=[10**13, 16]),
        r'not torch.float32 of shape \(10000000000000, 64\)',
    ),
    'huger axes': (
        in_config(*ENCODER, 'axis_sizes', value=[10**30, 16]),
        'rebuilt',
    ),
    'huge transition': (
        in_config('transition', 'hidden_channels', value=10**8),
        r'not torch.float32 of shape \(100000000',
    ),
    'no transition': (without('transition'), "no valid 'transition'"),
    'other transition': (
        in_config('transition', 'in_channels', value=9),
        'takes 9 channels',
    ),
    'odd transition': (in_config('transition', value={'a': 1}), 'rebuilt'),
    'terminal': (in_config('terminal', value='free'), "got 'free'"),
    'terminal a number': (in_config('terminal', value=1), "'terminal'"),
    'graph a number': (in_config('graph', value=1), "no valid 'graph'"),
    'no graph': (without('graph'), "no valid 'graph'"),
    'record a list': (in_config('record', value=[]), "no valid 'record'"),
    'no weights': (without('weights'), "no valid 'weights'"),
    'no digest': (in_config('weights', 'sha256', value=None), "'weights'"),
    'bytes of text': (in_config('weights', 'bytes', value='9'), "'weights'"),
    'lost weights': (remove('*.safetensors'), 'No such file'),
    'truncated weights': (in_bytes(lambda b: b[:-8]), r'has \d+ bytes, not'),
    'empty weights': (in_bytes(lambda b: b''), 'has 0 bytes, not'),
    'flipped bit': (in_bytes(flip), 'was changed or damaged'),
    'not safetensors': (no_safetensors, 'readable map: map-.*safetensors:'),
    'weights above': (
        move_weights('../x.safetensors', '../x.safetensors'),
        'is not in the folder',
    ),
    'weights by full path': (
        move_weights('{folder}/x.safetensors', '../x.safetensors'),
        'is not in the folder',
    ),
    'weights below': (
        in_config('weights', 'file', value='a/x.safetensors'),
        'is not in the folder',
    ),
    'weights of another kind': (
        move_weights('x.bin', 'x.bin'),
        'is not in the folder',
    ),
    'weights without name': (
        in_config('weights', 'file', value=''),
        'is not in the folder',
    ),
    'weights a link': (link_weights, 'is a link'),
    'weights a folder': (folder_for_weights, 'readable map'),
    'weights of no name': (
        in_config('weights', 'file', value='\0.safetensors'),
        'null byte',
    ),
    'weights of odd name': (
        in_config('weights', 'file', value='\ud800.safetensors'),
        'surrogates not allowed',
    ),
    'weights of long name': (
        in_config('weights', 'file', value='x' * 999 + '.safetensors'),
        'too long',
    ),
    'wrong dtype': (in_weights(W, lambda t: t.double()), 'is torch.float64'),
    'integers': (in_weights(W, lambda t: t.long()), 'is torch.int64'),
    'wrong shape': (in_weights(W, lambda t: t[:, 1:].clone()), r'\(8, 7\)'),
    'wrong order': (in_weights(B, lambda t: t.view(4, 2)), r'\(4, 2\)'),
    'nan': (in_weights(B, filled(NAN)), 'lin2.bias.*not finite'),
    'infinite': (in_weights(W, filled(-INF)), 'lin2.weight.*not finite'),
    'scale zero': (in_weights('cost_scale', filled(0)), 'cost_scale is 0.0'),
    'scale negative': (in_weights('cost_scale', filled(-2)), 'is -2.0'),
    'scale nan': (in_weights('cost_scale', filled(NAN)), 'not finite'),
    'spare tensor': (spare_tensor, r"unknown tensors \['spare'\]"),
    'missing tensor': (missing_tensor, 'transition.lin3.bias'),
}


@pytest.mark.parametrize('name', DAMAGES)
def test_damaged_maps(diamond: Data, saved: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    BCM.load(saved, diamond)  # as yet all is well
    damage(saved)
    with pytest.raises(BCMError, match=message) as caught:
        BCM.load(saved, diamond)
    assert type(caught.value) is BCMError
    assert 'alloc' not in str(caught.value)
    with pytest.raises(BCMError, match=message):
        BCM.load(saved, diamond, force=True)


def test_helpers_that_change_weights_change_nothing_else(
    diamond: Data, saved: Path
) -> None:
    """So that what is refused above is refused for its reason alone."""
    before = BCM.load(saved, diamond)
    change_weights(saved, lambda state: None)
    assert_same(before, BCM.load(saved, diamond), diamond)
    change_weights(saved, lambda s: s.update({B: torch.full((8,), 3.0)}))
    after = BCM.load(saved, diamond)
    assert after.transition.lin2.bias.tolist() == [3.0] * 8


def test_a_gnn_of_a_million_layers_is_not_built(
    diamond: Data, tmp_path: Path
) -> None:
    tiny_map(diamond, 'gnn').save(tmp_path)
    in_config(*ENCODER, 'num_layers', value=10**9)(tmp_path)
    with pytest.raises(BCMError, match='num_layers must lie in'):
        BCM.load(tmp_path, diamond)


def test_no_folder(diamond: Data, tmp_path: Path) -> None:
    with pytest.raises(BCMError, match='there is no map in'):
        BCM.load(tmp_path / 'missing', diamond)
    (tmp_path / 'file').write_text('')
    with pytest.raises(BCMError, match='does not hold a readable map'):
        BCM.load(tmp_path / 'file', diamond)
    with pytest.raises(BCMError, match='cannot write a map to'):
        tiny_map(diamond).save(tmp_path / 'file')
    with pytest.raises(BCMError, match='cannot write a map to'):
        tiny_map(diamond).save(tmp_path / 'file' / 'map')


# What cannot be saved -------------------------------------------------------


def deep_list() -> list:
    out: list = []
    for _ in range(10**5):
        out = [out]
    return out


@pytest.mark.parametrize(
    'value',
    [torch.ones(1), NAN, INF, {1, 2}, Path('x'), deep_list()],
    ids=['tensor', 'nan', 'inf', 'set', 'path', 'deep'],
)
def test_a_record_that_is_no_json(
    diamond: Data, saved: Path, value: Any
) -> None:
    before = sorted(os.listdir(saved))
    model = tiny_map(diamond)
    model.record = {'value': value}
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

    own = GNNEncoder.from_data(
        diamond, hidden_channels=26, gnn=torch.nn.Identity()
    )
    with pytest.raises(BCMError, match='subclass NodeEncoder and register'):
        BCM(own).save(saved)
    model = tiny_map(diamond)
    model.transition = torch.nn.Identity()  # type: ignore[assignment]
    with pytest.raises(BCMError, match=r'built-in Transition.*got Identity'):
        model.save(saved)
    assert_same(good, BCM.load(saved, diamond), diamond)


# Interrupted saves ----------------------------------------------------------


@pytest.mark.parametrize('call', [1, 2])
@pytest.mark.parametrize('error', [OSError, KeyboardInterrupt])
def test_a_save_that_stops_leaves_the_old_map(
    diamond: Data,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: int,
    error: type[BaseException],
) -> None:
    old = BCM.load(saved, diamond)
    new = tiny_map(diamond)
    new.graph = old.graph
    write, calls = map_io.replace_file, []

    def stop(path: Path, content: bytes) -> None:
        calls.append(path.name)
        if len(calls) == call:
            raise error('no more')
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(map_io, 'replace_file', stop)
        expected = BCMError if error is OSError else error
        with pytest.raises(expected, match='no more'):
            new.save(saved)
    assert calls[call - 1].endswith(('.safetensors', 'config.json')[call - 1])
    assert_same(old, BCM.load(saved, diamond), diamond)
    new.save(saved)  # and the next one tidies up
    assert_same(new, BCM.load(saved, diamond), diamond)
    assert len(list(saved.glob('*.safetensors'))) == 1


def test_a_file_is_replaced_in_full_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'file'
    map_io.replace_file(path, b'old')
    assert path.read_bytes() == b'old'

    def stop(*args: object) -> None:
        raise OSError('disk full')

    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', stop)
        with pytest.raises(OSError, match='disk full'):
            map_io.replace_file(path, b'new')
    assert path.read_bytes() == b'old'
    assert os.listdir(tmp_path) == ['file']
    map_io.replace_file(path, b'new')
    assert path.read_bytes() == b'new'


KILLER = """
import os, random, signal, sys, time
import torch
from bcm_pyg import BCM
from bcm_pyg.datasets import weighted_grid

torch.set_num_threads(1)
folder, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
data = weighted_grid('open', side=4, costs='mild', seed=0)
models = [BCM.from_data(data, 'k_hot') for _ in range(2)]
both = tuple(models)
seen = []
for _ in range(15):
    models.reverse()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                model.save(folder)
                os.write(writer, b'.')
    assert os.read(reader, 1) == b'.'  # it is at work
    time.sleep(rng.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
    weight = BCM.load(folder, data).transition.lin3.weight
    same = [torch.equal(weight, m.transition.lin3.weight) for m in both]
    assert sum(same) == 1
    seen.append(same.index(True))
print(*seen)
"""


def test_saves_killed_at_random_moments(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, '-c', KILLER, tmp_path / 'map', '0'],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, 'OMP_NUM_THREADS': '1'},
    )
    assert done.returncode == 0, done.stderr
    seen = done.stdout.split()
    assert len(seen) == 15
    assert set(seen) == {'0', '1'}


# What loading must not do ---------------------------------------------------


def test_loading_does_not_disturb_random_numbers(
    grid: Data, tmp_path: Path
) -> None:
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
        text = file.read_text()
        text = text.replace('safetensors.torch.', 'safetensors.')
        for word in ('pickle', 'torch.load', 'torch.save'):
            assert word not in text, f'{word} in {file}'


def test_loading_a_pickle_runs_nothing(
    diamond: Data, saved: Path, tmp_path: Path
) -> None:
    import pickle

    class Trap:
        def __reduce__(self) -> tuple:
            return Path.touch, (tmp_path / 'sprung',)

    set_weights(saved, pickle.dumps({W: Trap()}))
    with pytest.raises(BCMError, match='does not hold a readable map'):
        BCM.load(saved, diamond)
    assert not (tmp_path / 'sprung').exists()

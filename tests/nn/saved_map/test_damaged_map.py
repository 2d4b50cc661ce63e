from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import tiny_map
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from map_folders import (
    Damage,
    assert_same,
    change_weights,
    in_bytes,
    in_config,
    in_text,
    in_weights,
    read_config,
    set_weights,
    weights_of,
    without,
)
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError

W, B = 'transition.lin2.weight', 'transition.lin2.bias'
NAN, INF = float('nan'), float('inf')
ENCODER, MAP = ('encoder', 'config'), ('files', 'map')


def filled(value: float) -> Callable[[Tensor], Tensor]:
    def change(tensor: Tensor) -> Tensor:
        tensor.view(-1)[-1] = value
        return tensor

    return change


def flip(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


def remove(pattern: str) -> Damage:
    def damage(folder: Path) -> None:
        (path,) = folder.glob(pattern)
        path.unlink()

    return damage


def folder_for_weights(folder: Path) -> None:
    path = weights_of(folder)
    path.unlink()
    path.mkdir()


def spare_tensor(folder: Path) -> None:
    change_weights(folder, lambda s: s.update({'spare': torch.ones(2)}))


def missing_tensor(folder: Path) -> None:
    change_weights(folder, lambda s: s.pop('transition.lin3.bias'))


def no_safetensors(folder: Path) -> None:
    set_weights(folder, b'\x80\x04K\x01.' * 9)


def no_text(folder: Path) -> None:
    (folder / 'config.json').write_bytes(b'\xff\xfe\xfa\x00')


DAMAGES: dict[str, tuple[Damage, str]] = {
    # The config, by accident
    'no config': (remove('config.json'), 'readable map: .*No such file'),
    'empty config': (in_text(lambda t: ''), 'readable map: config.json'),
    'half a config': (in_text(lambda t: t[: len(t) // 2]), 'config.json'),
    'no object': (in_text(lambda t: '[1, 2]'), 'not of format'),
    'no text': (no_text, 'config.json'),
    'a digit': (
        in_text(lambda t: t.replace('"hidden_channels": 8', '"hid": 9')),
        'config.json: it was changed or damaged',
    ),
    'a recorded number': (
        in_text(
            lambda t: t.replace('"training": {}', '"training": {"gap": 0}')
        ),
        'config.json: it was changed or damaged',
    ),
    # The config, as if it were meant
    'format': (in_config('format', value='other'), 'not of format'),
    'version': (in_config('version', value=2), 'version 2; this.* version 3'),
    'version true': (in_config('version', value=True), 'version True'),
    'version of text': (in_config('version', value='3'), "version '3'"),
    'no version': (without('version'), 'version None'),
    'no digest of itself': (without('sha256'), 'was changed or damaged'),
    'spare entry': (in_config('x', value=1), "unknown entry 'x'"),
    'unknown encoder': (
        in_config('encoder', 'name', value='two_hot'),
        "unknown encoder 'two_hot'",
    ),
    'unknown part': (
        in_config(
            'encoder',
            value={
                'name': 'concat',
                'config': {'encoders': [{'name': 'x', 'config': {}}]},
            },
        ),
        "unknown encoder 'x'",
    ),
    'other encoder': (in_config('encoder', 'name', value='gnn'), 'rebuilt'),
    'encoder no object': (in_config('encoder', value='k_hot'), "'encoder'"),
    'no encoder config': (in_config(*ENCODER, value=None), "'config'"),
    'spare in encoder': (in_config('encoder', 'x', value=1), "entry 'x'"),
    'unknown argument': (in_config(*ENCODER, 'depth', value=3), 'depth'),
    'channels of text': (
        in_config(*ENCODER, 'channels', value='64'),
        'rebuilt|channels must be',
    ),
    'bounds no number': (
        in_config(*ENCODER, 'bounds', value=[[0, NAN], [0, 1]]),
        'config.json: it is not valid JSON: NaN is not a JSON number',
    ),
    'record no number': (
        in_config('training', value={'gap': INF}),
        'config.json: it is not valid JSON: Infinity is not a JSON number',
    ),
    'said twice': (
        in_text(
            lambda t: t.replace('"terminal"', '"terminal": "", "terminal"')
        ),
        "config.json: .* there are two entries 'terminal'",
    ),
    'said twice inside': (
        in_text(lambda t: t.replace('"bytes"', '"bytes": 1, "bytes"')),
        "config.json: .* there are two entries 'bytes'",
    ),
    'no transition': (without('transition'), "no valid 'transition'"),
    'other transition': (
        in_config('transition', 'in_channels', value=9),
        'takes 9 channels',
    ),
    'odd transition': (in_config('transition', value={'a': 1}), 'rebuilt'),
    'terminal': (in_config('terminal', value='free'), "got 'free'"),
    'terminal a number': (in_config('terminal', value=1), "'terminal'"),
    'graph a number': (
        in_config('fingerprint', value=1),
        "no valid 'fingerprint'",
    ),
    'no graph': (without('fingerprint'), "no valid 'fingerprint'"),
    'record a list': (in_config('training', value=[]), "no valid 'training'"),
    'no files': (without('files'), "no valid 'files'"),
    'no weights': (in_config('files', value={}), "no valid 'map'"),
    'spare file': (in_config('files', 'x', value={}), "unknown entry 'x'"),
    'no digest': (in_config(*MAP, 'sha256', value=None), "no valid 'sha256'"),
    'bytes of text': (in_config(*MAP, 'bytes', value='9'), "no valid 'bytes'"),
    'other bytes': (in_config(*MAP, 'bytes', value=9), 'bytes, not 9'),
    'no dtype': (in_config('dtype', value=None), "no valid 'dtype'"),
    'unknown dtype': (
        in_config('dtype', value='int4'),
        "dtype must be one of.*got 'int4'",
    ),
    # The weights, by accident
    'lost weights': (remove('*.safetensors'), 'No such file'),
    'truncated weights': (in_bytes(lambda b: b[:-8]), r'has \d+ bytes, not'),
    'longer weights': (in_bytes(lambda b: b + b'\0'), r'has \d+ bytes, not'),
    'empty weights': (in_bytes(lambda b: b''), 'has 0 bytes, not'),
    'flipped bit': (in_bytes(flip), 'was changed or damaged'),
    'weights a folder': (folder_for_weights, 'is not a file'),
    # The weights, as if they were meant
    'not safetensors': (no_safetensors, 'readable map: map-.*safetensors:'),
    'wrong dtype': (in_weights(W, lambda t: t.double()), 'is torch.float64'),
    'half': (in_weights(W, lambda t: t.half()), 'is torch.float16'),
    'integers': (in_weights(W, lambda t: t.long()), 'is torch.int64'),
    'wrong shape': (in_weights(W, lambda t: t[:, 1:].clone()), r'\(8, 7\)'),
    'wrong order': (in_weights(B, lambda t: t.view(4, 2)), r'\(4, 2\)'),
    'nan': (in_weights(B, filled(NAN)), 'lin2.bias.*not finite'),
    'infinite': (in_weights(W, filled(-INF)), 'lin2.weight.*not finite'),
    'scale zero': (in_weights('cost_scale', filled(0)), 'cost_scale is 0.0'),
    'scale negative': (in_weights('cost_scale', filled(-2)), 'is -2.0'),
    'scale next to zero': (
        in_weights('cost_scale', filled(1e-45)),
        'cost_scale is 1.4',
    ),
    'scale nan': (in_weights('cost_scale', filled(NAN)), 'not finite'),
    'spare tensor': (spare_tensor, "unknown tensor 'spare'"),
    'missing tensor': (missing_tensor, 'no tensor transition.lin3.bias'),
}


@pytest.mark.parametrize('name', DAMAGES)
def test_damaged_maps(diamond: Data, saved: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    BCM.load(saved, diamond)  # as yet all is well
    damage(saved)
    with pytest.raises(BCMError, match=message) as caught:
        BCM.load(saved, diamond)
    assert type(caught.value) is BCMError
    with pytest.raises(BCMError, match=message):
        BCM.load(saved, diamond, force=True)


def test_helpers_that_damage_change_nothing_else(
    diamond: Data, saved: Path
) -> None:
    """So that what is refused above is refused for its reason alone."""
    before = BCM.load(saved, diamond)
    change_weights(saved, lambda state: None)
    in_config('terminal', value='calibrated')(saved)
    assert_same(before, BCM.load(saved, diamond), diamond)
    change_weights(saved, lambda s: s.update({B: torch.full((8,), 3.0)}))
    after = BCM.load(saved, diamond)
    assert after.transition.lin2.bias.tolist() == [3.0] * 8


def test_no_folder(diamond: Data, tmp_path: Path) -> None:
    with pytest.raises(BCMError, match='readable map: .*No such file'):
        BCM.load(tmp_path / 'missing', diamond)
    (tmp_path / 'file').write_text('')
    with pytest.raises(BCMError, match='does not hold a readable map'):
        BCM.load(tmp_path / 'file', diamond)


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Data]:
    data = Data(
        pos=torch.eye(2),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_cost=torch.ones(2),
    )
    folder = tmp_path_factory.mktemp('maps') / 'map'
    tiny_map(data).save(folder)
    return folder, data


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.booleans(),
    st.integers(0, 2**20),
    st.none() | st.binary(max_size=3),
)
def test_no_byte_can_be_changed(
    whole: tuple[Path, Data], in_the_config: bool, place: int, new: bytes | None
) -> None:
    """Cut off, or some bytes put in the place of one: refused, or no change."""
    folder, data = whole
    path = folder / 'config.json' if in_the_config else weights_of(folder)
    content = path.read_bytes()
    place %= len(content)
    rest = b'' if new is None else new + content[place + 1 :]
    path.write_bytes(content[:place] + rest)
    try:
        with pytest.raises(BCMError):
            BCM.load(folder, data)
    except pytest.fail.Exception:
        # White space, or the very same byte.
        assert in_the_config or path.read_bytes() == content
        changed = read_config(folder)
        path.write_bytes(content)
        assert changed == read_config(folder)
    finally:
        path.write_bytes(content)


def test_settings_of_any_kind(diamond: Data, saved: Path) -> None:
    """Whatever stands in the place of a setting, one error says so."""
    values: list[Any] = [None, True, 'x', '', 1e300, -1, 0, [], {}, [[]]]
    values += [10**40, {'a': 1}, [None], 0.5, '\ud800']
    config = read_config(saved)
    for section in ('encoder', 'transition'):
        place = config[section].get('config', config[section])
        path = (section, 'config') if section == 'encoder' else (section,)
        for key, old in place.items():
            for value in values:
                in_config(*path, key, value=value)(saved)
                try:
                    model = BCM.load(saved, diamond)
                except BCMError:
                    continue
                assert model.transition.in_channels == 192, (key, value)
            in_config(*path, key, value=old)(saved)
    BCM.load(saved, diamond)

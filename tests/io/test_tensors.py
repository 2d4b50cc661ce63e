"""Headers of safetensors files, and tensors behind them."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from typing import Any

import pytest
import safetensors.torch
import torch

from bcm_pyg import BCMError
from bcm_pyg.io import Spec, TensorFile, check_finite, check_tensors, pack
from bcm_pyg.io.tensors import MAX_HEADER_BYTES

STATE = {
    'scalar': torch.tensor(2.5),
    'half': torch.randn(3, 5).half(),
    'none': torch.zeros(0, 4),
    'codes': torch.tensor([[-7, 7]], dtype=torch.int8),
    'scale': torch.ones(2, 1).bfloat16(),
    'nodes': torch.arange(4),
    'free': torch.tensor([True, False]),
}


def read(content: bytes, digest: str | None = None) -> dict[str, torch.Tensor]:
    file = io.BytesIO(content)
    return TensorFile(file, len(content), 'a file', digest).read()


@pytest.mark.parametrize('metadata', [None, {'format': 'pt'}])
def test_round_trip(metadata: dict[str, str] | None) -> None:
    content = pack(STATE, metadata)
    out = read(content, hashlib.sha256(content).hexdigest())
    assert out.keys() == STATE.keys()
    for name, value in STATE.items():
        assert out[name].dtype == value.dtype
        assert torch.equal(out[name], value)
    assert read(pack({})) == {}
    assert safetensors.torch.load(content).keys() == STATE.keys()


def test_the_header_alone_tells_specs_and_metadata() -> None:
    content = pack(STATE, {'a': 'b'})
    length = 8 + int.from_bytes(content[:8], 'little')
    file = TensorFile(io.BytesIO(content[:length]), len(content), 'a file')
    assert file.metadata == {'a': 'b'} and file.data_begin == length
    assert file.specs['half'] == Spec(torch.float16, (3, 5))
    check_tensors(file.specs, STATE)
    with pytest.raises(BCMError, match='a file: '):  # the rest is not there
        file.read()


def test_tied_and_transposed_tensors() -> None:
    value = torch.randn(3, 5, requires_grad=True)
    out = read(pack({'a': value, 'b': value, 'c': value.T}))
    assert torch.equal(out['a'], value) and torch.equal(out['b'], value)
    assert torch.equal(out['c'], value.T)


def test_check_tensors() -> None:
    like = {'a': torch.zeros(2, 3), 'b': Spec(torch.int64, ())}
    check_tensors({'a': torch.ones(2, 3), 'b': torch.tensor(1)}, like)
    for found, message in [
        ({'a': like['a']}, 'there is no tensor b'),
        ({**like, 'c': torch.ones(1)}, "there is an unknown tensor 'c'"),
        ({**like, 'a': torch.ones(3, 2)}, r'a is .*\(3, 2\), not .*\(2, 3\)'),
        ({**like, 'a': torch.ones(2, 3).half()}, 'a is torch.float16 of'),
    ]:
        with pytest.raises(BCMError, match=message):
            check_tensors(found, like)


def test_check_finite() -> None:
    check_finite(STATE)
    for odd in (float('nan'), float('inf'), -float('inf')):
        with pytest.raises(BCMError, match='b has values that are not finite'):
            check_finite({'a': torch.ones(1), 'b': torch.tensor([0, odd])})


def test_the_digest_is_that_of_the_file() -> None:
    content = pack(STATE)
    with pytest.raises(BCMError, match='a file: it was changed or damaged'):
        read(content, hashlib.sha256(content + b' ').hexdigest())


def entry(shape: Any, place: Any, dtype: Any = 'F32') -> dict[str, Any]:
    return {'dtype': dtype, 'shape': shape, 'data_offsets': place}


def file_of(header: Any, num_bytes: int = 0) -> bytes:
    text = header if isinstance(header, str) else json.dumps(header)
    return struct.pack('<Q', len(text)) + text.encode() + bytes(num_bytes)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'', 'cut off'),
        (bytes(7), 'cut off'),
        (struct.pack('<Q', 2**63), 'cut off'),
        (file_of('{')[:-1], 'cut off'),
        (file_of(' ' * (MAX_HEADER_BYTES + 1)), '1,048,577 bytes, more than'),
        (file_of(''), 'it is not valid JSON'),
        (file_of('[' * 10**5), 'it is not valid JSON'),
        (file_of('{"a": NaN}'), 'NaN is not a JSON number'),
        (file_of('{"a": {}, "a": {}}'), "two entries 'a'"),
        (file_of([]), 'not a JSON object'),
        (file_of({'a': {}}), "no spec of 'a'"),
        (file_of({'a' * 999: 3}), 'no spec of'),
        (file_of({'a': entry([2], [0, 8], 'X32')}, 8), "no spec of 'a'"),
        (file_of({'a': entry([2], [0, 8], [])}, 8), "no spec of 'a'"),
        (file_of({'a': entry(2, [0, 8])}, 8), "no spec of 'a'"),
        (file_of({'a': entry([2.0], [0, 8])}, 8), 'no valid shape'),
        (file_of({'a': entry([True], [0, 4])}, 4), 'no valid shape'),
        (file_of({'a': entry([-1], [0, 8])}, 8), 'no valid shape'),
        (file_of({'a': entry('ab', [0, 8])}, 8), 'no valid shape'),
        (file_of({'a': entry([2], [0, 8])}, 9), 'but its tensors take'),
        (file_of({'a': entry([2], [0, 8])}, 7), 'but its tensors take'),
        (file_of({'a': entry([2], [0, 4])}, 4), 'but its tensors take'),
        (file_of({'a': entry([2**40], [0, 2**42])}), 'but its tensors take'),
        # All else is for safetensors to refuse.
        (file_of({'a': entry([2], [-8, 0])}, 8), ''),
        (file_of({'a': entry([2], [0, 4, 8])}, 8), ''),
        (file_of({'a': entry([2], [8, 0])}, 8), ''),
        (file_of({'a': entry([2], [4, 12])}, 8), ''),
        (file_of({'a': entry([0, 2**63], [0, 0])}), ''),
        (
            file_of({'a': entry([2], [0, 8]), 'b': entry([2], [4, 12])}, 16),
            '',
        ),
        (
            file_of({'a': entry([2], [0, 8]), 'b': entry([2], [0, 8])}, 16),
            '',
        ),
    ],
)
def test_odd_headers(content: bytes, message: str) -> None:
    with pytest.raises(BCMError, match=f'a file: .*{message}') as caught:
        read(content)
    assert len(str(caught.value)) < 300

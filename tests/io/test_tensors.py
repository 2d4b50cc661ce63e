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
from bcm_pyg.io.tensors import (
    MAX_HEADER_BYTES,
    check_places,
    read_header,
    read_tensors,
)

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
    header = read_header(file, len(content))
    check_places(header, len(content))
    if digest is None:
        digest = hashlib.sha256(content).hexdigest()
    return read_tensors(file, header, digest)


@pytest.mark.parametrize('metadata', [None, {'format': 'pt'}])
def test_reads_what_safetensors_writes(metadata: dict[str, str] | None) -> None:
    out = read(safetensors.torch.save(STATE, metadata))
    assert out.keys() == STATE.keys()
    for name, value in STATE.items():
        assert out[name].dtype == value.dtype
        assert torch.equal(out[name], value)
    assert read(safetensors.torch.save({})) == {}


def test_the_digest_is_that_of_the_file() -> None:
    content = safetensors.torch.save(STATE)
    with pytest.raises(BCMError, match='changed or damaged'):
        read(content, hashlib.sha256(content + b' ').hexdigest())


def test_a_file_that_shrinks() -> None:
    content = safetensors.torch.save(STATE)
    file = io.BytesIO(content[:-1])
    header = read_header(file, len(content))
    check_places(header, len(content))
    with pytest.raises(BCMError, match='became shorter'):
        read_tensors(file, header, '')


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
        (file_of(''), 'is no JSON'),
        (file_of('[' * 10**5), 'is no JSON'),
        (file_of('{"a": NaN}'), 'NaN is not a number'),
        (file_of('{"a": {}, "a": {}}'), "two entries 'a'"),
        (file_of([]), 'no object'),
        (file_of({'a': {}}), "no dtype, shape or place of 'a'"),
        (file_of({'a': {**entry([], [0, 4]), 'x': 1}}), 'no dtype, shape'),
        (file_of({'a' * 999: 3}), 'no dtype, shape or place'),
        (file_of({'a': entry([2], [0, 8], 'X32')}, 8), 'no valid dtype'),
        (file_of({'a': entry([2], [0, 8], [])}, 8), 'no valid dtype'),
        (file_of({'a': entry([2.0], [0, 8])}, 8), 'no valid dtype and shape'),
        (file_of({'a': entry([True], [0, 4])}, 4), 'no valid dtype and shape'),
        (file_of({'a': entry([-1], [0, 8])}, 8), 'no valid dtype and shape'),
        (file_of({'a': entry(2, [0, 8])}, 8), 'no valid dtype and shape'),
        (file_of({'a': entry([2], [-8, 0])}, 8), 'no valid place'),
        (file_of({'a': entry([2], [0, 4, 8])}, 8), 'no valid place'),
        (file_of({'a': entry([2], [0, 4])}, 4), 'a is not where'),
        (file_of({'a': entry([2], [8, 0])}, 8), 'a is not where'),
        (file_of({'a': entry([2], [4, 12])}, 12), 'a is not where'),
        (
            file_of({'a': entry([2], [0, 8]), 'b': entry([2], [4, 12])}, 12),
            'b is not where',
        ),
        (
            file_of({'a': entry([2], [0, 8]), 'b': entry([2], [0, 8])}, 8),
            'b is not where',
        ),
        (file_of({'a': entry([2], [0, 8])}, 9), 'but its tensors take'),
        (file_of({'a': entry([2], [0, 8])}, 7), 'but its tensors take'),
        (file_of({'a': entry([2**40], [0, 2**42])}), 'but its tensors take'),
    ],
)
def test_odd_headers(content: bytes, message: str) -> None:
    with pytest.raises(BCMError, match=message) as caught:
        read(content)
    assert len(str(caught.value)) < 300

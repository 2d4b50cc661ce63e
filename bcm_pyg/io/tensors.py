"""Safetensors files: what they say they hold, and then what they hold.

The header is read alone and compared with what is wanted before anything else
is. Then every tensor is read to the place where it stays.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError

from .format import strict_json

#: Some ten thousand tensors; a map has some ten.
MAX_HEADER_BYTES = 2**20

_DTYPES = {
    'BOOL': torch.bool,
    'U8': torch.uint8,
    'I8': torch.int8,
    'I16': torch.int16,
    'I32': torch.int32,
    'I64': torch.int64,
    'F16': torch.float16,
    'BF16': torch.bfloat16,
    'F32': torch.float32,
    'F64': torch.float64,
}


class Entry(NamedTuple):
    """What a header says of a tensor.

    Attributes:
        dtype: Of its numbers.
        shape: As it is said, which may be anything.
        begin: The first of its bytes, counted from the end of the header.
        end: The first byte behind it.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """The beginning of a file.

    Attributes:
        content: Its bytes.
        entries: What they say, by the names of tensors.
    """

    content: bytes
    entries: dict[str, Entry]


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Puts the name of the file before what is wrong with it."""
    try:
        yield
    except BCMError as error:
        raise BCMError(f'{name}: {error}') from None


def read_header(file: BinaryIO, size: int) -> Header:
    """The header of a file of this many bytes."""
    begin = file.read(8)
    length = int.from_bytes(begin, 'little')
    if len(begin) < 8 or length > size - 8:
        raise BCMError('the header is cut off')
    if length > MAX_HEADER_BYTES:
        raise BCMError(
            f'the header has {length:,} bytes, more than the '
            f'{MAX_HEADER_BYTES:,} there can be'
        )
    text = file.read(length)
    try:
        header = strict_json(text)
    except (ValueError, RecursionError) as error:
        raise BCMError(f'the header is no JSON: {error}') from None
    if not isinstance(header, dict):
        raise BCMError('the header is no object')
    header.pop('__metadata__', None)
    entries = {name: _entry(name, value) for name, value in header.items()}
    return Header(begin + text, entries)


def _entry(name: str, value: Any) -> Entry:
    keys = {'dtype', 'shape', 'data_offsets'}
    if not isinstance(value, dict) or value.keys() != keys:
        raise BCMError(
            f'the header has no dtype, shape or place of {name!r:.80}'
        )
    shape, place = value['shape'], value['data_offsets']
    dtype = _DTYPES.get(str(value['dtype']))
    if dtype is None or not _counts(shape):
        raise BCMError(
            f'the header has no valid dtype and shape of {name!r:.80}'
        )
    if not _counts(place) or len(place) != 2:
        raise BCMError(f'the header has no valid place of {name!r:.80}')
    return Entry(dtype, tuple(shape), *place)


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(item) is int and item >= 0 for item in value
    )


def check_places(header: Header, size: int) -> None:
    """Refuses tensors that do not fill a file, one after the other.

    Shapes must be known to be those of tensors that can be.
    """
    place = 0
    for name, entry in _in_order(header):
        num_bytes = math.prod(entry.shape) * entry.dtype.itemsize
        if (entry.begin, entry.end) != (place, place + num_bytes):
            raise BCMError(f'{name} is not where the tensor before it ends')
        place = entry.end
    if len(header.content) + place != size:
        raise BCMError(
            f'there are {size:,} bytes, but its tensors take '
            f'{len(header.content) + place:,}'
        )


def read_tensors(
    file: BinaryIO, header: Header, digest: str
) -> dict[str, Tensor]:
    """All tensors of a file whose header has been read and checked.

    Args:
        file (BinaryIO): The file, just behind the header.
        header (Header): The header.
        digest (str): The SHA-256 that the whole file must have.
    """
    seen = hashlib.sha256(header.content)
    out = {}
    for name, entry in _in_order(header):
        out[name] = torch.empty(entry.shape, dtype=entry.dtype)
        content = out[name].view(-1).view(torch.uint8).numpy().data
        if file.readinto(content) != content.nbytes:  # type: ignore[attr-defined]
            raise BCMError('it became shorter while it was read')
        seen.update(content)
    if seen.hexdigest() != digest:
        raise BCMError('it was changed or damaged')
    return out


def _in_order(header: Header) -> list[tuple[str, Entry]]:
    return sorted(
        header.entries.items(), key=lambda item: (item[1].begin, item[1].end)
    )

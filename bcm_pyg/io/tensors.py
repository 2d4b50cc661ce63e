"""Safetensors files: what they say they hold, and then what they hold."""

import hashlib
import math
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import safetensors.torch
import torch
from torch import Tensor

from bcm_pyg.errors import BCMError

from .format import refusing, strict_json

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
#: Of tensors that can be read.
DTYPES = frozenset(_DTYPES.values())


class Spec(NamedTuple):
    """What can be known of a tensor before it is read."""

    dtype: torch.dtype
    shape: tuple[int, ...]


def check_tensors(
    found: Mapping[str, Spec | Tensor], wanted: Mapping[str, Spec | Tensor]
) -> None:
    """Refuses tensors of other names, dtypes or shapes than those wanted."""
    for key, like in wanted.items():
        value = found.get(key)
        if value is None:
            raise BCMError(f'there is no tensor {key}')
        shape, wanted_shape = tuple(value.shape), tuple(like.shape)
        if value.dtype != like.dtype or shape != wanted_shape:
            raise BCMError(
                f'{key} is {value.dtype} of shape {shape}, not {like.dtype} of '
                f'shape {wanted_shape}'
            )
    for key in found:
        if key not in wanted:
            raise BCMError(f'there is an unknown tensor {key!r:.80}')


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Refuses NaN and infinity."""
    for key, value in tensors.items():
        if not bool(value.isfinite().all()):
            raise BCMError(f'{key} has values that are not finite')


def pack(
    tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None
) -> bytes:
    """The content of a safetensors file."""
    # Clones, since tied parameters must not share memory in a file.
    plain = {
        key: value.detach().cpu().contiguous().clone()
        for key, value in tensors.items()
    }
    return safetensors.torch.save(plain, metadata)


class TensorFile:
    """An open safetensors file, of which only the header has been read.

    So a file can be refused before it takes memory.

    Args:
        file (BinaryIO): The file, at its beginning.
        size (int): Its bytes, as many as a sparse file may claim.
        name (str): What to call it in errors.
        sha256 (str, optional): The digest that it must have. (default: any)

    Attributes:
        specs: What it says it holds, by name.
        metadata: Texts that were packed with it, by name.
        data_begin: Where the header ends.
    """

    def __init__(
        self, file: BinaryIO, size: int, name: str, sha256: str | None = None
    ) -> None:
        self._file, self._size, self._sha256 = file, size, sha256
        self._name = name
        with refusing(name):
            length = int.from_bytes(file.read(8), 'little')
            if length > size - 8:
                raise BCMError('the header is cut off')
            if length > MAX_HEADER_BYTES:
                raise BCMError(
                    f'the header has {length:,} bytes, more than the '
                    f'{MAX_HEADER_BYTES:,} there can be'
                )
            header = strict_json(file.read(length))
            if not isinstance(header, dict):
                raise BCMError('the header is not a JSON object')
            self.metadata = header.pop('__metadata__', {})
            self.specs = {key: _spec(key, x) for key, x in header.items()}
            self.data_begin = 8 + length

    def read(self) -> dict[str, Tensor]:
        """All tensors, once their specs are known to be those wanted."""
        with refusing(self._name):
            size = self.data_begin + sum(
                math.prod(spec.shape) * spec.dtype.itemsize
                for spec in self.specs.values()
            )
            if size != self._size:
                raise BCMError(
                    f'there are {self._size:,} bytes, but its tensors take '
                    f'{size:,}'
                )
            self._file.seek(0)
            content = self._file.read(size)
            digest = hashlib.sha256(content).hexdigest()
            if self._sha256 not in (None, digest):
                raise BCMError('it was changed or damaged')
            return safetensors.torch.load(content)


def _spec(name: str, entry: Any) -> Spec:
    try:
        shape, dtype = tuple(entry['shape']), _DTYPES[entry['dtype']]
    except (TypeError, LookupError):
        raise BCMError(f'the header has no spec of {name!r:.80}') from None
    if not all(type(size) is int and size >= 0 for size in shape):
        raise BCMError(f'the header has no valid shape of {name!r:.80}')
    return Spec(dtype, shape)

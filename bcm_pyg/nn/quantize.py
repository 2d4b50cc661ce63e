"""Weights in fewer bits, for smaller files.

Maps compute in float32 whatever they are stored in. Only float32 parameters are
rounded; buffers, such as the cost scale, are kept to the bit.
"""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor
from torch.nn.functional import pad

from bcm_pyg.errors import BCMError
from bcm_pyg.io import Spec
from bcm_pyg.utils import check_choice

#: What weights can be stored in.
DTYPES = ('float32', 'float16', 'int8')
#: Numbers of a row, or of a column if these are longer, that share a scale.
GROUP = 128

_SCALE = '.scale'


def compress(
    state: Mapping[str, Tensor], parameters: Collection[str], dtype: str
) -> dict[str, Tensor]:
    r"""The tensors to write for a state.

    With :obj:`"float16"` parameters are rounded to half precision. With
    :obj:`"int8"` matrices become integers :math:`q` with one scale :math:`s`
    for every 128 numbers along their longer side, :math:`w \approx s q`, and
    vectors half precision. What half precision cannot hold stays float32. To
    round a second time changes nothing.

    Args:
        state (Mapping[str, torch.Tensor]): Finite tensors by name.
        parameters (Collection[str]): Names of those that may be rounded.
        dtype (str): One of :obj:`"float32"`, :obj:`"float16"`, :obj:`"int8"`.
    """
    out: dict[str, Tensor] = {}
    for key, value in state.items():
        form = _form(key, value, parameters, dtype)
        if form == 'int8':
            out[key], out[key + _SCALE] = quantize(value)
        else:
            out[key] = value if form == 'kept' else _half(value)
    return out


def _form(
    key: str, like: Tensor, parameters: Collection[str], dtype: str
) -> str:
    if (
        dtype == 'float32'
        or key not in parameters
        or like.dtype != torch.float32
        or like.numel() == 0
    ):
        return 'kept'
    return 'int8' if dtype == 'int8' and like.dim() > 1 else 'half'


def stored_specs(
    wanted: Mapping[str, Tensor],
    parameters: Collection[str],
    dtype: str,
    found: Mapping[str, Spec],
) -> dict[str, Spec]:
    """What :func:`compress` writes for tensors of these dtypes and shapes.

    :obj:`found` shows which were too large or small for half precision.
    """
    out: dict[str, Spec] = {}
    for key, like in wanted.items():
        form, stored = _form(key, like, parameters, dtype), like.dtype
        if form == 'int8':
            stored = torch.int8
        elif form == 'half':
            kept = key in found and found[key].dtype == torch.float32
            stored = torch.float32 if kept else torch.float16
        out[key] = Spec(stored, tuple(like.shape))
        if form == 'int8':
            short, long = sorted((like.size(0), like.shape[1:].numel()))
            out[key + _SCALE] = Spec(torch.bfloat16, (short, -(-long // GROUP)))
    return out


def expand(
    stored: Mapping[str, Tensor],
    wanted: Mapping[str, Tensor],
    parameters: Collection[str],
    dtype: str,
) -> dict[str, Tensor]:
    """The state that :func:`compress` was given, rounded.

    Refuses numbers that it does not write; specs must have been checked.
    """
    out: dict[str, Tensor] = {}
    for key, like in wanted.items():
        value = stored[key]
        form = _form(key, like, parameters, dtype)
        if form == 'int8':
            scale = stored[key + _SCALE]
            if not bool(((scale > 0) & scale.isfinite()).all()):
                raise BCMError(f'{key} has scales that are not positive')
            if int(value.min()) < -127:
                raise BCMError(f'{key} has integers below -127')
            out[key] = dequantize(value, scale)
        else:
            out[key] = value if form == 'kept' else value.float()
        if form == 'half' and _half(out[key]).dtype != value.dtype:
            why = 'which does not go with its largest number'
            raise BCMError(f'{key} is {value.dtype}, {why}')
    return out


def stored_bytes(
    parameters: Mapping[str, Tensor], buffers: Mapping[str, Tensor], dtype: str
) -> int:
    """Bytes of weights in a file, names and shapes not counted."""
    check_choice('dtype', dtype, DTYPES)
    with torch.no_grad():
        stored = compress(parameters, parameters, dtype)
    kept = [*stored.values(), *buffers.values()]
    return sum(value.numel() * value.element_size() for value in kept)


def quantize(value: Tensor) -> tuple[Tensor, Tensor]:
    r"""Integers from -127 to 127 and their scales.

    Args:
        value (torch.Tensor): Finite numbers, :obj:`[R, ...]`.

    Returns:
        The integers, of the same shape, and the scales :obj:`[R, C / 128]`,
        where :math:`C` is the size of a flat row, or :obj:`[C, R / 128]` if
        there are more rows than that. The largest number of a group becomes
        127; scales are rounded first, and integers compensate for that.
    """
    groups = _groups(value)
    # bfloat16 has the range of float32, and 8 bits are enough for a scale.
    scale = (groups.abs().amax(-1) / 127).bfloat16()
    scale[scale == 0] = 1
    codes = (groups / scale.float()[..., None]).round().clamp(-127, 127)
    return _ungroup(codes, value.shape).to(torch.int8), scale


def dequantize(codes: Tensor, scale: Tensor) -> Tensor:
    """The inverse of :func:`quantize`, up to rounding."""
    groups = _groups(codes.float()) * scale.float()[..., None]
    return _ungroup(groups, codes.shape)


def _groups(value: Tensor) -> Tensor:
    """Rows cut into groups, the last one filled up, :obj:`[R, G, 128]`."""
    rows = value.flatten(1)
    rows = rows.T if _is_tall(rows.shape) else rows
    rows = pad(rows, (0, -rows.size(1) % GROUP))
    groups: Tensor = rows.unflatten(1, (-1, GROUP))
    return groups


def _ungroup(groups: Tensor, shape: torch.Size) -> Tensor:
    long = max(shape[0], shape[1:].numel())
    rows = groups.flatten(1)[:, :long]
    return (rows.T if _is_tall(shape) else rows).reshape(shape).contiguous()


def _is_tall(shape: torch.Size) -> bool:
    return shape[0] > shape[1:].numel()


def _half(value: Tensor) -> Tensor:
    limits, largest = torch.finfo(torch.float16), float(value.abs().max())
    fits = largest == 0 or limits.tiny <= largest <= limits.max
    return value.half() if fits else value

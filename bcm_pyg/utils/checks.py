"""Checks of what users hand in: names, numbers and node ids."""

import math
from numbers import Integral, Real

import numpy as np
import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.typing import Ids

#: The largest that fits an int64.
MAX_INT = 2**63 - 1


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raises an error unless the value is one of :obj:`choices`."""
    if value not in choices:
        raise BCMError(f'{name} must be one of {choices} (got {value!r:.80})')


def check_int(
    name: str, value: object, least: int, most: int = MAX_INT
) -> None:
    """Raises an error unless it is an int from :obj:`least` to :obj:`most`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Integral)
        or not least <= int(value) <= most
    ):
        wanted = f'from {least} to {most}'
        if most == MAX_INT:
            wanted = f'of at least {least}'
        raise BCMError(f'{name} must be an int {wanted} (got {value!r:.80})')


def check_float(name: str, value: object, *, positive: bool = False) -> None:
    """Raises an error unless it is finite and at least (or above) 0."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not math.isfinite(value)
        or value < 0
        or (positive and value == 0)
    ):
        sign = 'positive' if positive else 'non-negative'
        raise BCMError(f'{name} must be finite and {sign} (got {value!r:.80})')


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number and what it counts: 1 node, 2 nodes."""
    return f'{number} {one if number == 1 else many or f"{one}s"}'


def first_true(mask: Tensor | np.ndarray) -> int | None:
    """The first position at which a vector is True; None if it is nowhere."""
    return int(mask.nonzero()[0][0]) if bool(mask.any()) else None


def as_ids(ids: Ids, num_nodes: int, name: str = 'ids') -> Tensor:
    r"""Converts node ids of any kind into a long vector.

    Args:
        ids (int, list, numpy.ndarray or torch.Tensor): The ids.
        num_nodes (int): Ids must lie in :math:`[0, N)`.
        name (str, optional): Their name in error messages. (default:
            :obj:`"ids"`)
    """
    if type(ids) is int and 0 <= ids < num_nodes:  # the quick way
        return torch.from_numpy(np.array([ids]))
    try:
        if isinstance(ids, Tensor):
            out = ids.detach()
            if out.layout != torch.strided or out.is_meta:
                raise TypeError(f'got layout {out.layout} on {out.device}')
        else:
            array = np.asarray(ids)
            if array.size == 0 and array.dtype == np.float64:
                array = array.astype(np.int64)  # an empty list has no dtype
            if array.dtype.kind in 'OSU':
                raise TypeError(
                    f'got {ids!r:.40}: nodes_from_labels(data, labels) of '
                    'bcm_pyg.graph turns labels into ids'
                )
            if array.dtype.kind not in 'iu':
                raise TypeError(f'got {array.dtype}')
            out = torch.from_numpy(array.astype(np.int64))
    except (TypeError, ValueError, OverflowError) as error:
        raise BCMError(f'{name} must hold integer node ids ({error})') from None
    if out.is_floating_point() or out.is_complex() or out.dtype == torch.bool:
        raise BCMError(f'{name} must hold integer node ids (got {out.dtype})')
    if out.dim() > 1:
        raise BCMError(
            f'{name} must be a single id or a vector of ids (got shape '
            f'{tuple(out.shape)})'
        )
    out = out.reshape(-1).long()
    bad = (out < 0) | (out >= num_nodes)
    if (first := first_true(bad)) is not None:
        raise BCMError(
            f'{name}[{first}] = {int(out[first])} is not a node: ids lie in '
            f'[0, {num_nodes})'
        )
    return out


def as_queries(
    starts: Ids, goals: Ids, num_nodes: int
) -> tuple[Tensor, Tensor]:
    """Start and goal ids of equal length; a single id is repeated."""
    out = as_ids(starts, num_nodes, 'starts'), as_ids(goals, num_nodes, 'goals')
    if type(starts) is int and type(goals) is int:
        return out
    if np.ndim(starts) == 0:
        return out[0].expand_as(out[1]).contiguous(), out[1]
    if np.ndim(goals) == 0:
        return out[0], out[1].expand_as(out[0]).contiguous()
    if out[0].numel() != out[1].numel():
        raise BCMError(
            f'starts and goals must have the same length (got '
            f'{out[0].numel()} and {out[1].numel()})'
        )
    return out

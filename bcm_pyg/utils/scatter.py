import math
from operator import index as index_of

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.typing import WITH_TORCH_SCATTER

from .checks import check_choice, first_true

BACKENDS = ('native', 'torch_scatter')

#: More is taken for a mistake in an index, not for a result that is wanted.
MAX_BYTES = 2**40


def scatter_min(
    src: Tensor,
    index: Tensor,
    dim: int = 0,
    dim_size: int | None = None,
    backend: str | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Minimum of :obj:`src` in each group of :obj:`index`, and where it is.

    .. math::
        v_n = \min_{e : \mathrm{index}_e = n} \mathrm{src}_e , \qquad
        a_n = \min \{ e : \mathrm{index}_e = n, \mathrm{src}_e = v_n \}

    Unlike other implementations an empty group gives :math:`+\infty` (not 0,
    which would look like a goal) and the lowest edge id wins ties, so that all
    backends and devices agree. A NaN in a group makes its value NaN.

    Args:
        src (torch.Tensor): The values, of floating dtype.
        index (torch.Tensor): The group of each entry of :obj:`src` along
            :obj:`dim`, a vector of type long.
        dim (int, optional): The axis to reduce. (default: :obj:`0`)
        dim_size (int, optional): The number of groups. (default:
            :obj:`index.max() + 1`)
        backend (str, optional): :obj:`"native"` or :obj:`"torch_scatter"`. The
            default is the faster one: native on CPU, torch-scatter on CUDA
            where it is installed. (default: :obj:`None`)

    Returns:
        The values (differentiable with respect to :obj:`src`; the gradient
        goes to the winner) and the winning positions, :obj:`-1` where a group
        is empty.

    Shapes:
        - **src:** :math:`(*, E, *)`; **index:** :math:`(E)`;
          **output:** two of :math:`(*, N, *)`
    """
    dim = _check(src, index, dim)
    if dim_size is None:
        dim_size = int(index.max()) + 1 if index.numel() > 0 else 0
    if not torch.compiler.is_compiling():
        dim_size = _check_groups(index, dim_size, src, dim)
    backend = _resolve(backend, src)

    num_entries = src.size(dim)
    expanded = _expand(index, src, dim)
    with torch.no_grad():
        if backend == 'native':
            minimum = scatter_amin(src, index, dim, dim_size)
        else:
            minimum = _torch_scatter_amin(src, expanded, dim, dim_size)
        at_minimum = minimum.gather(dim, expanded)
        wins = (src == at_minimum) | (src.isnan() & at_minimum.isnan())
        position = torch.arange(num_entries, device=src.device)
        position = _expand(position, src, dim)
        winner = torch.where(wins, position, num_entries)
        arg = torch.full_like(minimum, num_entries, dtype=torch.long)
        arg = arg.scatter_reduce(dim, expanded, winner, 'amin')
        empty = arg == num_entries
        arg = arg.masked_fill(empty, -1)

    if not src.requires_grad or num_entries == 0:
        return minimum, arg
    value = src.gather(dim, arg.clamp(min=0))
    return value.masked_fill(empty, float('inf')), arg


def scatter_amin(src: Tensor, index: Tensor, dim: int, dim_size: int) -> Tensor:
    """The values of :func:`scatter_min` alone, unchecked: the hot path."""
    size = list(src.shape)
    size[dim] = dim_size
    out = torch.full(size, float('inf'), dtype=src.dtype, device=src.device)
    return out.scatter_reduce_(dim, _expand(index, src, dim), src, 'amin')


def _torch_scatter_amin(
    src: Tensor, expanded: Tensor, dim: int, dim_size: int
) -> Tensor:
    import torch_scatter

    # torch-scatter fills empty groups with 0, misreads groups that hold nothing
    # below the largest finite number (+inf among them) and skips NaN.
    largest = torch.finfo(src.dtype).max
    ordinary = src < largest  # False for NaN
    value, _ = torch_scatter.scatter_min(
        src.masked_fill(~ordinary, largest), expanded, dim, dim_size=dim_size
    )

    def any_in_group(flag: Tensor) -> Tensor:
        count = torch.zeros_like(value, dtype=torch.int8)
        return count.scatter_reduce(dim, expanded, flag.char(), 'amax') > 0

    rest = torch.full_like(value, float('inf'))
    rest = rest.masked_fill(any_in_group(src == largest), largest)
    value = torch.where(any_in_group(ordinary), value, rest)
    return value.masked_fill(any_in_group(src.isnan()), float('nan'))


def _expand(index: Tensor, src: Tensor, dim: int) -> Tensor:
    view = [1] * src.dim()
    view[dim] = -1
    return index.view(view).expand_as(src)


def _resolve(backend: str | None, src: Tensor) -> str:
    if backend is None:
        fast = src.is_cuda and WITH_TORCH_SCATTER
        return 'torch_scatter' if fast else 'native'
    check_choice('backend', backend, BACKENDS)
    if backend == 'torch_scatter' and not WITH_TORCH_SCATTER:
        raise BCMError(
            "backend 'torch_scatter' needs the package torch-scatter: run "
            "'pip install --no-build-isolation torch-scatter'"
        )
    return backend


def _check(src: Tensor, index: Tensor, dim: int) -> int:
    for name, value in (('src', src), ('index', index)):
        if not isinstance(value, Tensor):
            raise BCMError(f'{name} must be a tensor (got {type(value)})')
        if value.layout != torch.strided or value.is_meta:
            raise BCMError(
                f'{name} must be a dense tensor with data (got layout '
                f'{value.layout} on {value.device})'
            )
    if not src.is_floating_point():
        raise BCMError(f'src must be of floating dtype (got {src.dtype})')
    if src.dim() == 0:
        raise BCMError('src must have at least one dimension (got a scalar)')
    if not isinstance(dim, int) or not -src.dim() <= dim < src.dim():
        raise BCMError(
            f'dim must lie in [{-src.dim()}, {src.dim() - 1}] (got {dim!r})'
        )
    dim %= src.dim()
    if index.dtype != torch.long or index.shape != (src.size(dim),):
        raise BCMError(
            f'index must be a long vector of length {src.size(dim)} (got '
            f'{index.dtype} of shape {tuple(index.shape)})'
        )
    if index.device != src.device:
        raise BCMError(
            f'src and index must be on one device (got {src.device} and '
            f'{index.device})'
        )
    return dim


def _check_groups(index: Tensor, dim_size: int, src: Tensor, dim: int) -> int:
    try:
        dim_size = index_of(dim_size)
    except TypeError:
        raise BCMError(
            f'dim_size must be an integer (got {dim_size!r})'
        ) from None
    if dim_size < 0:
        raise BCMError(f'dim_size must not be negative (got {dim_size})')
    rows = math.prod(src.shape[:dim]) * math.prod(src.shape[dim + 1 :])
    num_bytes = rows * dim_size * (src.element_size() + 8)
    if num_bytes > MAX_BYTES:
        raise BCMError(
            f'{dim_size} groups would take {num_bytes:.1e} bytes: is an entry '
            'of index wrong?'
        )
    bad = (index < 0) | (index >= dim_size)
    if (first := first_true(bad)) is not None:
        raise BCMError(
            f'index must lie in [0, {dim_size}) (got {int(index[first])} at '
            f'position {first})'
        )
    return dim_size

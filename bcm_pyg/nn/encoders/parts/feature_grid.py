import itertools
from collections.abc import Iterable, Sequence
from functools import reduce

import torch
from torch import Tensor
from torch.nn import Parameter

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_int

#: A cell has two to the power of the axes corners.
MAX_AXES = 8

#: Large odd numbers that scatter corners over a table, one per axis.
PRIMES = (
    1,
    2654435761,
    805459861,
    3674653429,
    2097192037,
    1434869437,
    2165219737,
    4244935123,
)


def grid_sizes(name: str, sizes: Sequence[int]) -> tuple[int, ...]:
    """Corners of grids along an axis, checked."""
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise BCMError(f'{name} must be a sequence of ints (got {sizes!r})')
    out = tuple(sizes)
    for size in out:
        check_int(name, size, 2, 2**16)
    return tuple(int(size) for size in out)


class FeatureGrid(torch.nn.Module):
    r"""Learned features at the corners of grids of several resolutions.

    Each grid interpolates the features of the :math:`2^A` corners around a
    position, linearly along every axis. In a grid of more than :obj:`max_rows`
    corners some share features by a hash, as in `"Instant Neural Graphics
    Primitives"` (Müller et al., 2022): roads leave most corners unused.

    Args:
        num_axes (int): Number of axes, at most 8.
        resolutions (Sequence[int]): Corners of each grid along an axis.
        channels (int): Features of a corner.
        max_rows (int): Corners stored of a grid at most.

    Shapes:
        - **input:** :math:`(N, A)` in :math:`[0, 1]`; **output:**
          :math:`(N, L C)`
    """

    def __init__(
        self,
        num_axes: int,
        resolutions: Sequence[int],
        channels: int,
        max_rows: int,
    ) -> None:
        super().__init__()
        self.resolutions = grid_sizes('resolutions', resolutions)
        if not self.resolutions:
            raise BCMError('resolutions must be at least one (got ())')
        check_int('num_axes', num_axes, 1, MAX_AXES)
        check_int('channels', channels, 1)
        check_int('max_rows', max_rows, 1)
        self.num_axes = num_axes
        self.channels = channels
        self.max_rows = max_rows
        self.rows = [min(size**num_axes, max_rows) for size in self.resolutions]
        self.out_channels = len(self.rows) * channels
        self.table = Parameter(torch.empty(sum(self.rows), channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets the features, small compared with coordinates."""
        torch.nn.init.normal_(self.table, std=0.1)

    def forward(self, unit: Tensor) -> Tensor:
        """Features of positions :obj:`[N, A]`, all grids side by side."""
        parts, first = [], 0
        for size, rows in zip(self.resolutions, self.rows, strict=True):
            row, share = self._corners(unit, size, rows)
            features = self.table[row + first]  # [N, 2 ** A, C]
            parts.append((features * share[..., None]).sum(dim=1))
            first += rows
        return torch.cat(parts, dim=1)

    def _corners(
        self, unit: Tensor, size: int, rows: int
    ) -> tuple[Tensor, Tensor]:
        """Table rows of the corners around each position, and their shares."""
        position = unit * (size - 1)
        lower = position.floor().clamp(max=size - 2)
        cube = list(itertools.product((0, 1), repeat=self.num_axes))
        sides = torch.tensor(cube, device=unit.device)  # [2 ** A, A]
        corner = lower.long()[:, None] + sides  # [N, 2 ** A, A]
        fraction = (position - lower)[:, None]
        share = torch.where(sides.bool(), fraction, 1 - fraction).prod(dim=-1)
        if size**self.num_axes <= rows:
            stride = [size**axis for axis in range(self.num_axes)]
            return (corner * corner.new_tensor(stride)).sum(dim=-1), share
        scattered = corner * corner.new_tensor(PRIMES[: self.num_axes])
        row = reduce(torch.bitwise_xor, scattered.unbind(dim=-1))
        return row % rows, share

    def extra_repr(self) -> str:
        """For the representation."""
        return (
            f'num_axes={self.num_axes}, resolutions={list(self.resolutions)}, '
            f'channels={self.channels}'
        )

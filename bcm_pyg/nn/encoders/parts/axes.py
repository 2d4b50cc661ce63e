"""Coordinate axes: codes, bins between bounds, and tables along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_choice, check_int

#: Of tables that start from noise. Less, and what a map knows of single edges
#: comes late; more, and what it knows of the whole does.
RANDOM_STD = 0.5


class Axes:
    r"""Codes on each axis: integers, or positions between two bins.

    Integer coordinates are one code per axis, :obj:`data.coord`. For real ones
    axis :math:`a` has :math:`S_a` equidistant bins between its bounds, and a
    node lies between two of them, :math:`(1 - w) \, b + w \, (b + 1)`, so that
    lookups are continuous. Positions beyond the bounds count as on them.

    Args:
        sizes (Sequence[int]): Number of codes or bins of each axis.
        bounds (Sequence[Tuple[float, float]], optional): Lowest and highest
            position of each axis; :obj:`None` means integer codes. (default:
            :obj:`None`)
    """

    def __init__(
        self,
        sizes: Sequence[int],
        bounds: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        self.bounds = None if bounds is None else finite_bounds(bounds)
        least = 1 if bounds is None else 2
        if not self.sizes or min(self.sizes) < least:
            raise BCMError(
                f'axis sizes must be at least {least} (got {self.sizes})'
            )
        if self.bounds is not None and len(self.bounds) != len(self.sizes):
            raise BCMError(
                f'got {len(self.sizes)} axis sizes but bounds of '
                f'{len(self.bounds)} axes'
            )

    @classmethod
    def from_data(cls, data: Data, bins: int | None = None) -> Axes:
        r"""Axes of a canonical graph.

        Without :obj:`bins` they have the integer codes of the graph. If there
        are none, each axis gets as many bins as twice the :math:`A`-th root of
        :math:`N`, from 16 to 256.
        """
        if bins is None and data.get('coord') is not None:
            return cls((data.coord.max(dim=0).values + 1).tolist())
        num_nodes, num_axes = data.pos.shape
        if bins is None:
            bins = min(max(round(2 * num_nodes ** (1 / num_axes)), 16), 256)
        check_int('bins', bins, 2)
        return cls([bins] * num_axes, bounds_of(data.pos))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def num_blocks(self) -> int:
        """Number of axes, and one more for the product of several."""
        return len(self) + (len(self) > 1)

    def coarser(self, factor: int) -> Axes:
        """The same axes with :obj:`factor` times fewer bins, at least two."""
        sizes = [max(2, -(-size // factor)) for size in self.sizes]
        return Axes(sizes, self.bounds)

    def locate(self, data: Data) -> tuple[Tensor, Tensor | None]:
        """Codes and, for real axes, the share of the next: :obj:`[N, A]`."""
        if self.bounds is not None:
            return self.bins(self.unit_positions(data.pos))
        coord = data.get('coord')
        if coord is None or coord.size(1) != len(self):
            raise BCMError(
                f'the encoder needs integer coordinates on {len(self)} axes, '
                'data.coord: pass planning_graph(data)'
            )
        if not torch.compiler.is_compiling() and len(coord):
            for axis, code in enumerate(coord.max(dim=0).values.tolist()):
                if code >= self.sizes[axis]:
                    raise BCMError(
                        f'coord reaches {code} on axis {axis}, but the encoder '
                        f'was built for {self.sizes[axis]} codes there'
                    )
        return coord, None

    def unit_positions(self, pos: Tensor) -> Tensor:
        """Positions between the bounds of each axis, from 0 to 1."""
        assert self.bounds is not None
        return scaled_positions(pos, self.bounds).clamp(0, 1)

    def bins(self, unit: Tensor) -> tuple[Tensor, Tensor]:
        """Bins below positions in :math:`[0, 1]`, and the share of the next."""
        last = unit.new_tensor(self.sizes) - 1
        position = unit * last
        lower = torch.minimum(position.floor(), last - 1)
        return lower.long(), position - lower

    def config(self) -> dict[str, Any]:
        """The arguments that encoders are built with, of JSON types alone."""
        config = {'axis_sizes': list(self.sizes)}
        if self.bounds is None:
            return config
        return config | {'bounds': [list(bound) for bound in self.bounds]}


def finite_bounds(
    bounds: Sequence[Sequence[float]],
) -> tuple[tuple[float, float], ...]:
    """Lowest and highest position of each axis, checked."""
    out = tuple((float(low), float(high)) for low, high in bounds)
    for axis, (low, high) in enumerate(out):
        # As positions: spans and bins must stay finite in float32.
        most = torch.finfo(torch.float32).max / 4
        if not -most <= low <= high <= most:
            raise BCMError(
                f'bounds must be finite and ascending (axis {axis} has '
                f'{low}, {high}) in float32'
            )
    return out


def bounds_of(pos: Tensor) -> list[tuple[float, float]]:
    """Lowest and highest position of each axis."""
    low, high = pos.aminmax(dim=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def scaled_positions(pos: Tensor, bounds: Sequence[Sequence[float]]) -> Tensor:
    """Positions in units of the bounds: 0 at the lower, 1 at the higher."""
    check_positions(pos, len(bounds))
    low, high = pos.new_tensor(bounds).T
    span = (high - low).clamp(min=torch.finfo(pos.dtype).tiny)
    unit: Tensor = (pos - low) / span
    return unit


def check_positions(pos: Tensor, num_axes: int) -> None:
    """Refuses positions of another dtype or number of axes."""
    if pos.dtype != torch.float32 or pos.size(1) != num_axes:
        raise BCMError(
            f'pos must be float32 of shape [N, {num_axes}] (got {pos.dtype} of '
            f'shape {tuple(pos.shape)}): pass planning_graph(data)'
        )


class AxisTables(torch.nn.ParameterList):
    """A learned table :obj:`[S, C]` along each axis.

    Tables start from waves (:obj:`"smooth"`) or from noise (:obj:`"random"`).
    """

    def __init__(self, sizes: Sequence[int], channels: int, init: str) -> None:
        check_choice('init', init, ('smooth', 'random'))
        check_int('channels', channels, 1)
        super().__init__(torch.empty(size, channels) for size in sizes)
        self.init = init

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Resets the tables; the constructor does not."""
        for table in self:
            if table.is_meta:  # of a map that is loaded: numbers follow
                continue
            if self.init == 'random':
                table.normal_(std=RANDOM_STD)
            else:
                table.copy_(_waves(*table.shape))


def _waves(size: int, channels: int) -> Tensor:
    """Waves of random phase along an axis, the slow ones higher."""
    position = torch.linspace(0, 1, size)[:, None]
    frequency = torch.arange(channels) // 2 + 1
    height = frequency**-0.5
    height = height / height.square().mean().sqrt()
    phase = 2 * math.pi * torch.rand((channels + 1) // 2)
    phase = phase.repeat_interleave(2)[:channels]
    quarter = math.pi / 2 * (torch.arange(channels) % 2)  # cosine, then sine
    return height * (math.pi * frequency * position + phase - quarter).cos()

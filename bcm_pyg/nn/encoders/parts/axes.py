"""Where a node lies on each coordinate axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_int


def finite_bounds(
    bounds: Sequence[Sequence[float]],
) -> tuple[tuple[float, float], ...]:
    """Lowest and highest position of each axis, checked."""
    out = tuple((float(low), float(high)) for low, high in bounds)
    for axis, (low, high) in enumerate(out):
        if not -math.inf < low <= high < math.inf:
            raise BCMError(
                f'bounds must be finite and ascending (axis {axis} has '
                f'{low}, {high})'
            )
    return out


class Axes:
    r"""Codes on each axis: integers, or real numbers between two bins.

    With integer coordinates a node has one code per axis, :obj:`data.coord`.
    With real ones axis :math:`a` is cut into :math:`S_a` equidistant bins
    between its bounds and a node lies between two of them,
    :math:`(1 - w) \, b + w \, (b + 1)`, so that whatever is looked up is
    continuous in position. Positions beyond the bounds count as on them.

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
        r"""Fits a canonical graph.

        Integer codes are taken where the graph has them and no number of bins
        is asked for. Otherwise each axis gets :obj:`bins` bins, by default
        twice the :math:`A`-th root of :math:`N`, at least 16 and at most 256.
        """
        if bins is None and data.get('coord') is not None:
            return cls((data.coord.max(dim=0).values + 1).tolist())
        num_axes = data.pos.size(1)
        if bins is None:
            bins = round(2 * data.pos.size(0) ** (1 / num_axes))
            bins = min(max(bins, 16), 256)
        check_int('bins', bins, 2)
        low, high = data.pos.min(0).values, data.pos.max(0).values
        bounds = list(zip(low.tolist(), high.tolist(), strict=True))
        return cls([bins] * num_axes, bounds)

    def __len__(self) -> int:
        return len(self.sizes)

    def coarser(self, factor: int) -> Axes:
        """The same axes with so many times fewer bins, at least two."""
        sizes = [max(2, -(-size // factor)) for size in self.sizes]
        return Axes(sizes, self.bounds)

    def locate(self, data: Data) -> tuple[Tensor, Tensor | None]:
        """The codes :obj:`[N, A]`, and how far to the next bin :obj:`[N, A]`.

        The second is :obj:`None` for integer codes.
        """
        if self.bounds is None:
            return self._codes(data), None
        return self.between(self.place(data))

    def place(self, data: Data) -> Tensor:
        """Where nodes lie between the bounds of each axis, from 0 to 1."""
        assert self.bounds is not None
        pos = data.pos
        if pos.dtype != torch.float32 or pos.size(1) != len(self):
            raise BCMError(
                f'pos must be float32 of shape [N, {len(self)}] (got '
                f'{pos.dtype} of shape {tuple(pos.shape)}): pass '
                'planning_graph(data)'
            )
        low, high = pos.new_tensor(self.bounds).T
        span = (high - low).clamp(min=torch.finfo(pos.dtype).tiny)
        return ((pos - low) / span).clamp(0, 1)

    def between(self, place: Tensor) -> tuple[Tensor, Tensor]:
        """The bins below places in :math:`[0, 1]`, and how far to the next."""
        last = place.new_tensor(self.sizes) - 1
        place = place * last
        lower = torch.minimum(place.floor(), last - 1)
        return lower.long(), place - lower

    def _codes(self, data: Data) -> Tensor:
        coord = data.get('coord')
        if coord is None or coord.size(1) != len(self):
            raise BCMError(
                f'the encoder needs integer coordinates on {len(self)} axes, '
                'data.coord: pass planning_graph(data)'
            )
        if not torch.compiler.is_compiling():
            largest = coord.max(dim=0).values.tolist() if len(coord) else []
            for axis, code in enumerate(largest):
                if code >= self.sizes[axis]:
                    raise BCMError(
                        f'coord reaches {code} on axis {axis}, but the encoder '
                        f'was built for {self.sizes[axis]} codes there'
                    )
        return coord

    def config(self) -> dict[str, list]:
        """The constructor arguments, of JSON types alone."""
        config: dict[str, list] = {'axis_sizes': list(self.sizes)}
        if self.bounds is not None:
            config['bounds'] = [list(bound) for bound in self.bounds]
        return config

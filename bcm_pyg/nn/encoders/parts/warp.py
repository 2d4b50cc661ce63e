from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bcm_pyg.errors import BCMError

from .axes import check_positions, finite_bounds

#: Share of the bins that follows the nodes; the rest is evenly spaced.
DENSITY_SHARE = 0.5


class AxisWarp(torch.nn.Module):
    r"""Stretches each axis where nodes are dense, so that bins are used evenly.

    An increasing, piecewise linear function through the knots of an axis maps
    positions to :math:`[0, 1]`. Knots follow half the quantiles of the nodes
    and half plain distance: a town gets more bins than a forest, yet no stretch
    of road vanishes. Positions beyond the outer knots count as on them.

    Args:
        num_axes (int): Number of axes.
        num_knots (int): Knots on each axis, at least 2.
        bounds (Sequence[Tuple[float, float]], optional): First and last knot of
            each axis; the others are evenly spaced. (default: 0 and 1)
    """

    knots: Tensor

    def __init__(
        self,
        num_axes: int,
        num_knots: int,
        bounds: Sequence[Sequence[float]] | None = None,
    ) -> None:
        super().__init__()
        if num_axes < 1 or num_knots < 2:
            raise BCMError(
                'a warp needs at least one axis and two knots on it (got '
                f'{num_axes} and {num_knots})'
            )
        bounds = [(0, 1)] * num_axes if bounds is None else bounds
        if len(bounds) != num_axes:
            raise BCMError(f'got {num_axes} axes but bounds of {len(bounds)}')
        low, high = torch.tensor(finite_bounds(bounds)).T[..., None]
        even = torch.linspace(0, 1, num_knots)
        self.register_buffer('knots', torch.lerp(low, high, even))  # [A, K]

    @classmethod
    def from_positions(cls, pos: Tensor, num_knots: int) -> AxisWarp:
        """Knots for nodes at these positions, :obj:`[N, A]`."""
        warp = cls(pos.size(1), num_knots)
        columns = pos.detach().cpu().double().numpy().T
        knots = np.stack([_knots(column, num_knots) for column in columns])
        warp.knots.copy_(torch.from_numpy(knots))
        return warp.to(pos.device)

    def forward(self, pos: Tensor) -> Tensor:
        """Positions :obj:`[N, A]`, mapped to :math:`[0, 1]`."""
        num_axes, num_knots = self.knots.shape
        check_positions(pos, num_axes)
        position = pos.T.contiguous()
        upper = torch.searchsorted(self.knots, position, right=True)
        upper = upper.clamp(1, num_knots - 1)
        left = self.knots.gather(1, upper - 1)
        span = self.knots.gather(1, upper) - left
        tiny = torch.finfo(pos.dtype).tiny  # an axis on which all nodes agree
        share = ((position - left) / span.clamp(min=tiny)).clamp(0, 1)
        return ((upper - 1 + share) / (num_knots - 1)).T

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_axes={self.knots.size(0)}, num_knots={self.knots.size(1)}'


def _knots(column: np.ndarray, num_knots: int) -> np.ndarray:
    """Knots of one axis, ascending, from the lowest to the highest node."""
    position, count = np.unique(column, return_counts=True)
    low, high = position[0], position[-1]
    if low == high:
        return np.full(num_knots, low)
    # Nodes at a position count half to its left and half to its right.
    below = np.cumsum(count) - count / 2
    quantile = (below - below[0]) / (below[-1] - below[0])
    even = (position - low) / (high - low)
    rank = (1 - DENSITY_SHARE) * even + DENSITY_SHARE * quantile
    even = np.linspace(0, 1, num_knots)
    knots: np.ndarray = np.interp(even, rank, position)
    return knots

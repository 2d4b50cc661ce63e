from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .axes import Axes
from .base import NodeEncoder


class KHotEncoder(NodeEncoder):
    r"""One code per axis, side by side,

    .. math::
        \psi(x_n) = [\mathbf{e}_{r(n)} ; \mathbf{e}_{c(n)}],

    an additive code without parameters of its own. For real coordinates the two
    nearest bins of each axis share the one.

    Args:
        axis_sizes (Sequence[int]): Number of distinct codes, or of bins, on
            each axis.
        bounds (Sequence[Tuple[float, float]], optional): Lowest and highest
            position of each axis; without them coordinates are integer codes.
            (default: :obj:`None`)

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, \sum_a S_a)`, sparse
    """

    per_node = True

    def __init__(
        self,
        axis_sizes: Sequence[int],
        bounds: Sequence[Sequence[float]] | None = None,
    ) -> None:
        super().__init__()
        self.axes = Axes(axis_sizes, bounds)
        self.out_channels = sum(self.axes.sizes)

    @classmethod
    def from_data(
        cls, data: Data, bins: int | None = None, **kwargs: Any
    ) -> Self:
        """One code per integer coordinate, or :obj:`bins` per real axis."""
        axes = Axes.from_data(data, bins)
        return cls(axes.sizes, bounds=axes.bounds, **kwargs)

    def _entries(self, data: Data) -> tuple[Tensor, Tensor]:
        """Columns and values of the nonzeros, both :obj:`[N, A or 2 A]`."""
        lower, fraction = self.axes.locate(data)
        sizes = lower.new_tensor(self.axes.sizes)
        column = lower + sizes.cumsum(0) - sizes
        if fraction is None:
            return column, torch.ones_like(column, dtype=torch.float32)
        column = torch.cat([column, column + 1], dim=1)
        return column, torch.cat([1 - fraction, fraction], dim=1)

    def forward(self, data: Data) -> Tensor:
        """The codes as a sparse matrix."""
        column, value = self._entries(data)
        rows = torch.arange(column.size(0), device=column.device)
        rows = rows.repeat_interleave(column.size(1))
        return torch.sparse_coo_tensor(
            torch.stack([rows, column.reshape(-1)]),
            value.reshape(-1),
            (column.size(0), self.out_channels),
            check_invariants=True,
        )

    def project(self, data: Data, weight: Tensor) -> Tensor:
        """The sum of a few columns of the weight for each node."""
        column, value = self._entries(data)
        return (weight.T[column] * value[..., None]).sum(dim=1)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        return dict(self.axes.config())

    def extra_repr(self) -> str:
        """For the representation."""
        kind = 'codes' if self.axes.bounds is None else 'bins'
        return f'{kind}={list(self.axes.sizes)}'

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .base import NodeEncoder, node_ids
from .parts.axes import Axes
from .parts.coincident import CoincidentCodes, visible_positions


class KHotEncoder(NodeEncoder):
    r"""One code per axis, side by side,

    .. math::
        \psi(x_n) = [\mathbf{e}_{r(n)} ; \mathbf{e}_{c(n)}],

    without parameters. For real coordinates the two nearest bins of each axis
    share the one. All but the first node at a position get one more code
    (:class:`~bcm_pyg.nn.encoders.parts.CoincidentCodes`).

    Args:
        axis_sizes (Sequence[int]): Number of distinct codes, or of bins, on
            each axis.
        bounds (Sequence[Tuple[float, float]], optional): Lowest and highest
            position of each axis; without them coordinates are integer codes.
            (default: :obj:`None`)
        coincident (Tuple[int, int], optional): Number of nodes whose position
            is taken already, and of codes for them. (default: :obj:`None`)

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, \sum_a S_a)`, sparse, and wider
          if nodes coincide
    """

    per_node = True

    def __init__(
        self,
        axis_sizes: Sequence[int],
        bounds: Sequence[Sequence[float]] | None = None,
        coincident: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.axes = Axes(axis_sizes, bounds)
        self.out_channels = sum(self.axes.sizes)
        self.coincident = None
        if coincident is not None:
            self.coincident = CoincidentCodes(*coincident)
            self.out_channels += self.coincident.num_codes

    @classmethod
    def from_data(
        cls, data: Data, bins: int | None = None, **kwargs: Any
    ) -> Self:
        """One code per integer coordinate, or :obj:`bins` per real axis."""
        axes = Axes.from_data(data, bins)
        position = data.get('coord')
        if axes.bounds is not None:
            unit = axes.unit_positions(data.pos)
            position = visible_positions(unit, axes.sizes)
        codes = CoincidentCodes.from_positions(position)
        if codes is not None:
            kwargs['coincident'] = (codes.nodes.numel(), codes.num_codes)
        out = cls(axes.sizes, bounds=axes.bounds, **kwargs)
        out.coincident = codes
        return out

    def _entries(self, data: Data) -> tuple[Tensor, Tensor]:
        """Columns and values of the entries of each node."""
        lower, fraction = self.axes.locate(data)
        sizes = lower.new_tensor(self.axes.sizes)
        column = lower + sizes.cumsum(0) - sizes
        value = torch.ones_like(column, dtype=torch.float32)
        if fraction is not None:
            column = torch.cat([column, column + 1], dim=1)
            value = torch.cat([1 - fraction, fraction], dim=1)
        if self.coincident is not None:
            code, found = self.coincident(node_ids(data))
            code = code + sum(self.axes.sizes)
            column = torch.cat([column, code[:, None]], dim=1)
            value = torch.cat([value, found[:, None].to(value)], dim=1)
        return column, value

    def forward(self, data: Data) -> Tensor:
        """The codes as a sparse matrix."""
        column, value = self._entries(data)
        node = torch.arange(column.size(0), device=column.device)
        node = node.repeat_interleave(column.size(1))
        return torch.sparse_coo_tensor(
            torch.stack([node, column.flatten()]),
            value.flatten(),
            (column.size(0), self.out_channels),
            check_invariants=True,
        )

    def project(self, data: Data, weight: Tensor) -> Tensor:
        """The sum of a few columns of the weight for each node."""
        column, value = self._entries(data)
        return (weight.T[column] * value[..., None]).sum(dim=1)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        config, codes = self.axes.config(), self.coincident
        if codes is not None:
            config['coincident'] = [codes.nodes.numel(), codes.num_codes]
        return config

    def extra_repr(self) -> str:
        """For the representation."""
        kind = 'codes' if self.axes.bounds is None else 'bins'
        return f'{kind}={list(self.axes.sizes)}'

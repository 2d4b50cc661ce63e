from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .base import NodeEncoder, node_ids
from .parts.coincident import (
    COINCIDENT_CHANNELS,
    CoincidentRows,
    visible_positions,
)
from .parts.feature_grid import FeatureGrid, grid_sizes
from .parts.warp import AxisWarp

#: Corners of each grid along an axis, by default.
RESOLUTIONS = (8, 16, 32, 64)


class GridEncoder(NodeEncoder):
    r"""Features at the corners of grids of several resolutions,

    .. math::
        \psi(x_n) = [\mathbf{u}_n ; G_1(\mathbf{u}_n) ; G_2(\mathbf{u}_n) ;
        \ldots],

    of the position :math:`\mathbf{u}_n` of a node
    (:class:`~bcm_pyg.nn.encoders.parts.FeatureGrid`). Every region has features
    of its own, unlike with axis tables. Axes are stretched where nodes are
    dense (:class:`~bcm_pyg.nn.encoders.parts.AxisWarp`), and nodes at the same
    position have vectors
    (:class:`~bcm_pyg.nn.encoders.parts.CoincidentRows`).

    Args:
        num_axes (int): Number of axes, at most 8.
        resolutions (Sequence[int], optional): Corners of each grid along an
            axis. (default: :obj:`(8, 16, 32, 64)`)
        channels (int, optional): Features of a corner. (default: :obj:`8`)
        max_rows (int, optional): Corners stored of a grid at most. (default:
            :obj:`4096`)
        knots (int, optional): Knots of each axis, which :meth:`from_data` fits
            to a graph. (default: :obj:`64`)
        coincident (int, optional): Number of nodes that get a vector of their
            own. (default: :obj:`0`)

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, A + L C)`, and 8 more if nodes
          coincide
    """

    per_node = True

    def __init__(
        self,
        num_axes: int,
        resolutions: Sequence[int] = RESOLUTIONS,
        channels: int = 8,
        max_rows: int = 4096,
        knots: int = 64,
        coincident: int = 0,
    ) -> None:
        super().__init__()
        self.num_axes = num_axes
        self.channels = channels
        self.max_rows = max_rows
        self.grid = FeatureGrid(num_axes, resolutions, channels, max_rows)
        self.warp = AxisWarp(num_axes, knots)  # between 0 and 1
        self.coincident = CoincidentRows(coincident) if coincident else None
        self.out_channels = num_axes + self.grid.out_channels
        self.out_channels += COINCIDENT_CHANNELS * bool(coincident)
        self.reset_parameters()

    @classmethod
    def from_data(
        cls,
        data: Data,
        knots: int = 64,
        resolutions: Sequence[int] = RESOLUTIONS,
        **kwargs: Any,
    ) -> Self:
        """With knots for the nodes of the graph."""
        warp = AxisWarp.from_positions(data.pos, knots)
        num_axes = data.pos.size(1)
        finest = max(grid_sizes('resolutions', resolutions), default=2)
        visible = visible_positions(warp(data.pos), [finest] * num_axes)
        rows = CoincidentRows.from_positions(visible)
        kwargs |= {'resolutions': resolutions, 'knots': knots}
        num_rows = 0 if rows is None else rows.nodes.numel()
        out = cls(num_axes, coincident=num_rows, **kwargs)
        out.warp, out.coincident = warp, rows
        return out

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`."""
        unit = self.warp(data.pos)
        parts = [2 * unit - 1, self.grid(unit)]
        if self.coincident is not None:
            parts.append(self.coincident(node_ids(data)))
        return torch.cat(parts, dim=1)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        rows = self.coincident
        return {
            'num_axes': self.num_axes,
            'resolutions': list(self.grid.resolutions),
            'channels': self.channels,
            'max_rows': self.max_rows,
            'knots': self.warp.knots.size(1),
            'coincident': 0 if rows is None else rows.nodes.numel(),
        }

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.grid.extra_repr()})'

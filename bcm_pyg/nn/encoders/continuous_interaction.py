from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.utils import check_int

from .base import NodeEncoder, node_ids
from .interaction import bind_axes
from .parts.axes import Axes, AxisTables
from .parts.coincident import (
    COINCIDENT_CHANNELS,
    CoincidentRows,
    visible_positions,
)
from .parts.feature_grid import FeatureGrid, grid_sizes
from .parts.warp import AxisWarp

#: How many times fewer bins a level has than the one before.
COARSENING = 4

#: More levels than any table can be cut into.
MAX_LEVELS = 16

#: Features of a corner of a grid, and corners stored of a grid at most.
GRID_CHANNELS, GRID_ROWS = 4, 4096


class ContinuousInteractionEncoder(NodeEncoder):
    r"""The interaction encoder for real coordinates.

    As in :class:`~bcm_pyg.nn.InteractionEncoder`, per-axis embeddings are bound
    by their product; here they are interpolated between bins. There may be
    several levels, each of four times fewer bins than the one before: coarse
    ones see regions, fine ones streets. Small grids add what is particular to a
    region (:class:`~bcm_pyg.nn.encoders.parts.FeatureGrid`). Knots stretch the
    axes where nodes are dense (:class:`~bcm_pyg.nn.encoders.parts.AxisWarp`).
    All but the first node at a position get a short learned vector of their own
    (:class:`~bcm_pyg.nn.encoders.parts.CoincidentRows`).

    Args:
        axis_sizes (Sequence[int]): Bins of the finest level on each axis.
        bounds (Sequence[Tuple[float, float]]): Lowest and highest position of
            each axis.
        channels (int, optional): Embedding size per axis and level. (default:
            :obj:`64`)
        init (str, optional): :obj:`"smooth"` or :obj:`"random"`, as in
            :class:`~bcm_pyg.nn.InteractionEncoder`. (default:
            :obj:`"smooth"`)
        levels (int, optional): Number of resolutions. (default: :obj:`1`)
        knots (int, optional): Knots of each axis; 0 for equidistant bins.
            (default: :obj:`0`)
        grids (Sequence[int], optional): Resolutions of grids; each has 4
            channels and stores at most 4096 corners. (default: :obj:`()`)
        coincident (int, optional): Number of nodes that get a vector of their
            own. (default: :obj:`0`)

    Shapes:
        - **input:** positions :math:`(|\mathcal{V}|, A)`; **output:** for each
          level as wide as :class:`~bcm_pyg.nn.InteractionEncoder`, 4 more for
          each grid, and 8 more if nodes coincide
    """

    per_node = True

    def __init__(
        self,
        axis_sizes: Sequence[int],
        bounds: Sequence[Sequence[float]],
        channels: int = 64,
        init: str = 'smooth',
        levels: int = 1,
        knots: int = 0,
        grids: Sequence[int] = (),
        coincident: int = 0,
    ) -> None:
        super().__init__()
        check_int('levels', levels, 1, MAX_LEVELS)
        check_int('knots', knots, 0)
        grids = grid_sizes('grids', grids)
        self.axes = Axes(axis_sizes, bounds)
        self.levels = [
            self.axes.coarser(COARSENING**level) for level in range(levels)
        ]
        self.channels = channels
        self.init = init
        num_axes = len(self.axes)
        self.out_channels = levels * self.axes.num_blocks * channels
        sizes = [size for axes in self.levels for size in axes.sizes]
        self.tables = AxisTables(sizes, channels, init)
        self.warp = AxisWarp(num_axes, knots, bounds) if knots else None
        self.grid = None
        if grids:
            self.grid = FeatureGrid(num_axes, grids, GRID_CHANNELS, GRID_ROWS)
            self.out_channels += self.grid.out_channels
        self.coincident = CoincidentRows(coincident) if coincident else None
        self.out_channels += COINCIDENT_CHANNELS * bool(coincident)
        self.reset_parameters()

    @classmethod
    def from_data(
        cls,
        data: Data,
        bins: int | None = None,
        levels: int | None = None,
        knots: int = 64,
        grids: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> Self:
        r"""An encoder of the right size for a canonical graph.

        Args:
            data (torch_geometric.data.Data): The graph.
            bins (int, optional): Bins of an axis at the finest level. (default:
                twelve times the :math:`A`-th root of :math:`N`, from 16 to 512)
            levels (int, optional): Number of resolutions. (default: as many as
                have at least 6 bins)
            knots (int, optional): Knots of an axis. (default: :obj:`64`)
            grids (Sequence[int], optional): Resolutions of grids. (default: the
                two finest of 8, 16, 32 and 64 that are stored in full and not
                finer than twice the :math:`A`-th root of :math:`N`)
            **kwargs (optional): Other constructor arguments. The levels share
                64 channels an axis by default, at least 16 each.
        """
        # On roads of 1,700 to 9,000 nodes finer tables, coarse levels and small
        # grids each lowered the error of distances; more channels did not.
        pos = data.pos
        num_nodes, num_axes = pos.shape
        root = num_nodes ** (1 / num_axes)
        bins = min(max(round(12 * root), 16), 512) if bins is None else bins
        axes = Axes.from_data(data, bins)
        if levels is None:
            levels = 1
            while bins // COARSENING**levels >= 6:
                levels += 1
        check_int('levels', levels, 1, MAX_LEVELS)
        kwargs.setdefault('channels', max(16, 64 // levels))
        if grids is None:
            stored = [n for n in (8, 16, 32, 64) if n**num_axes <= GRID_ROWS]
            fine = [n for n in stored if n <= 2 * root][-2:]
            grids = fine if num_axes > 1 else []  # its table is a grid already
        check_int('knots', knots, 0)
        warp = AxisWarp.from_positions(pos, knots) if knots else None
        unit = axes.unit_positions(pos) if warp is None else warp(pos)
        visible = visible_positions(unit, axes.sizes)
        rows = CoincidentRows.from_positions(visible)
        num_rows = 0 if rows is None else rows.nodes.numel()
        kwargs |= {'levels': levels, 'knots': knots, 'grids': grids}
        out = cls(**axes.config(), coincident=num_rows, **kwargs)
        out.warp, out.coincident = warp, rows
        return out

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`."""
        warp = self.warp or self.axes.unit_positions
        unit = warp(data.pos)
        parts: list[Tensor] = []
        tables, num_axes = list(self.tables), len(self.axes)
        for level, axes in enumerate(self.levels):
            own = tables[level * num_axes : (level + 1) * num_axes]
            parts += bind_axes(own, *axes.bins(unit))
        if self.grid is not None:
            parts.append(self.grid(unit))
        if self.coincident is not None:
            parts.append(self.coincident(node_ids(data)))
        return torch.cat(parts, dim=-1)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        config = self.axes.config()
        config |= {'channels': self.channels, 'init': self.init}
        if len(self.levels) > 1:
            config['levels'] = len(self.levels)
        if self.warp is not None:
            config['knots'] = self.warp.knots.size(1)
        if self.grid is not None:
            config['grids'] = list(self.grid.resolutions)
        if self.coincident is not None:
            config['coincident'] = self.coincident.nodes.numel()
        return config

    def __repr__(self) -> str:
        sizes = [list(axes.sizes) for axes in self.levels]
        bins = sizes[0] if len(sizes) == 1 else sizes
        shown = {'bins': bins, **self.config()}
        for name in ('axis_sizes', 'bounds', 'init', 'levels'):
            shown.pop(name, None)
        settings = [f'{name}={value}' for name, value in shown.items()]
        return f'{type(self).__name__}({", ".join(settings)})'

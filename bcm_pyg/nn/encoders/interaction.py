from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import Parameter
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_choice, check_int

from .axis_table import INITS, draw_table, look_up
from .base import NodeEncoder
from .parts.axes import Axes
from .parts.coincident import COINCIDENT_CHANNELS, CoincidentRows, seen_places
from .parts.feature_grid import FeatureGrid, grid_sizes
from .parts.warp import AxisWarp
from .resolution import (
    COARSENING,
    GRID_CHANNELS,
    GRID_ROWS,
    KNOTS,
    MAX_LEVELS,
    default_bins,
    default_grids,
    default_levels,
)
from .rows import node_ids


class InteractionEncoder(NodeEncoder):
    r"""Binds per-axis embeddings with their Hadamard product,

    .. math::
        \psi(x_n) = [\mathbf{r}_n ; \mathbf{c}_n ; \mathbf{r}_n \odot
        \mathbf{c}_n],

    so that parameters grow with the axis lengths and not with
    :math:`|\mathcal{V}|`. With three or more axes the embedding holds every
    axis and the one product over all of them; with one axis just that axis.

    For real coordinates the embedding of an axis is interpolated between bins,
    so that it is continuous in position. There may be several levels, each of
    four times fewer bins than the one before, with tables and products of their
    own, side by side: coarse products carry the shape of the land, fine ones
    its streets. A product binds axes by a few numbers; small grids may add what
    is particular to a region
    (:class:`~bcm_pyg.nn.encoders.parts.feature_grid.FeatureGrid`). Knots stretch the
    axes where nodes are dense (:class:`~bcm_pyg.nn.encoders.parts.warp.AxisWarp`).

    Nodes at one place would be one and the same to coordinates. All but the
    first of them get a short learned row of their own
    (:class:`~bcm_pyg.nn.encoders.parts.coincident.CoincidentRows`), the only
    parameters that are per node; graphs without such nodes have none.

    Args:
        axis_sizes (Sequence[int]): Number of distinct codes, or of bins of the
            finest level, on each axis.
        channels (int, optional): Embedding size per axis and level. (default:
            :obj:`64`)
        bounds (Sequence[Tuple[float, float]], optional): Lowest and highest
            position of each axis; without them coordinates are integer codes.
            (default: :obj:`None`)
        init (str, optional): :obj:`"smooth"` starts from waves along each axis,
            so that near nodes are alike, :obj:`"random"` from noise, as the
            paper. (default: :obj:`"smooth"`)
        levels (int, optional): Number of resolutions, for real coordinates.
            (default: :obj:`1`)
        knots (int, optional): Knots of each real axis; 0 for equidistant bins.
            (default: :obj:`0`)
        grids (Sequence[int], optional): Resolutions of grids, for real
            coordinates; each has 4 channels and at most 4096 rows. (default:
            :obj:`()`)
        coincident (int, optional): Number of nodes that get a row of their own.
            (default: :obj:`0`)

    Shapes:
        - **input:** codes :math:`(|\mathcal{V}|, A)`; **output:**
          :math:`(|\mathcal{V}|, 3 \cdot C)` for :math:`A = 2`,
          :math:`(|\mathcal{V}|, (A + 1) \cdot C)` for :math:`A > 2`, for each
          level, 4 more for each grid, and 8 more where nodes share places
    """

    per_node = True

    def __init__(
        self,
        axis_sizes: Sequence[int],
        channels: int = 64,
        bounds: Sequence[Sequence[float]] | None = None,
        init: str = 'smooth',
        levels: int = 1,
        knots: int = 0,
        grids: Sequence[int] = (),
        coincident: int = 0,
    ) -> None:
        super().__init__()
        check_choice('init', init, INITS)
        check_int('channels', channels, 1)
        check_int('levels', levels, 1, MAX_LEVELS)
        check_int('knots', knots, 0)
        grids = grid_sizes('grids', grids)
        self.axes = Axes(axis_sizes, bounds)
        if bounds is None and (levels > 1 or knots > 0 or grids):
            raise BCMError(
                'levels, knots and grids are for real coordinates: give bounds '
                'too'
            )
        self.levels = [
            self.axes.coarser(COARSENING**level) for level in range(levels)
        ]
        self.channels = channels
        self.init = init
        num_axes = len(self.axes)
        blocks = num_axes + (1 if num_axes > 1 else 0)
        self.out_channels = levels * blocks * channels
        self.tables = torch.nn.ParameterList(
            Parameter(torch.empty(size, channels))
            for axes in self.levels
            for size in axes.sizes
        )
        self.warp = None
        if knots:
            self.warp = AxisWarp(num_axes, knots, self.axes.bounds)
        self.grid = None
        if grids:
            self.grid = FeatureGrid(num_axes, grids, GRID_CHANNELS, GRID_ROWS)
            self.out_channels += self.grid.out_channels
        self.coincident = None
        if coincident:
            self.coincident = CoincidentRows(coincident)
            self.out_channels += COINCIDENT_CHANNELS
        self.reset_parameters()

    @classmethod
    def from_data(
        cls,
        data: Data,
        bins: int | None = None,
        levels: int | None = None,
        knots: int | None = None,
        grids: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> Self:
        r"""An encoder of the right size for a canonical graph.

        Integer codes are taken where the graph has them and no number of bins
        is asked for: one row per code. Otherwise axes are real.

        Args:
            data (torch_geometric.data.Data): The graph.
            bins (int, optional): Bins of a real axis at the finest level.
                (default: :func:`~bcm_pyg.nn.encoders.resolution.default_bins`)
            levels (int, optional): Number of resolutions. (default: as many as
                have at least 6 bins)
            knots (int, optional): Knots of a real axis. (default: :obj:`64`)
            grids (Sequence[int], optional): Resolutions of grids. (default:
                :func:`~bcm_pyg.nn.encoders.resolution.default_grids`)
            **kwargs (optional): Further constructor arguments. By default there
                are 64 channels an axis, shared among the levels, at least 16
                each.
        """
        if bins is None and data.get('coord') is not None:
            _refuse(levels=levels, knots=knots, grids=grids)
            axes, warp, places = Axes.from_data(data), None, data.coord
            levels, knots, grids = 1, 0, ()
        else:
            pos = data.pos
            bins = default_bins(*pos.shape) if bins is None else bins
            axes = Axes.from_data(data, bins)
            levels = default_levels(bins) if levels is None else levels
            check_int('levels', levels, 1, MAX_LEVELS)
            kwargs.setdefault('channels', max(16, 64 // levels))
            grids = default_grids(*pos.shape) if grids is None else grids
            knots = KNOTS if knots is None else knots
            check_int('knots', knots, 0)
            warp = AxisWarp.from_positions(pos, knots) if knots else None
            place = axes.place(data) if warp is None else warp(pos)
            places = seen_places(place, axes.sizes)
        rows = CoincidentRows.from_places(places)
        out = cls(
            axes.sizes,
            bounds=axes.bounds,
            levels=levels,
            knots=knots,
            grids=grids,
            coincident=0 if rows is None else rows.nodes.numel(),
            **kwargs,
        )
        out.warp, out.coincident = warp, rows
        return out

    def reset_parameters(self) -> None:
        """Draws the tables anew."""
        for table in self.tables:
            draw_table(table, self.init)
        for part in (self.grid, self.coincident):
            if part is not None:
                part.reset_parameters()

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`."""
        place = self._place(data)
        parts: list[Tensor] = []
        tables = iter(self.tables)
        for axes in self.levels:
            lower, fraction = (
                axes.locate(data) if place is None else axes.between(place)
            )
            level = [
                look_up(
                    next(tables),
                    lower[:, axis],
                    None if fraction is None else fraction[:, axis],
                )
                for axis in range(len(axes))
            ]
            if len(level) > 1:
                product = level[0]
                for part in level[1:]:
                    product = product * part
                level.append(product)
            parts += level
        if self.grid is not None:
            parts.append(self.grid(place))
        if self.coincident is not None:
            parts.append(self.coincident(node_ids(data)))
        return torch.cat(parts, dim=-1)

    def _place(self, data: Data) -> Tensor | None:
        """Where nodes lie on real axes, from 0 to 1."""
        if self.axes.bounds is None:
            return None
        if self.warp is None:
            return self.axes.place(data)
        return self.warp(data.pos)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        config = {
            **self.axes.config(),
            'channels': self.channels,
            'init': self.init,
        }
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
        kind = 'codes' if self.axes.bounds is None else 'bins'
        sizes = [list(axes.sizes) for axes in self.levels]
        shown = sizes[0] if len(sizes) == 1 else sizes
        more = ''.join(
            f', {name}={value}'
            for name, value in self.config().items()
            if name in ('knots', 'grids', 'coincident')
        )
        return (
            f'{type(self).__name__}({kind}={shown}, '
            f'channels={self.channels}{more})'
        )


def _refuse(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise BCMError(
                f'{name} is for real coordinates, but the graph has integer '
                'codes: give a number of bins too'
            )

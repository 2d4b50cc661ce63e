"""What all pictures of a graph share: axes, the graph itself, marks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import edge_lines, planning_graph
from bcm_pyg.graph.geometry import matrix_axes
from bcm_pyg.graph.planning_graph import check_pos

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WALL = '#3b4a5e'
STREET = '#c3cad1'
#: From cheap to expensive, pale enough for routes to stand out.
CHEAP, DEAR = '#f6f7f8', '#8ea3b3'
#: The largest side of a new figure and the most of its shape, in inches.
SIDE, MOST_ASPECT = 6.0, 2.4


class Canvas:
    """Axes on which a graph is drawn, with line widths that fit it.

    Args:
        data (torch_geometric.data.Data): The graph; at least two axes.
        ax (matplotlib.axes.Axes, optional): Where to draw.
        cost (str, optional): The costs, as in
            :func:`~bcm_pyg.planning_graph`.
    """

    def __init__(
        self, data: Data, ax: Axes | None, cost: str | None = None
    ) -> None:
        self.data = data = planning_graph(data, cost=cost).cpu()
        check_pos(data, 'a picture')
        if data.pos.size(1) < 2:
            raise BCMError('a picture needs at least two coordinate axes')
        axes = matrix_axes(data) if data.pos.size(1) == 2 else None
        self.is_grid = axes is not None
        if axes is None:
            #: Where nodes are drawn, [N, 2].
            self.xy = data.pos[:, :2].double().numpy()
            low, high = self.xy.min(axis=0), self.xy.max(axis=0)
            pad = 0.04 * max(*(high - low), 1e-9)
            self.low, self.high = low - pad, high + pad
        else:
            #: Row and column of each node.
            self.cell = data.coord[:, axes].numpy()
            size = data.get('grid_size')
            size = (
                self.cell.max(axis=0) + 1 if size is None else size[0][[*axes]]
            )
            #: Rows and columns, walls at the rim included.
            self.shape = tuple(size.tolist())
            self.xy = self.cell[:, ::-1].astype(float)
            self.low = np.array([-0.5, -0.5])
            self.high = self.low + self.shape[::-1]
        self.is_new = ax is None
        self.ax = self._new_axes() if ax is None else ax
        self.ax.set_aspect('equal')
        if self.is_new:
            self.ax.set_xlim(self.low[0], self.high[0])
            self.ax.set_ylim(self.low[1], self.high[1])
        if self.is_grid and not self.ax.yaxis_inverted():
            self.ax.invert_yaxis()

    def _new_axes(self) -> Any:
        import matplotlib.pyplot as plt

        wide, high = self.high - self.low
        aspect = min(max(wide / high, 1 / MOST_ASPECT), MOST_ASPECT)
        size = SIDE * min(1, aspect) + 0.8, SIDE * min(1, 1 / aspect) + 0.8
        return plt.subplots(figsize=size, layout='constrained')[1]

    @property
    def points(self) -> float:
        """Points, the unit of line widths, in a unit of the graph."""
        box = self.ax.get_window_extent()
        span = abs(np.subtract(*self.ax.get_xlim()))
        tall = abs(np.subtract(*self.ax.get_ylim()))
        dots = min(box.width / span, box.height / tall)
        return float(72 * dots / self.ax.figure.dpi)

    @property
    def width(self) -> float:
        """Of a route: on a grid never as wide as a cell, so that it does not
        cover a wall.
        """
        return min(3.0, 0.4 * self.points) if self.is_grid else 2.6

    @property
    def free(self) -> np.ndarray:
        """Which nodes are not walls, bool [N]."""
        blocked = self.data.get('blocked')
        if blocked is None:
            return np.ones(len(self.xy), dtype=bool)
        free: np.ndarray = ~blocked.numpy()
        return free

    def draw_graph(self, unit: str, colorbar: bool) -> None:
        """Cells darker where they cost more, walls dark; streets pale."""
        if self.is_grid:
            shown = self._draw_cells()
            if shown is not None and colorbar:
                label = f'edge cost ({unit})' if unit else 'edge cost'
                self.colorbar(shown, label)
        else:
            self.draw_edges(color=STREET, linewidths=0.7)

    def _draw_cells(self) -> Any:
        """Cells and the edges between them, or cells alone where costs are
        lengths. Returns what colours stand for costs, if any do.
        """
        from matplotlib.colors import LinearSegmentedColormap

        data, cell = self.data, self.cell
        rows, columns = self.shape
        cost = np.full((2 * rows - 1, 2 * columns - 1), np.nan)
        tail, head = data.edge_index.numpy()
        price = data.edge_cost.double().numpy()
        run = np.linalg.norm(self.xy[head] - self.xy[tail], axis=1)
        is_length = bool(np.ptp(price / run) <= 1e-4 * (price / run).max())
        # A cell shows the mean of its edges, an edge itself.
        total = np.bincount(tail, price, minlength=len(cell))
        degree = np.bincount(tail, minlength=len(cell))
        free = self.free
        mean = (total / np.maximum(degree, 1))[free]
        cost[tuple(2 * cell[free].T)] = 0 if is_length else mean
        middle = tuple((cell[tail] + cell[head]).T)
        cost[middle] = 0 if is_length else price
        # A corner between four cells that has no edge of its own.
        corner = cost[1::2, 1::2]
        around = cost[:-2:2, 1::2] + cost[2::2, 1::2]
        around = (around + cost[1::2, :-2:2] + cost[1::2, 2::2]) / 4
        corner[:] = np.where(np.isnan(corner), around, corner)
        colors = LinearSegmentedColormap.from_list('cost', (CHEAP, DEAR))
        image = self.ax.imshow(
            cost,
            cmap=colors.with_extremes(bad=WALL),
            norm=_scale(price) if not is_length else None,
            extent=(-0.25, columns - 0.75, rows - 0.75, -0.25),
            interpolation='none',
        )
        self.ax.set_facecolor(WALL)
        return None if is_length else image

    def draw_edges(self, **style: Any) -> Any:
        """The edges with their bends, one of each pair there and back."""
        from matplotlib.collections import LineCollection

        tail, head = self.data.edge_index.numpy()
        size = len(self.xy)
        pair = np.minimum(tail, head) * size + np.maximum(tail, head)
        edges = np.unique(pair, return_index=True)[1]
        values = style.pop('values', None)
        begin, points = edge_lines(self.data, edges, self.xy)
        lines = LineCollection(np.split(points, begin[1:-1]), **style)
        if values is not None:
            lines.set_array((values[tail] + values[head])[edges] / 2)
        return self.ax.add_collection(lines, autolim=self.is_new)

    def mark(self, start: int | None, goal: int | None) -> None:
        """A disc at the start, a star at the goal; not clipped."""
        size = max(5.0, min(9.0, 2.6 * self.width))
        for node, marker, scale in ((start, 'o', 1.0), (goal, '*', 1.9)):
            if node is not None:
                self.ax.plot(
                    *self.xy[node],
                    marker,
                    color='k',
                    markeredgecolor='w',
                    markeredgewidth=0.8,
                    markersize=scale * size,
                    clip_on=False,
                    zorder=6,
                )

    def colorbar(self, shown: Any, label: str) -> None:
        """What colours mean."""
        if self.ax.figure is not None:
            bar = self.ax.figure.colorbar(
                shown, ax=self.ax, label=label, shrink=0.7, pad=0.02
            )
            bar.outline.set_visible(False)

    def finish(self) -> None:
        """Ticks of cells on a grid; elsewhere no frame, but a scale in metres
        where positions are known to be that.
        """
        if not self.is_new:
            return
        for spine in self.ax.spines.values():
            spine.set_visible(False)
        if self.is_grid:
            self.ax.locator_params(integer=True)
            self.ax.tick_params(length=2, labelsize=7, color='0.6')
            return
        self.ax.set(xticks=[], yticks=[])
        if self.data.get('lonlat') is not None:  # positions are in metres
            self._scale_bar()

    def _scale_bar(self) -> None:
        wide = self.high[0] - self.low[0]
        length = 10 ** math.floor(math.log10(wide / 4))
        length *= max(k for k in (1, 2, 5) if k * length <= wide / 4)
        far = length >= 1000
        label = f'{length / 1000:g} km' if far else f'{length:g} m'
        x, y = self.low + 0.02 * wide
        self.ax.plot([x, x + length], [y, y], color='0.3', linewidth=1.5)
        self.ax.annotate(
            label,
            (x + length / 2, y),
            xytext=(0, 3),
            textcoords='offset points',
            ha='center',
            fontsize=7,
            color='0.3',
        )


def _scale(cost: np.ndarray) -> Any:
    """Linear, or logarithmic where costs span several orders of magnitude."""
    from matplotlib.colors import LogNorm, Normalize

    positive = cost[cost > 0]
    if positive.size and positive.max() > 30 * np.median(positive):
        return LogNorm(np.quantile(positive, 0.01), positive.max(), clip=True)
    return Normalize(cost.min(), cost.max())


def need_matplotlib() -> None:
    """Says what to install where there is no matplotlib."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError:
        raise BCMError(
            "a picture needs matplotlib: run 'pip install bcm_pyg[plot]'"
        ) from None

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import as_ids

from ._canvas import WALL, Canvas, need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_field(
    data: Data,
    field: Any,
    goal: int,
    ax: Axes | None = None,
    *,
    unit: str = '',
    colorbar: bool = True,
) -> Axes:
    """Draws the value field of a goal: what every node costs to go there.

    Cells of a grid are coloured, with lines of equal cost; of any other graph
    the edges are.

    Args:
        data (torch_geometric.data.Data): The graph; at least two axes.
        field (Planner or torch.Tensor): What has a :obj:`distance_matrix`, such
            as a planner of this graph, or costs :obj:`[N]`.
        goal (int): The goal.
        ax (matplotlib.axes.Axes, optional): Where to draw. (default: a new
            figure of the shape of the graph)
        unit (str, optional): The unit of costs. (default: none)
        colorbar (bool, optional): Whether to show what colours mean. (default:
            :obj:`True`)
    """
    need_matplotlib()
    canvas = Canvas(data, ax)
    num_nodes = int(canvas.data.num_nodes)
    goal = int(as_ids(goal, num_nodes, 'goal'))
    value = _values(field, goal, num_nodes)
    if canvas.is_grid:
        shown = _draw_cells(canvas, value)
    else:
        shown = canvas.draw_edges(
            values=value, cmap='viridis', linewidths=1.3, capstyle='round'
        )
    if colorbar:
        canvas.colorbar(shown, f'cost to go ({unit})' if unit else 'cost to go')
    canvas.mark(None, goal)
    canvas.finish()
    return canvas.ax


def _values(field: Any, goal: int, num_nodes: int) -> np.ndarray:
    if hasattr(field, 'distance_matrix'):
        nodes = torch.arange(num_nodes)
        field = field.distance_matrix(nodes, [goal])[:, 0]
    try:
        value = torch.as_tensor(field, dtype=torch.double).cpu()
        got = f'shape {tuple(value.shape)}'
    except (TypeError, ValueError, RuntimeError):
        value, got = torch.empty(0), type(field).__name__
    if value.shape != (num_nodes,):
        raise BCMError(
            f'field must be a planner, or a cost for each of {num_nodes} nodes '
            f'(got {got})'
        )
    return _known(value)


def _known(value: Tensor) -> np.ndarray:
    """NaN, which is not drawn, where a goal cannot be reached."""
    return value.masked_fill(~value.isfinite(), float('nan')).numpy()


def _draw_cells(canvas: Canvas, value: np.ndarray) -> Any:
    from matplotlib import colormaps

    cell, free = canvas.cell, canvas.free
    table = np.full(canvas.shape, np.nan)
    table[tuple(cell[free].T)] = value[free]
    colors = colormaps['viridis'].with_extremes(bad=WALL)
    shown = canvas.ax.imshow(table, cmap=colors, interpolation='none')
    if min(table.shape) > 1 and np.nanmax(table) > np.nanmin(table):
        canvas.ax.contour(
            table, levels=12, colors='w', linewidths=0.6, alpha=0.7
        )
    return shown

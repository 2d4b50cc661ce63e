"""Where the page draws the nodes of a graph."""

from dataclasses import dataclass, field

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph.geometry import matrix_axes
from bcm_pyg.graph.planning_graph import check_pos

#: Steps of a coordinate that is not a cell of a grid.
STEPS = 2**16 - 1
#: Share of the nodes below others from which on a graph counts as stacked.
STACKED = 0.05


@dataclass
class Layout:
    """Points of nodes as whole numbers, x to the right and y downward.

    Attributes:
        x: :obj:`[N]` steps to the right, uint16.
        y: :obj:`[N]` steps down, uint16.
        step: Size of a step along x and y, in units of the positions.
        cells: Whether nodes are cells of a grid, one step wide.
        blocked: :obj:`[N]` which cells are walls.
        ground: :obj:`[N]` brightness of nodes, uint8, or None.
        projection: How positions of more than two axes are drawn.
        is_oblique: Whether the third axis is drawn, too.
        frame: Columns and rows of a matrix with the walls at its rim.
    """

    x: np.ndarray
    y: np.ndarray
    step: tuple[float, float]
    cells: bool
    blocked: np.ndarray
    ground: np.ndarray | None = None
    projection: str = ''
    is_oblique: bool = False
    _low: np.ndarray = field(default_factory=lambda: np.zeros(2))
    _matrix: tuple[int, int] | None = None
    frame: tuple[int, int] | None = None

    def steps_of(self, points: np.ndarray) -> np.ndarray:
        """Other points, such as bends of edges, in the same steps."""
        flat = _screen(points, self._matrix)
        out: np.ndarray = np.round((flat - self._low) / self.step)
        return out.astype(np.int64)


def layout_of(data: Data, ground: np.ndarray | None = None) -> Layout:
    """Where to draw a canonical graph.

    A matrix (positions are rows and columns of cells) is drawn as such.
    Otherwise the first axis points to the right and the second upward. Where
    nodes lie above each other, the third axis goes obliquely to the upper
    right; else it is not drawn, but shades the ground.
    """
    check_pos(data, 'an explorer')
    pos = data.pos.detach().cpu().double().numpy()
    if pos.shape[1] < 2:
        raise BCMError(
            'an explorer draws a graph in two dimensions, but pos has one '
            'axis: give nodes a second coordinate'
        )
    matrix, projection = matrix_axes(data), ''
    is_oblique = False
    if pos.shape[1] > 2:
        projection = 'seen from above: the first two axes'
        _, count = np.unique(pos[:, :2], axis=0, return_counts=True)
        if 1 - count.size / len(pos) > STACKED:
            is_oblique = True
            shift = 0.35 * pos[:, 2:3] * ([1, 1] if matrix is None else [-1, 1])
            pos = np.concatenate([pos[:, :2] + shift, pos[:, 2:]], axis=1)
            projection = 'oblique: the third axis goes to the upper right'
    flat = _screen(pos, matrix)
    low, span = flat.min(axis=0), np.ptp(flat, axis=0)
    if not span.max() > 0:
        raise BCMError(
            'all nodes are at the same position, so there is nothing to draw: '
            'give data.pos useful coordinates'
        )
    blocked = np.zeros(len(pos), dtype=bool)
    if data.get('blocked') is not None:
        blocked = data.blocked.cpu().numpy().astype(bool)
    step, frame = _cell_size(data, flat), None
    cells = step is not None
    if cells and matrix is not None and 'grid_size' in data:
        row, column = matrix
        size = data.grid_size[0].tolist()
        frame = size[column], size[row]
        low = low - data.coord[:, [column, row]].min(dim=0).values.numpy()
    if step is None:
        step = np.full(2, span.max() / STEPS)
    x, y = np.round((flat - low) / step).astype(np.uint16).T
    if ground is None and pos.shape[1] > 2:
        ground = pos[:, 2]
    if ground is None and cells:
        ground = _mean_cost(data)
    out = Layout(x, y, (float(step[0]), float(step[1])), cells, blocked)
    out.ground = None if ground is None else _shades(out, ground)
    out.projection, out.is_oblique = projection, is_oblique
    out._low, out._matrix, out.frame = low, matrix, frame
    return out


def _screen(pos: np.ndarray, matrix: tuple[int, int] | None) -> np.ndarray:
    """Right and down, of rows and columns or of x and y."""
    return pos[:, :2] * [1, -1] if matrix is None else pos[:, matrix[::-1]]


def _cell_size(data: Data, flat: np.ndarray) -> np.ndarray | None:
    """Width and height of cells, if nodes are cells side by side."""
    if data.get('edge_bends') is not None:
        return None
    size = []
    for axis in flat.T:
        line = np.unique(axis)
        gaps = np.diff(line)
        if gaps.size == 0 or gaps.size > 2**12:
            return None
        if gaps.max() > gaps.min() * (1 + 1e-3) + 1e-9:
            return None
        size.append(float(gaps.mean()))
    cell = np.round((flat - flat.min(axis=0)) / size).astype(np.int64)
    if len(np.unique(cell, axis=0)) < len(cell):
        return None
    tail, head = data.edge_index.cpu().numpy()
    if np.abs(cell[tail] - cell[head]).max(initial=0) > 1:
        return None
    return np.array(size)


def _mean_cost(data: Data) -> np.ndarray | None:
    """What it costs on average to leave a cell; None if that says nothing."""
    tail, head = data.edge_index.cpu().numpy()
    pos = data.pos.cpu().double().numpy()
    length = np.linalg.norm(pos[head] - pos[tail], axis=1)
    price = data.edge_cost.cpu().double().numpy() / np.maximum(length, 1e-12)
    if np.ptp(price) < 1e-3 * max(price.max(), 1e-12):
        return None
    count = np.bincount(tail, minlength=len(pos))
    total = np.bincount(tail, price, minlength=len(pos))
    mean = total / np.maximum(count, 1)
    mean[count == 0] = mean[count > 0].mean()
    return -mean  # dear is dark


def _shades(layout: Layout, ground: np.ndarray) -> np.ndarray:
    """Brightness from 0 to 255, on cells with light from the upper left."""
    low, high = np.quantile(ground, [0.01, 0.99])
    level: np.ndarray = (ground - low) / max(high - low, 1e-12)
    level = level.clip(0, 1)
    if layout.cells:
        width, height = layout.x.max() + 1, layout.y.max() + 1
        plane = np.full((height, width), level.mean())
        plane[layout.y, layout.x] = level
        slope = np.zeros_like(plane)
        for axis in np.flatnonzero(np.array(plane.shape) > 1).tolist():
            slope += np.gradient(plane, axis=axis)
        light = (0.5 + 4 * slope).clip(0, 1)
        level = (level + light[layout.y, layout.x]) / 2
    return (255 * level).round().astype(np.uint8)

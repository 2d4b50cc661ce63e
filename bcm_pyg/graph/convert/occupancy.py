import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_int

from ..planning_graph import planning_graph

#: Directed edges that a grid may have unless more are asked for.
MAX_EDGES = 2**26

Slices = tuple[slice, ...]


def from_occupancy(
    occupied: np.ndarray | Tensor, *, max_edges: int = MAX_EDGES
) -> Data:
    r"""The free cells of a grid, each joined to all its free neighbours.

    Steps to the 8 neighbours of a cell (26 in three dimensions) cost 1,
    :math:`\sqrt{2}` or :math:`\sqrt{3}`. Corners are not cut: every cell of the
    box that a diagonal step crosses must be free. Nodes are the free cells, in
    the order of the array; :obj:`coord` and :obj:`pos` are their indices in it,
    :obj:`grid_size` is its shape.

    Args:
        occupied (numpy.ndarray or torch.Tensor): True where blocked, of any
            number of dimensions.
        max_edges (int, optional): Grids of more directed edges are refused.
            Building one takes about 90 bytes of memory per edge. (default:
            :obj:`2 ** 26`)
    """
    check_int('max_edges', max_edges, 1)
    mask = _mask(occupied)
    check_cells(mask.shape, max_edges)
    free = ~mask
    steps, num_edges = [], 0
    for move, length, box in _steps(free.ndim):
        is_open = free[box[0]].copy()
        for cells in box[1:]:
            is_open &= free[cells]
        steps.append((move, length, is_open))
        num_edges += 2 * int(np.count_nonzero(is_open))
        if num_edges > max_edges:  # before the masks of all steps are built
            raise BCMError(
                f'the grid has {num_edges:,} directed edges or more, above '
                f'max_edges = {max_edges:,}: raise it, or make the grid coarser'
            )
    if num_edges == 0:
        raise BCMError('no two neighbouring cells of the grid are free')
    node = np.cumsum(free).reshape(free.shape) - 1
    edge_index = torch.empty(2, num_edges, dtype=torch.long)
    edge_cost = torch.empty(num_edges)
    first = 0
    for (tail, head), length, is_open in steps:
        ends = np.stack([node[tail][is_open], node[head][is_open]])
        for pair in (ends, ends[::-1].copy()):
            part = slice(first, first + pair.shape[1])
            edge_index[:, part] = torch.from_numpy(pair)
            edge_cost[part] = length
            first = part.stop
    coord = torch.from_numpy(np.argwhere(free))
    data = Data(
        pos=coord.float(),
        coord=coord,
        edge_index=edge_index,
        edge_cost=edge_cost,
        grid_size=torch.tensor([free.shape]),
        num_nodes=coord.size(0),
    )
    return planning_graph(data)


def check_cells(shape: tuple[int, ...], max_edges: int) -> None:
    """Refuses a grid by its shape alone, before anything of it is built."""
    cells, shown = math.prod(shape), ' x '.join(map(str, shape))
    if cells == 0:
        raise BCMError(f'the grid has no cells: it is {shown}')
    if cells > max_edges:
        raise BCMError(
            f'the grid is {shown}: it has more cells than max_edges = '
            f'{max_edges:,}'
        )


def _steps(
    ndim: int,
) -> Iterator[tuple[tuple[Slices, Slices], float, list[Slices]]]:
    """Half of the moves (the others are their reverse): ends, length, box."""
    here, back, ahead = slice(None), slice(None, -1), slice(1, None)
    ends = {0: (here, here), 1: (back, ahead), -1: (ahead, back)}
    for move in product((-1, 0, 1), repeat=ndim):
        if move <= (0,) * ndim:
            continue
        tail, head = zip(*(ends[shift] for shift in move), strict=True)
        # All cells with any of the axes shifted that the move shifts.
        box = product(*(ends[shift] if shift else (here,) for shift in move))
        yield (tail, head), float(np.count_nonzero(move)) ** 0.5, list(box)


def _mask(occupied: np.ndarray | Tensor) -> np.ndarray:
    if isinstance(occupied, Tensor) and occupied.dtype == torch.bool:
        if occupied.layout != torch.strided or occupied.is_meta:
            raise BCMError(
                f'occupied must be dense and have data (got {occupied.layout} '
                f'on {occupied.device})'
            )
        occupied = occupied.cpu().numpy()
    if not isinstance(occupied, np.ndarray) or occupied.dtype != np.bool_:
        raise BCMError(
            'occupied must be a boolean array, True where blocked (got '
            f'{getattr(occupied, "dtype", type(occupied).__name__)})'
        )
    if occupied.ndim == 0:
        raise BCMError('occupied must have at least one axis')
    return occupied

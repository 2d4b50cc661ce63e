import math

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph

from .layouts import layout_mask
from .queries import generator

#: The cost regimes of the paper: continuous uniform between two bounds.
COST_REGIMES = {'uniform': (1.0, 1.0), 'mild': (1.0, 3.0), 'wide': (1.0, 10.0)}


def weighted_grid(
    layout: str | np.ndarray | Tensor = 'ushape',
    side: int | None = None,
    costs: str | tuple[float, float] = 'wide',
    seed: int = 42,
) -> Data:
    r"""A 4-connected grid with obstacles and one cost per undirected edge.

    Node :math:`n` is cell :math:`(\lfloor n / W \rfloor, n \bmod W)`. Blocked
    cells are isolated nodes, marked by :obj:`data.blocked`. Costs of one seed
    are the same draw in every regime, stretched to its bounds.

    Args:
        layout (str or array, optional): :obj:`"ushape"`, :obj:`"block"`,
            :obj:`"wall"`, :obj:`"open"`, or a boolean mask :obj:`[H, W]`, True
            where blocked. (default: :obj:`"ushape"`)
        side (int, optional): Cells per side of a named layout. (default:
            :obj:`40`)
        costs (str or tuple, optional): :obj:`"uniform"` (all 1), :obj:`"mild"`
            (1 to 3), :obj:`"wide"` (1 to 10) or :obj:`(low, high)`. (default:
            :obj:`"wide"`)
        seed (int, optional): Seed of the costs, and of nothing else. (default:
            :obj:`42`)
    """
    mask = _mask(layout, side)
    low, high = _bounds(costs)
    height, width = mask.shape
    node = np.arange(mask.size).reshape(mask.shape)
    free = ~mask
    right = free[:, :-1] & free[:, 1:]
    down = free[:-1] & free[1:]
    tail = np.concatenate([node[:, :-1][right], node[:-1][down]])
    head = np.concatenate([node[:, 1:][right], node[1:][down]])

    cost = low + (high - low) * generator(seed).random(tail.size)
    cells = np.stack([node // width, node % width], axis=-1).reshape(-1, 2)
    edge_index = np.stack([np.r_[tail, head], np.r_[head, tail]])
    data = Data(
        pos=torch.from_numpy(cells).float(),
        coord=torch.from_numpy(cells).long(),
        blocked=torch.from_numpy(mask.reshape(-1).copy()),
        edge_index=torch.from_numpy(edge_index).long(),
        edge_cost=torch.from_numpy(np.r_[cost, cost]).float(),
        num_nodes=height * width,
    )
    return planning_graph(data)


def _mask(layout: str | np.ndarray | Tensor, side: int | None) -> np.ndarray:
    if isinstance(layout, str):
        return layout_mask(layout, 40 if side is None else side)
    try:
        mask = np.asarray(layout)
    except ValueError:  # rows of different lengths
        mask = np.asarray(None)
    if mask.dtype != np.bool_ or mask.ndim != 2 or mask.size == 0:
        raise BCMError(
            'layout must be a name or a non-empty boolean mask [H, W] (got '
            f'{mask.dtype} of shape {mask.shape})'
        )
    if side is not None and mask.shape != (side, side):
        raise BCMError(
            f'layout is a mask of shape {mask.shape}, which is not side {side}'
        )
    return mask


def _bounds(costs: str | tuple[float, float]) -> tuple[float, float]:
    if isinstance(costs, str):
        if costs not in COST_REGIMES:
            raise BCMError(
                f'costs must be one of {tuple(COST_REGIMES)} or (low, high) '
                f'(got {costs!r})'
            )
        return COST_REGIMES[costs]
    try:
        low, high = (float(bound) for bound in costs)
    except (TypeError, ValueError):
        raise BCMError(f'costs must be (low, high) (got {costs!r})') from None
    if not (math.isfinite(low) and math.isfinite(high) and 0 <= low <= high):
        raise BCMError(
            f'costs must satisfy 0 <= low <= high < inf (got {costs!r})'
        )
    return low, high

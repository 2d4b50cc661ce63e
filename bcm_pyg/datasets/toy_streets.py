from collections.abc import Callable

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.geo import EARTH_RADIUS
from bcm_pyg.graph import from_arrays, largest_component

from .graph_files import OneGraph

#: Junctions east and north, and metres between them.
COLUMNS, ROWS, BLOCK = 24, 18, 110.0
#: One name per row, from south to north.
STREETS = (
    'Abbey Baker Castle Dock Elm Forge Garden High Ivy Jay King Lake Mill '
    'North Orchard Park Queen River'
).split()
#: Columns with a bridge over the river.
BRIDGES = (4, 13, 20)
#: Points at which each street is drawn, as shares of its way.
SHARES = np.linspace(0, 1, 6)


class ToyStreets(OneGraph):
    """A small made-up town: one graph of about 450 junctions.

    It has what street networks have: bends, one-way streets, dead ends, avenues
    that are faster than side streets, a park, and a river with three bridges.
    Costs are seconds by car. Junctions have names: :obj:`"Castle Street 5"` is
    where Castle Street meets the fifth avenue, :obj:`"Castle Street 5a"` a dead
    end there. Every junction can reach every other. The town lies where the
    equator meets the prime meridian. Nothing is downloaded, and the graph is
    the same every time.

    :obj:`pos` is in metres. There are also :obj:`node_id` (the names),
    :obj:`lonlat`, :obj:`edge_length` (metres) and bends (see
    :func:`~bcm_pyg.graph.route_points`).

    Args:
        transform (callable, optional): Applied to the graph at every access.
            (default: :obj:`None`)

    Example:
        >>> from bcm_pyg.datasets import ToyStreets
        >>> data = ToyStreets()[0]
    """

    def __init__(self, transform: Callable[[Data], Data] | None = None) -> None:
        super().__init__(_town(), transform)


def _town() -> Data:
    rng = np.random.default_rng(7)
    node = np.arange(ROWS * COLUMNS)
    row, column = node // COLUMNS, node % COLUMNS
    spot = np.stack([column, row], axis=1).astype(float)
    grid = node.reshape(ROWS, COLUMNS)
    tail = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    head = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])

    # Some blocks are larger than others; the river has few bridges.
    is_avenue = (row[tail] == row[head]) & np.isin(row[tail], (3, 14))
    is_avenue |= (column[tail] == column[head]) & np.isin(column[tail], BRIDGES)
    is_kept = is_avenue | (rng.random(tail.size) > 0.2)
    north = spot[:, 1] > 8.5 + 1.7 * np.sin(0.35 * spot[:, 0])
    is_kept &= (north[tail] == north[head]) | np.isin(column[tail], BRIDGES)
    in_park = np.linalg.norm(spot - [9.0, 12.2], axis=1) < 2.2
    is_kept &= ~in_park[tail] & ~in_park[head]
    tail, head, is_avenue = tail[is_kept], head[is_kept], is_avenue[is_kept]

    # Dead ends, each within a block.
    foot = rng.permutation(node)[:90]
    corner = 0.3 + 0.3 * rng.random((foot.size, 2))
    spot = np.concatenate([spot, spot[foot] + corner])
    names = [
        f'{STREETS[r]} Street {c + 1}' for r, c in zip(row, column, strict=True)
    ]
    names += [f'{names[junction]}a' for junction in foot]
    ends = ROWS * COLUMNS + np.arange(foot.size)
    wiggle = 0.12 * (2 * rng.random(tail.size) - 1) * ~is_avenue
    wiggle = np.append(wiggle, np.full(foot.size, 0.25))
    speed = np.append(np.where(is_avenue, 50.0, 30.0), np.full(foot.size, 15.0))
    tail, head = np.append(tail, foot), np.append(head, ends)
    lines = _drawn(spot, tail, head, wiggle)  # [E, S, 2]

    # One-way side streets alternate; all others go both ways.
    row, column = np.append(row, row[foot]), np.append(column, column[foot])
    way = np.where(row[tail] == row[head], row[tail], column[tail]) % 6
    is_one_way = (np.append(is_avenue, foot < 0) == 0) & (head < ends[0])
    there = ~is_one_way | (way != 1)
    back = ~is_one_way | (way != 4)
    lines = np.concatenate([lines[there], lines[back, ::-1]])
    length = np.linalg.norm(np.diff(lines, axis=1), axis=2).sum(axis=1)
    speed = np.concatenate([speed[there], speed[back]])
    index = [
        np.concatenate([tail[there], head[back]]),
        np.concatenate([head[there], tail[back]]),
    ]
    pos = _warped(spot)
    count = SHARES.size - 2
    span = count * np.arange(len(lines))
    data = from_arrays(
        pos,
        np.stack(index),
        length / (speed / 3.6),
        node_id=names,
        lonlat=np.degrees(pos / EARTH_RADIUS),
        edge_length=length,
        edge_bends=np.stack([span, span + count], axis=1),
        bends=lines[:, 1:-1].reshape(1, -1, 2),
    )
    data = largest_component(data)
    del data.dropped_nodes
    return data


def _drawn(
    spot: np.ndarray, tail: np.ndarray, head: np.ndarray, wiggle: np.ndarray
) -> np.ndarray:
    """The lines of streets in metres, [E, S, 2]."""
    share = SHARES[:, None]
    step = (spot[head] - spot[tail])[:, None]
    across = step[..., ::-1] * [1, -1] * wiggle[:, None, None]
    points = spot[tail][:, None] + share * step
    points = points + np.sin(np.pi * share) * across
    return _warped(points)


def _warped(spot: np.ndarray) -> np.ndarray:
    """From junctions counted east and north to metres: nothing is straight."""
    x, y = spot[..., 0], spot[..., 1]
    east = x + 0.9 * np.sin(0.3 * y + 1) + 0.25 * np.sin(0.9 * x + 0.7 * y)
    north = y + 0.8 * np.sin(0.25 * x) + 0.2 * np.sin(0.8 * x + 1.1 * y)
    return BLOCK * np.stack([east, north], axis=-1)

"""What an exact search of few nodes proves of costs."""

from functools import partial
from math import inf
from typing import Any

import numpy as np
import torch

from bcm_pyg.graph.full_routes import Ends
from bcm_pyg.kernels import NO_BOUNDS, Array, load_kernels
from bcm_pyg.utils import Adjacency

from ._engine import PART, VALUES, GraphArrays, arrays_of, in_threads
from ._landmarks import LandmarkBounds


def near_bounds(
    adjacency: Adjacency,
    ends: Ends,
    limit: int,
    landmarks: LandmarkBounds | None = None,
) -> tuple[Array, Array]:
    """Lower and upper bounds :obj:`[B]` of costs, by an exact search of at most
    :obj:`limit` expansions, guided by landmarks. They are equal where it ends
    before, and infinite where there is no route.
    """
    code = load_kernels()
    if code is None:
        return plain_near(adjacency, ends, limit, landmarks)
    rows = NO_BOUNDS if landmarks is None else landmarks.arrays
    run = partial(_near, arrays_of(adjacency), code.near, rows, limit)
    num, size = len(ends.exits), max(PART, VALUES // (limit + 1))
    parts = [
        [np.ascontiguousarray(column[at : at + size]) for column in ends]
        for at in range(0, max(1, num), size)
    ]
    lower, upper = zip(*in_threads(run, parts), strict=True)
    return np.concatenate(lower), np.concatenate(upper)


def _near(
    arrays: GraphArrays, kernel: Any, rows: Any, limit: int, *part: Array
) -> Any:
    scratch = arrays.take()
    try:
        return kernel(arrays.graph, rows, scratch, *part, limit)
    finally:
        arrays.free.append(scratch)


def plain_near(
    adjacency: Adjacency,
    ends: Ends,
    limit: int,
    landmarks: LandmarkBounds | None = None,
) -> tuple[Array, Array]:
    """The same, one query after the other in plain Python."""
    queries = zip(*(column.tolist() for column in ends), strict=True)
    found = [_search(adjacency, landmarks, limit, *query) for query in queries]
    lower, upper = np.array(found, np.float64).reshape(-1, 2).T
    return lower, upper


def _search(
    adjacency: Adjacency,
    landmarks: LandmarkBounds | None,
    limit: int,
    exits: list[int],
    leaving: list[float],
    entries: list[int],
    entering: list[float],
) -> tuple[float, float]:
    last = list(zip(entries, entering, strict=True))

    def rest(node: int) -> float:
        if landmarks is None:
            return min(entering)
        ahead = landmarks(torch.tensor([node]).repeat(len(last)), goals)
        return min(map(sum, zip(ahead.tolist(), entering, strict=True)))

    goals = torch.tensor(entries)
    cost, value = dict[int, float](), dict[int, float]()  # value: if open
    found = dict[int, int]()

    def reach(node: int, there: float) -> None:
        if there < cost.get(node, inf) and there + rest(node) < inf:
            found.setdefault(node, len(found))
            cost[node], value[node] = there, there + rest(node)

    for node, there in zip(exits, leaving, strict=True):
        reach(node, there)
    for expanded in range(limit + 1):
        upper = min(cost.get(node, inf) + after for node, after in last)
        if not value:
            return upper, upper
        node = min(value, key=lambda node: (value[node], -found[node]))
        if value[node] >= upper or expanded == limit:
            return min(value[node], upper), upper
        del value[node]
        edges, _ = adjacency.out_edges(torch.tensor([node]))
        for edge in edges.tolist():
            step = float(adjacency.exact_cost[edge])
            reach(int(adjacency.dst[edge]), cost[node] + step)
    raise AssertionError('a search ends at its limit')

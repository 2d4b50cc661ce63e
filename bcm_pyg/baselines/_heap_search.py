"""Dijkstra's algorithm for one query, plain and slow."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

from bcm_pyg.utils import Adjacency

#: Per node, the head and the cost of each edge that leaves it.
Ways = list[list[tuple[int, float]]]


class Found(NamedTuple):
    """What one search found.

    Attributes:
        cost: Of the route, infinite if there is none.
        path: The nodes of the route from start to goal, empty if none.
        settled: How many nodes the search settled, start and goal included.
    """

    cost: float
    path: list[int]
    settled: int


def ways_of(adjacency: Adjacency) -> Ways:
    """The graph as lists, which a loop reads much faster than tensors."""
    ways: Ways = [[] for _ in range(adjacency.num_nodes)]
    for tail, head, cost in zip(
        adjacency.src.tolist(),
        adjacency.dst.tolist(),
        adjacency.cost.tolist(),
        strict=True,
    ):
        ways[tail].append((head, cost))
    return ways


def heap_search(ways: Ways, start: int, goal: int) -> Found:
    """Searches from the start until the goal is settled.

    Of nodes equally far, the lowest is settled first, and of routes equally
    good to a node, the first one found stays.
    """
    distance = {start: 0.0}
    previous: dict[int, int] = {}
    settled: set[int] = set()
    heap = [(0.0, start)]
    while heap:
        cost, node = heappop(heap)
        if node in settled:  # by a cheaper way, found after this one
            continue
        settled.add(node)
        if node == goal:
            return Found(cost, _path(previous, goal), len(settled))
        for head, step in ways[node]:
            if cost + step < distance.get(head, inf):
                distance[head] = cost + step
                previous[head] = node
                heappush(heap, (cost + step, head))
    return Found(inf, [], len(settled))


def _path(previous: dict[int, int], goal: int) -> list[int]:
    path = [goal]
    while path[-1] in previous:
        path.append(previous[path[-1]])
    return path[::-1]

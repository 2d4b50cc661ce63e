"""What the compiled kernels read and return: named tuples of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Graph(NamedTuple):
    """The out-edges of every node, in arrays."""

    rowptr: Any  # [N + 1] int64
    head: Any  # [E] int64
    cost: Any  # [E] float32
    max_degree: int


class Map(NamedTuple):
    r"""What scores need of a map.

    With :math:`a` what the last layer :math:`z = W_3 a + b_3` sees of a pair,
    and :math:`u = W_3 a` (the bias cancels), the expanded square is

    .. math::
        D_i(j; g) = \underbrace{\lVert u_{ig} \rVert^2}_{a_{ig}^\top G a_{ig}}
        + \underbrace{\lVert u_{ij} \rVert^2}_{\mathrm{offset}} +
        \underbrace{(-2 W_3^\top u_{ij})}_{\mathrm{slope}} \cdot a_{ig}

    with :math:`G = W_3^\top W_3`. The first term is the same for all
    neighbours, so that their order needs two layers for the pair and a dot
    product for each edge. Without slopes all passes are made anew.
    """

    hidden: Any  # [N, H] float32, the first layer of each node
    bias1: Any  # [H]
    weight2: Any  # [H, H], a row for each input
    bias2: Any  # [H]
    weight3: Any  # [H, Z], a row for each input
    zeros: Any  # [Z], where a bias would be: that of the last layer cancels
    gram: Any  # [H, H], upper triangle; off-diagonal blocks of 8 doubled
    slope: Any  # [E, H], or [0, H]
    offset: Any  # [E], or [0]
    scale: float  # the cost of a score of 1
    calibrated: bool  # whether the last edge scores its cost, else 0


class Bounds(NamedTuple):
    """Lower bounds by landmarks."""

    rows: Any  # [N, 2 L] float32
    unit: float
    margin: float


class Scratch(NamedTuple):
    """What a thread needs per node, 41 bytes; entries count by their stamp."""

    clock: Any  # [1] int32, the latest stamp
    stamp: Any  # [N] int32, of the search that found the node
    member: Any  # [N] int32, of the set that it is in
    seen: Any  # [N] int32, of the walk that has seen it
    place: Any  # [N] int32, when it was found, or where it is on the route
    closed: Any  # [N] bool
    edge: Any  # [N] int64, by which it was found
    cost: Any  # [N] float64, of the way to it
    value: Any  # [N] float64, by which it waits for its turn


class Found(NamedTuple):
    """Routes of queries, one after the other."""

    nodes: Any  # [R] int64
    ptr: Any  # [B + 1] int64, where the route of each query begins
    cost: Any  # [B] float64, infinite if there is none
    expansions: Any  # [B] int64
    walked: Any  # [B] float64, what was walked to find it
    bound: Any  # [B] float64, a lower bound of the optimal cost


class Expanded(NamedTuple):
    """What the searches of queries have expanded, one after the other."""

    nodes: Any  # [M] int64, each node of a query once
    ptr: Any  # [B + 1] int64
    bound: Any  # [B] float64, the lowest value of an open node in the end
    reached: Any  # [B] bool, whether that node was the goal


#: Where nothing is known but scores.
NO_BOUNDS = Bounds(np.empty((0, 0), np.float32), 1.0, 0.0)


def blank_map(width: int = 0) -> Map:
    """Stands for a map where none is asked."""
    row, matrix = np.zeros(width, np.float32), np.zeros((width, width), 'f4')
    return Map(
        hidden=matrix,
        bias1=row,
        weight2=matrix,
        bias2=row,
        weight3=matrix,
        zeros=row,
        gram=matrix,
        slope=matrix,
        offset=row,
        scale=1.0,
        calibrated=False,
    )


def scratch_for(num_nodes: int) -> Scratch:
    """Scratch memory of one thread; pages are taken as they are used."""
    return Scratch(
        clock=np.zeros(1, np.int32),
        stamp=np.zeros(num_nodes, np.int32),
        member=np.zeros(num_nodes, np.int32),
        seen=np.zeros(num_nodes, np.int32),
        place=np.zeros(num_nodes, np.int32),
        closed=np.zeros(num_nodes, np.bool_),
        edge=np.zeros(num_nodes, np.int64),
        cost=np.zeros(num_nodes),
        value=np.zeros(num_nodes),
    )

"""Scores of the edges of a node, and what all kernels share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from .._arrays import Found
from .._engine import CACHES

INF = np.inf
#: What stands for a score that is no number, or infinite: last, but not lost.
HUGE = np.finfo(np.float64).max / 4

# Sums keep their order, numbers may be infinite.
compiled = njit(nogil=True, cache=CACHES, error_model='numpy')
fused = njit(
    nogil=True, cache=CACHES, error_model='numpy', fastmath={'contract'}
)
# Sums of products in any order, so that they fill a vector register.
summed = njit(
    nogil=True,
    cache=CACHES,
    error_model='numpy',
    fastmath={'contract', 'reassoc', 'nsz'},
)

_LOG2E = np.float32(1.44269504)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
_C3, _C4 = np.float32(1 / 6), np.float32(1 / 24)
_C5, _C6 = np.float32(1 / 120), np.float32(1 / 720)
_MOST = np.float32(87)
_BIAS, _SHIFT = np.int32(127), np.int32(23)


@intrinsic
def _float_of(context: Any, bits: Any) -> Any:
    """The float32 that has the bits of an int32."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), code


@fused
def _silu(x: Any) -> None:
    """Sets x to x / (1 + exp(-x)); exp is written out, so that the loop is
    vectorised.
    """
    for k in range(x.size):
        v = x[k]
        t = min(abs(v), _MOST)
        n = np.floor(_HALF - t * _LOG2E)
        r = -t - n * _LN2_HIGH - n * _LN2_LOW
        e = _ONE + r * (
            _ONE + r * (_HALF + r * (_C3 + r * (_C4 + r * (_C5 + r * _C6))))
        )
        bits = (np.int32(n) + _BIAS) << _SHIFT
        e *= _float_of(bits)  # type: ignore[call-arg]  # 2**n
        e = e if abs(v) < _MOST else ZERO  # exp(-|v|)
        x[k] = v * (_ONE if v > ZERO else e) / (_ONE + e)


@summed
def _dot(x: Any, y: Any) -> Any:
    out = ZERO
    for k in range(x.size):
        out += x[k] * y[k]
    return out


@fused
def _affine(weight: Any, bias: Any, x: Any, out: Any) -> None:
    """Sets out to x @ weight + bias, eight inputs at a time."""
    for j in range(out.size):
        out[j] = bias[j]
    whole = x.size - x.size % 8
    for k in range(0, whole, 8):
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        x4, x5, x6, x7 = x[k + 4], x[k + 5], x[k + 6], x[k + 7]
        for j in range(out.size):
            out[j] = (
                out[j]
                + x0 * weight[k, j]
                + x1 * weight[k + 1, j]
                + x2 * weight[k + 2, j]
                + x3 * weight[k + 3, j]
                + x4 * weight[k + 4, j]
                + x5 * weight[k + 5, j]
                + x6 * weight[k + 6, j]
                + x7 * weight[k + 7, j]
            )
    for k in range(whole, x.size):
        for j in range(out.size):
            out[j] = out[j] + x[k] * weight[k, j]


@summed
def _quadratic(gram: Any, x: Any) -> Any:
    """The form x @ gram @ x, with a matrix as :class:`Map` has it.

    Rows are cut to views that begin at the diagonal: an index that might be
    negative for all the compiler knows keeps a loop from being vectorised.
    """
    out = ZERO
    whole = x.size - x.size % 8
    for k in range(0, whole, 8):
        y, g0, g1, g2 = x[k:], gram[k][k:], gram[k + 1][k:], gram[k + 2][k:]
        g3, g4, g5 = gram[k + 3][k:], gram[k + 4][k:], gram[k + 5][k:]
        g6, g7 = gram[k + 6][k:], gram[k + 7][k:]
        for j in range(y.size):
            out += y[j] * (
                y[0] * g0[j]
                + y[1] * g1[j]
                + y[2] * g2[j]
                + y[3] * g3[j]
                + y[4] * g4[j]
                + y[5] * g5[j]
                + y[6] * g6[j]
                + y[7] * g7[j]
            )
    for k in range(whole, x.size):
        for j in range(whole, x.size):
            out += x[k] * x[j] * gram[k, j]
    return out


@summed
def _squared_distance(x: Any, y: Any) -> Any:
    out = ZERO
    for k in range(x.size):
        out += (x[k] - y[k]) * (x[k] - y[k])
    return out


@fused
def _feature(net: Any, source: int, target: int, room: Any) -> None:
    """What the last layer sees of a pair of nodes, into room.feature."""
    here, there = net.hidden[source], net.hidden[target]
    x = room.first
    for k in range(x.size):
        x[k] = there[k] - here[k] + net.bias1[k]
    _silu(x)
    _affine(net.weight2, net.bias2, x, room.feature)
    _silu(room.feature)


@fused
def ranks(graph: Any, net: Any, node: int, goal: int, room: Any) -> None:
    """Scores of the edges of a node, up to a constant that they share."""
    has_slopes = net.slope.shape[0] > 0
    _feature(net, node, goal, room)
    if not has_slopes:
        _affine(net.weight3, net.zeros, room.feature, room.to_goal)
    first = graph.rowptr[node]
    for edge in range(first, graph.rowptr[node + 1]):
        if has_slopes:
            score = net.offset[edge] + _dot(net.slope[edge], room.feature)
        else:
            _feature(net, node, graph.head[edge], room)
            _affine(net.weight3, net.zeros, room.feature, room.to_head)
            score = _squared_distance(room.to_head, room.to_goal)
        if net.calibrated and graph.head[edge] == goal:
            # Without the terminal convention this score is 0.
            score += np.float32(graph.cost[edge] / net.scale)
        room.score[edge - first] = score


@fused
def scores(graph: Any, net: Any, node: int, goal: int, room: Any) -> None:
    """Scores of the edges of a node, in units of the map."""
    ranks(graph, net, node, goal, room)
    base = ZERO
    if net.slope.shape[0] > 0:
        base = _quadratic(net.gram, room.feature)
    first = graph.rowptr[node]
    for edge in range(first, graph.rowptr[node + 1]):
        score = room.score[edge - first] + base
        if score < ZERO:  # by rounding
            score = ZERO
        if graph.head[edge] == goal:
            score = ZERO
            if net.calibrated:
                score = np.float32(graph.cost[edge] / net.scale)
        room.score[edge - first] = score


@compiled
def rest_of(score: float, scale: float, cost: float) -> float:
    """What a score leaves for the way after its edge, at least 0."""
    rest = np.float64(score) * scale - cost
    if rest < 0.0:
        return 0.0
    return rest if rest < HUGE else HUGE  # also if it is no number


@compiled
def bound_of(bounds: Any, node: int, goal: int) -> float:
    """Lower bound of the cost from a node to the goal."""
    here, there = bounds.rows[node], bounds.rows[goal]
    best = bounds.margin
    for k in range(here.size):
        ahead = np.float64(there[k] - here[k])
        if ahead > best:  # False where both are infinite
            best = ahead
    return (best - bounds.margin) * bounds.unit


class _Room(NamedTuple):
    """Buffers for the scores of one node."""

    first: Any
    feature: Any
    to_goal: Any
    to_head: Any
    score: Any


@compiled
def make_room(graph: Any, net: Any) -> Any:
    hidden, out = net.bias1.size, net.zeros.size
    return _Room(
        np.empty(hidden, np.float32),
        np.empty(hidden, np.float32),
        np.empty(out, np.float32),
        np.empty(out, np.float32),
        np.empty(graph.max_degree, np.float32),
    )


@compiled
def next_stamp(scratch: Any) -> int:
    scratch.clock[0] += 1
    return scratch.clock[0]


@compiled
def first_stamp(scratch: Any) -> int:
    """The first stamp of a query: none that is in use is given again."""
    if scratch.clock[0] >= 2**30:
        scratch.stamp[:] = 0
        scratch.member[:] = 0
        scratch.seen[:] = 0
        scratch.clock[0] = 0
    return next_stamp(scratch)


@compiled
def with_room(array: Any, size: int) -> Any:
    """An array with room for so many, with all that was there."""
    if size <= array.size:
        return array
    out = np.empty(max(size, 2 * array.size), array.dtype)
    out[: array.size] = array
    return out


@compiled
def found_routes(
    nodes: Any, ptr: Any, cost: Any, expansions: Any, walked: Any
) -> Any:
    bound = np.zeros(cost.size)
    return Found(nodes[: ptr[-1]].copy(), ptr, cost, expansions, walked, bound)

"""Scores of the edges of a node, and what all kernels share."""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from .arrays import LANES, NO_WAY, TILE, Found
from .loading import CACHES
from .products import add_product, add_products, add_wide

INF = np.inf
#: What stands for a score that is no number, or infinite: last, but not lost.
HUGE = np.finfo(np.float64).max / 4

# Sums keep their order, numbers may be infinite.
_options: Any = {'nogil': True, 'cache': CACHES, 'error_model': 'numpy'}
compiled = njit(**_options)
fused = njit(fastmath={'contract'}, **_options)
# Sums of products in any order, so that they fill a vector register.
summed = njit(fastmath={'contract', 'reassoc', 'nsz'}, **_options)

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
    """Sets x to x / (1 + exp(-x)); exp is written out for vector registers."""
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


@summed
def squared_distance(x: Any, y: Any) -> Any:
    """The sum of the squares of differences."""
    out = ZERO
    for k in range(x.size):
        out += (x[k] - y[k]) * (x[k] - y[k])
    return out


@compiled
def _add(block: Any, x: Any, out: Any, end: int, at: int, lane: int) -> None:
    """Adds x[:end] @ block to columns of out in one lane, or in all if -1."""
    to = slice(at, at + TILE)
    if lane >= 0:
        add_product(block, x[lane, :end], out[lane, to])
    elif x.shape[0] == LANES:
        add_products(block, x[0, :end], x[1, :end], out[0, to], out[1, to])
    else:
        add_wide(
            block, x[0, :end], x[1, :end], x[2, :end], x[3, :end],
            out[0, to], out[1, to], out[2, to], out[3, to],
        )  # fmt: skip


@compiled
def _layer(weight: Any, bias: Any, x: Any, out: Any, lane: int) -> None:
    """Sets out to x @ weight + bias in one lane, or in all if it is -1."""
    for each in range(out.shape[0]):
        if lane < 0 or each == lane:
            for k in range(bias.size):
                out[each, k] = bias[k]
    for tile in range(weight.shape[0]):
        _add(weight[tile], x, out, x.shape[1], TILE * tile, lane)


@compiled
def _gram_layer(gram: Any, x: Any, out: Any, lane: int) -> None:
    """Sets out to x @ gram of :class:`Map`; x @ out is the squared norm."""
    for each in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[each, k] = ZERO
    begin = 0
    for first in range(0, x.shape[1], TILE):
        end = first + TILE
        _add(gram[begin : begin + TILE * end], x, out, end, first, lane)
        begin += TILE * end


class _Room(NamedTuple):
    """Buffers for the scores of a node in each lane."""

    first: Any  # [LANES, H]
    feature: Any  # [LANES, H]
    product: Any  # [LANES, H]
    to_goal: Any  # [LANES, Z]
    to_head: Any  # [LANES, Z]
    score: Any  # [LANES, max_degree], the result


@compiled
def make_room(graph: Any, net: Any, lanes: int = LANES) -> Any:
    """Room for the scores of any node, in two lanes or four."""
    hidden = np.empty((3, lanes, net.bias1.size), np.float32)
    out = np.empty((2, lanes, net.zeros.size), np.float32)
    score = np.empty((lanes, graph.max_degree), np.float32)
    return _Room(hidden[0], hidden[1], hidden[2], out[0], out[1], score)


@fused
def _features(net: Any, source: Any, target: Any, room: Any, lane: int) -> None:
    """What the last layer sees of a pair of nodes in each lane."""
    for each in range(source.size):
        if lane < 0 or each == lane:
            here, there = net.hidden[source[each]], net.hidden[target[each]]
            x = room.first[each]
            for k in range(x.size):
                x[k] = there[k] - here[k] + net.bias1[k]
            _silu(x)
    _layer(net.weight2, net.bias2, room.first, room.feature, lane)
    for each in range(source.size):
        if lane < 0 or each == lane:
            _silu(room.feature[each])


@fused
def score_edges(
    graph: Any, net: Any, node: Any, goal: Any, room: Any, absolute: bool
) -> None:
    """Scores of the edges of a node in each lane, in units of the map.

    Of two lanes a node of -1 is none. Unless absolute, scores lack a constant
    that those of a node share: enough for their order, and cheaper.
    """
    lane = -1
    if node.size == LANES and (node[0] < 0 or node[1] < 0):
        lane = 0 if node[0] >= 0 else 1
    has_slopes = net.slope.shape[0] > 0
    _features(net, node, goal, room, lane)
    if not has_slopes:
        _layer(net.weight3, net.zeros, room.feature, room.to_goal, lane)
    elif absolute:
        _gram_layer(net.gram, room.feature, room.product, lane)
    for each in range(node.size):
        if lane >= 0 and each != lane:
            continue
        base = ZERO
        if has_slopes and absolute:
            base = _dot(room.product[each], room.feature[each])
        first = graph.rowptr[node[each]]
        for edge in range(first, graph.rowptr[node[each] + 1]):
            if has_slopes:
                dot = _dot(net.slope[edge], room.feature[each])
                score = base + (net.offset[edge] + dot)
            else:
                _edge_output(net, node[each], graph.head[edge], room, each)
                ends = room.to_head[each], room.to_goal[each]
                score = squared_distance(*ends)
            last = ZERO  # the score of an edge to the goal
            if net.calibrated:
                last = np.float32(graph.cost[edge] / net.scale)
            if graph.head[edge] == goal[each]:
                # Without the terminal convention this score is 0.
                score = last if absolute else score + last
            elif absolute and score < ZERO:  # by rounding
                score = ZERO
            room.score[each, edge - first] = score


@fused
def _edge_output(net: Any, node: int, head: int, room: Any, lane: int) -> None:
    """The last layer for an edge, where no slopes are kept."""
    lanes = room.first.shape[0]
    source, target = np.full(lanes, node), np.full(lanes, head)
    _features(net, source, target, room, lane)
    _layer(net.weight3, net.zeros, room.feature, room.to_head, lane)


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
    best = np.int64(0)
    for k in range(here.size):
        near, far = np.int64(here[k]), np.int64(there[k])
        if k >= bounds.outward:
            near, far = far, near
        if near == NO_WAY or far == NO_WAY:
            if near != far and (near != NO_WAY or bounds.symmetric):
                return INF
            continue
        ahead = far - near
        if bounds.symmetric:
            ahead = abs(ahead)
        best = max(best, ahead)
    return max(best - bounds.margin, 0.0) * bounds.unit


#: Where Scratch.count has the latest stamp.
CLOCK = 7


@compiled
def next_stamp(count: Any, lane: int) -> int:
    """A stamp that no node of the lane has."""
    count[lane, CLOCK] += 1
    return count[lane, CLOCK]


@compiled
def first_stamp(count: Any, note: Any, lane: int) -> int:
    """The first stamp of a query: none that is in use is given again."""
    if count[lane, CLOCK] >= 2**30:
        for node in range(note.shape[1]):
            note[lane, node].stamp = 0
            note[lane, node].member = 0
            note[lane, node].seen = 0
        count[lane, CLOCK] = 0
    return next_stamp(count, lane)


@compiled
def append(lists: Any, span: Any, query: int, end: int, nodes: Any) -> Any:
    """Adds the list of a query at the end; returns the lists, maybe moved."""
    more = end + nodes.size
    if more > lists.size:
        larger = np.empty(max(more, 2 * lists.size), np.int64)
        larger[:end] = lists[:end]
        lists = larger
    lists[end:more] = nodes
    span[query, 0], span[query, 1] = end, more
    return lists


@compiled
def no_routes(size: int) -> Any:
    """Results of so many queries, to be filled in."""
    lists, span = np.empty(64 * size, np.int64), np.zeros((size, 2), np.int64)
    cost, walked = np.full(size, INF), np.full(size, INF)
    expansions = np.zeros(size, np.int64)
    return Found(lists, span, cost, expansions, walked, np.zeros(size))


@compiled
def with_lists(found: Any, lists: Any) -> Any:
    """The results with the nodes of all routes.

    A plain tuple: to make a named one, numba calls Python, and crashes if
    Ctrl-C comes at that moment.
    """
    _, span, cost, expansions, walked, bound = found
    return lists.copy(), span, cost, expansions, walked, bound

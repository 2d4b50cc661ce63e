"""Readouts of a map as compiled code, one query after the other.

Every kernel releases the interpreter lock, works on plain arrays and takes the
scratch memory of its thread from the caller (see
:mod:`bcm_pyg.planning._arrays`). What a kernel computes for a query depends on
nothing but that query. The plain twins are in :mod:`bcm_pyg.planning._plain`.

This module imports numba: get it from :func:`bcm_pyg.planning._engine.kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ._arrays import NO_BOUNDS, Expanded, Found, Graph, blank_map, scratch_for
from ._engine import CACHES

INF = np.inf
#: What stands for a score that is no number, or infinite: last, but not lost.
HUGE = np.finfo(np.float64).max / 4

# Sums keep their order, numbers may be infinite.
_plain = njit(nogil=True, cache=CACHES, error_model='numpy')
_fused = njit(
    nogil=True, cache=CACHES, error_model='numpy', fastmath={'contract'}
)
# Sums of products in any order, so that they fill a vector register.
_summed = njit(
    nogil=True,
    cache=CACHES,
    error_model='numpy',
    fastmath={'contract', 'reassoc', 'nsz'},
)


# --- arithmetic -------------------------------------------------------------

_LOG2E = np.float32(1.44269504)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
_C3, _C4 = np.float32(1 / 6), np.float32(1 / 24)
_C5, _C6 = np.float32(1 / 120), np.float32(1 / 720)
_MOST = np.float32(87)
_BIAS, _SHIFT = np.int32(127), np.int32(23)


@_fused
def _silu(x: Any, power: Any, bits: Any) -> None:
    """Sets x to x / (1 + exp(-x)); exp is written out, as it is then
    vectorised.
    """
    two = bits.view(np.float32)
    for k in range(x.size):
        t = min(abs(x[k]), _MOST)
        n = np.floor(_HALF - t * _LOG2E)
        r = -t - n * _LN2_HIGH - n * _LN2_LOW
        power[k] = _ONE + r * (
            _ONE + r * (_HALF + r * (_C3 + r * (_C4 + r * (_C5 + r * _C6))))
        )
        bits[k] = (np.int32(n) + _BIAS) << _SHIFT  # 2**n as a float
    for k in range(x.size):
        v = x[k]
        e = power[k] * two[k]  # exp(-|v|)
        e = e if abs(v) < _MOST else _ZERO
        x[k] = v * (_ONE if v > _ZERO else e) / (_ONE + e)


@_summed
def _dot(x: Any, y: Any) -> Any:
    out = _ZERO
    for k in range(x.size):
        out += x[k] * y[k]
    return out


@_fused
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


@_summed
def _quadratic(gram: Any, x: Any) -> Any:
    """The form x @ gram @ x, with a matrix as :class:`Map` has it.

    Rows are cut to views that begin at the diagonal: an index that might be
    negative for all the compiler knows keeps a loop from being vectorised.
    """
    out = _ZERO
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


@_summed
def _squared_distance(x: Any, y: Any) -> Any:
    out = _ZERO
    for k in range(x.size):
        out += (x[k] - y[k]) * (x[k] - y[k])
    return out


@_fused
def _feature(net: Any, source: int, target: int, room: Any) -> None:
    """What the last layer sees of a pair of nodes, into room.feature."""
    here, there = net.hidden[source], net.hidden[target]
    x = room.first
    for k in range(x.size):
        x[k] = there[k] - here[k] + net.bias1[k]
    _silu(x, room.power, room.bits)
    _affine(net.weight2, net.bias2, x, room.feature)
    _silu(room.feature, room.power, room.bits)


@_fused
def _ranks(graph: Any, net: Any, node: int, goal: int, room: Any) -> None:
    """Scores of the edges of a node, up to a constant that they share."""
    has_slopes = net.slope.shape[0] > 0
    _feature(net, node, goal, room)
    if not has_slopes:
        _affine(net.weight3, net.bias3, room.feature, room.to_goal)
    first = graph.rowptr[node]
    for edge in range(first, graph.rowptr[node + 1]):
        if has_slopes:
            score = net.offset[edge] + _dot(net.slope[edge], room.feature)
        else:
            _feature(net, node, graph.head[edge], room)
            _affine(net.weight3, net.bias3, room.feature, room.to_head)
            score = _squared_distance(room.to_head, room.to_goal)
        if net.calibrated and graph.head[edge] == goal:
            # Without the terminal convention this score is 0.
            score += np.float32(graph.cost[edge] / net.scale)
        room.score[edge - first] = score


@_fused
def _scores(graph: Any, net: Any, node: int, goal: int, room: Any) -> None:
    """Scores of the edges of a node, in units of the map."""
    _ranks(graph, net, node, goal, room)
    base = _ZERO
    if net.slope.shape[0] > 0:
        base = net.constant + _dot(net.linear, room.feature)
        base += _quadratic(net.gram, room.feature)
    first = graph.rowptr[node]
    for edge in range(first, graph.rowptr[node + 1]):
        score = room.score[edge - first] + base
        if score < _ZERO:  # by rounding
            score = _ZERO
        if graph.head[edge] == goal:
            score = _ZERO
            if net.calibrated:
                score = np.float32(graph.cost[edge] / net.scale)
        room.score[edge - first] = score


@_plain
def _rest(score: float, scale: float, cost: float) -> float:
    """What a score leaves for the way after its edge, at least 0."""
    rest = np.float64(score) * scale - cost
    if rest < 0.0:
        return 0.0
    return rest if rest < HUGE else HUGE  # also if it is no number


@_plain
def _bound(bounds: Any, node: int, goal: int) -> float:
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
    power: Any
    bits: Any
    feature: Any
    to_goal: Any
    to_head: Any
    score: Any


@_plain
def _make_room(graph: Any, net: Any) -> Any:
    hidden, out = net.bias1.size, net.bias3.size
    return _Room(
        np.empty(hidden, np.float32),
        np.empty(hidden, np.float32),
        np.empty(hidden, np.int32),
        np.empty(hidden, np.float32),
        np.empty(out, np.float32),
        np.empty(out, np.float32),
        np.empty(graph.max_degree, np.float32),
    )


@_plain
def _next_stamp(scratch: Any) -> int:
    scratch.clock[0] += 1
    return scratch.clock[0]


@_plain
def _first_stamp(scratch: Any) -> int:
    """The first stamp of a query: none that is in use is given again."""
    if scratch.clock[0] >= 2**30:
        scratch.stamp[:] = 0
        scratch.member[:] = 0
        scratch.place[:] = 0
        scratch.clock[0] = 0
    return _next_stamp(scratch)


@_plain
def _with_room(array: Any, size: int) -> Any:
    """An array with room for so many, with all that was there."""
    if size <= array.size:
        return array
    out = np.empty(max(size, 2 * array.size), array.dtype)
    out[: array.size] = array
    return out


@_plain
def _found(
    nodes: Any, ptr: Any, cost: Any, expansions: Any, walked: Any
) -> Any:
    bound = np.zeros(cost.size)
    return Found(nodes[: ptr[-1]].copy(), ptr, cost, expansions, walked, bound)


# --- walks ------------------------------------------------------------------


@_plain
def walk(
    graph: Any,
    net: Any,
    scratch: Any,
    starts: Any,
    goals: Any,
    prefer_unvisited: bool,
) -> Any:
    """Walks to the best-scored neighbour, at most N steps.

    A walk that provably goes in a circle ends at once: without memory at the
    second visit of a node; with it, at the second visit of a node since the
    last new one, of which one is watched at a time (Brent's algorithm).
    """
    room = _make_room(graph, net)
    num_nodes, size = graph.rowptr.size - 1, starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    total = np.full(size, INF)
    expansions = np.zeros(size, np.int64)
    for query in range(size):
        stamp = _first_stamp(scratch)
        node, goal = starts[query], goals[query]
        begin = end = ptr[query]
        nodes = _with_room(nodes, end + 1)
        nodes[end] = node
        end += 1
        scratch.stamp[node] = stamp
        cost, is_new, lap, stale, watched = 0.0, True, 1, 0, node
        for _ in range(num_nodes):
            if node == goal:
                break
            expansions[query] += is_new
            _ranks(graph, net, node, goal, room)
            first = graph.rowptr[node]
            best, chosen, fresh = _ZERO, -1, False
            for edge in range(first, graph.rowptr[node + 1]):
                rank = room.score[edge - first]
                if not rank < INF:  # overflowed, or no number
                    rank = np.float32(INF)
                new = scratch.stamp[graph.head[edge]] != stamp
                better = new and prefer_unvisited and not fresh
                same = new == fresh or not prefer_unvisited
                if chosen < 0 or better or (same and rank < best):
                    best, chosen = rank, edge
                    fresh = new
            if chosen < 0:  # a dead end
                break
            cost += graph.cost[chosen]
            node = graph.head[chosen]
            nodes = _with_room(nodes, end + 1)
            nodes[end] = node
            end += 1
            is_new = scratch.stamp[node] != stamp
            if is_new:
                scratch.stamp[node] = stamp
                watched, lap, stale = node, 1, 0
            elif node == goal:
                break
            else:
                stale += 1
                if not prefer_unvisited or node == watched:
                    break
                if stale >= lap:
                    watched, lap = node, 2 * lap
        if node == goal:
            total[query] = cost
        else:
            end = begin
        ptr[query + 1] = end
    return _found(nodes, ptr, total, expansions, total)


@_plain
def backtrack(
    graph: Any, net: Any, scratch: Any, starts: Any, goals: Any
) -> Any:
    """Real-time A*, then a retreat (see :class:`Backtracking`)."""
    room = _make_room(graph, net)
    num_nodes, size = graph.rowptr.size - 1, starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    total, walked = np.full(size, INF), np.zeros(size)
    expansions = np.zeros(size, np.int64)
    for query in range(size):
        stamp = _first_stamp(scratch)
        node, goal = starts[query], goals[query]
        begin = end = ptr[query]
        nodes = _with_room(nodes, end + 1)
        nodes[end] = node
        end += 1
        scratch.stamp[node] = stamp
        scratch.place[node] = 0  # on the route; -1 if not any more
        scratch.value[node] = 0.0
        scratch.closed[node] = False
        moves, retreats = 0, False
        while node != goal:
            expansions[query] += not scratch.closed[node]
            scratch.closed[node] = True
            _scores(graph, net, node, goal, room)
            first = graph.rowptr[node]
            best = second = INF
            chosen, fresh = -1, False
            for edge in range(first, graph.rowptr[node + 1]):
                head, step = graph.head[edge], np.float64(graph.cost[edge])
                new = scratch.stamp[head] != stamp
                rest = _rest(room.score[edge - first], net.scale, step)
                if retreats:
                    if scratch.member[head] == stamp:
                        continue
                elif not new:
                    rest = scratch.value[head]
                value = step + rest
                if value < best or (value == best and new and not fresh):
                    second = best
                    best, chosen, fresh = value, edge, new
                elif value < second:
                    second = value
            moves += 1
            if not retreats:
                scratch.value[node] = second
                if chosen < 0 or moves > 4 * num_nodes:
                    # From here on depth first, over all that is not on the
                    # route: what was seen may have more ways to try.
                    retreats, chosen = True, -2
                    for at in range(begin, end):
                        scratch.member[nodes[at]] = stamp
            if chosen == -2:
                continue  # look again at this node
            if chosen == -1:  # nothing new: back to where it came from
                scratch.place[node] = -1
                end -= 1
                if end == begin:
                    break
                walked[query] += graph.cost[scratch.edge[node]]
                node = nodes[end - 1]
                continue
            walked[query] += graph.cost[chosen]
            node = graph.head[chosen]
            if scratch.stamp[node] != stamp:
                scratch.stamp[node] = stamp
                scratch.place[node] = -1
                scratch.closed[node] = False
            if retreats:
                scratch.member[node] = stamp
            if scratch.place[node] >= 0:  # a loop, which is cut
                while nodes[end - 1] != node:
                    end -= 1
                    scratch.place[nodes[end]] = -1
            else:
                scratch.place[node] = end - begin
                scratch.edge[node] = chosen
                nodes = _with_room(nodes, end + 1)
                nodes[end] = node
                end += 1
        if node == goal and end > begin:
            total[query] = 0.0
            for at in range(begin + 1, end):
                total[query] += graph.cost[scratch.edge[nodes[at]]]
        else:
            end = begin
        ptr[query + 1] = end
    return _found(nodes, ptr, total, expansions, walked)


@_plain
def lookahead(
    graph: Any, net: Any, scratch: Any, starts: Any, goals: Any, depth: int
) -> Any:
    """Walks that look some hops ahead (see :class:`Lookahead`).

    Members are the nodes of the walk. What the map says of a node is kept for
    the whole walk, what it costs to get there for one look.
    """
    room = _make_room(graph, net)
    size = starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    total = np.full(size, INF)
    expansions = np.zeros(size, np.int64)
    rim, more = np.empty(64, np.int64), np.empty(64, np.int64)
    for query in range(size):
        walked = _first_stamp(scratch)
        node, goal = starts[query], goals[query]
        end, cost = ptr[query], 0.0
        while True:
            nodes = _with_room(nodes, end + 1)
            nodes[end] = node
            end += 1
            scratch.member[node] = walked
            if node == goal:
                total[query] = cost
                break
            expansions[query] += scratch.place[node] != walked
            scratch.place[node] = walked
            look = _next_stamp(scratch)
            scratch.stamp[node], scratch.cost[node] = look, 0.0
            rim[0], num_rim = node, 1
            best, chosen = INF, -1
            for hop in range(depth):
                if num_rim == 0:
                    break
                layer, num_more = _next_stamp(scratch), 0
                for at in range(num_rim):
                    here = rim[at]
                    for edge in range(
                        graph.rowptr[here], graph.rowptr[here + 1]
                    ):
                        head = graph.head[edge]
                        there = scratch.cost[here] + graph.cost[edge]
                        is_new = scratch.stamp[head] < look
                        if scratch.member[head] == walked or not (
                            is_new
                            or (
                                scratch.stamp[head] == layer
                                and there < scratch.cost[head]
                            )
                        ):
                            continue
                        scratch.cost[head] = there
                        scratch.edge[head] = (
                            edge if hop == 0 else scratch.edge[here]
                        )
                        if is_new:
                            scratch.stamp[head] = layer
                            more = _with_room(more, num_more + 1)
                            more[num_more] = head
                            num_more += 1
                num_rim = 0
                more[:num_more].sort()
                for at in range(num_more):
                    head = more[at]
                    if head == goal:
                        if scratch.cost[head] < best:
                            best = scratch.cost[head]
                            chosen = scratch.edge[head]
                        scratch.stamp[head] = 0  # more hops may cost less
                        continue
                    if scratch.place[head] != walked:
                        scratch.place[head] = walked
                        scratch.closed[head] = False
                        expansions[query] += 1
                    rim = _with_room(rim, num_rim + 1)
                    rim[num_rim] = head
                    num_rim += 1
            for at in range(num_rim):
                head = rim[at]
                if not scratch.closed[head]:
                    scratch.closed[head] = True
                    _scores(graph, net, head, goal, room)
                    scratch.value[head] = _least(
                        graph, net, scratch, head, room, walked
                    )
                value = scratch.cost[head] + scratch.value[head]
                if value < best:
                    best, chosen = value, scratch.edge[head]
            if chosen < 0:
                end = ptr[query]
                break
            cost += graph.cost[chosen]
            node = graph.head[chosen]
        ptr[query + 1] = end
    return _found(nodes, ptr, total, expansions, total)


@_plain
def _least(
    graph: Any, net: Any, scratch: Any, node: int, room: Any, walked: int
) -> float:
    """The lowest score of a node but for edges back to the walk."""
    best, first = INF, graph.rowptr[node]
    for edge in range(first, graph.rowptr[node + 1]):
        if scratch.member[graph.head[edge]] == walked:
            continue
        score = np.float64(room.score[edge - first]) * net.scale
        best = min(best, score if score < HUGE else HUGE)
    return best


# --- searches ---------------------------------------------------------------


class _Heap(NamedTuple):
    """Open nodes: the lowest value first, of equal ones the last found."""

    value: Any
    place: Any
    node: Any


@_plain
def _make_heap() -> Any:
    return _Heap(
        np.empty(64, np.float64), np.empty(64, np.int32), np.empty(64, np.int64)
    )


@_plain
def _before(heap: Any, one: int, two: int) -> bool:
    if heap.value[one] != heap.value[two]:
        return heap.value[one] < heap.value[two]
    return heap.place[one] > heap.place[two]


@_plain
def _swap(heap: Any, one: int, two: int) -> None:
    value, place, node = heap.value[one], heap.place[one], heap.node[one]
    heap.value[one] = heap.value[two]
    heap.place[one] = heap.place[two]
    heap.node[one] = heap.node[two]
    heap.value[two], heap.place[two], heap.node[two] = value, place, node


@_plain
def _push(heap: Any, size: int, value: float, place: int, node: int) -> Any:
    if size == heap.value.size:
        heap = _Heap(
            _with_room(heap.value, size + 1),
            _with_room(heap.place, size + 1),
            _with_room(heap.node, size + 1),
        )
    heap.value[size], heap.place[size], heap.node[size] = value, place, node
    at = size
    while at > 0 and _before(heap, at, (at - 1) // 2):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return heap


@_plain
def _pop(heap: Any, size: int) -> None:
    """Moves the first to the end; size is that before."""
    last = size - 1
    _swap(heap, 0, last)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            return
        if child + 1 < last and _before(heap, child + 1, child):
            child += 1
        if not _before(heap, child, at):
            return
        _swap(heap, child, at)
        at = child


@_plain
def expand(
    graph: Any,
    net: Any,
    bounds: Any,
    scratch: Any,
    starts: Any,
    goals: Any,
    weight: float,
    width: int,
    limits: Any,
    ceilings: Any,
    reopen: bool,
) -> Any:
    """Best-first searches (see :func:`bcm_pyg.planning._plain.search`).

    By the scores of the map, or by the bounds if there are any rows.
    """
    use_bounds = bounds.rows.shape[0] > 0
    room = _make_room(graph, net)
    heap = _make_heap()
    turn = np.empty(max(1, width), np.int64)
    size = starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    lowest = np.full(size, INF)
    reached = np.zeros(size, np.bool_)
    for query in range(size):
        stamp = _first_stamp(scratch)
        start, goal = starts[query], goals[query]
        end, num_found, num_open = ptr[query], 1, 1
        num_turns = 0
        scratch.stamp[start], scratch.place[start] = stamp, 0
        scratch.cost[start] = scratch.value[start] = 0.0
        scratch.closed[start] = False
        heap.value[0], heap.place[0], heap.node[0] = 0.0, 0, start
        while True:
            # Entries of nodes that were found at less cost since are void.
            while num_open > 0 and (
                scratch.closed[heap.node[0]]
                or scratch.value[heap.node[0]] != heap.value[0]
            ):
                _pop(heap, num_open)
                num_open -= 1
            if num_open == 0:
                break
            node = heap.node[0]
            lowest[query] = heap.value[0]
            if node == goal:
                reached[query] = True
                break
            if heap.value[0] >= ceilings[query] or num_turns >= limits[query]:
                break
            lowest[query] = INF
            count = 0
            while num_open > 0 and count < max(1, width):
                node = heap.node[0]
                if node == goal or heap.value[0] >= ceilings[query]:
                    break
                is_void = (
                    scratch.closed[node] or scratch.value[node] != heap.value[0]
                )
                _pop(heap, num_open)
                num_open -= 1
                if not is_void:
                    scratch.closed[node] = True
                    turn[count] = node
                    count += 1
            if width > 0:  # a beam forgets all others but the goal
                for at in range(num_open):
                    node = heap.node[at]
                    if node != goal and not scratch.closed[node]:
                        scratch.stamp[node] = 0
                goal_is_open = (
                    scratch.stamp[goal] == stamp and not scratch.closed[goal]
                )
                num_open = 0
                if goal_is_open:
                    heap = _push(
                        heap, 0, scratch.value[goal], scratch.place[goal], goal
                    )
                    num_open = 1
            for at in range(count):
                node = turn[at]
                num_turns += 1
                if scratch.member[node] != stamp:  # once, if opened again
                    scratch.member[node] = stamp
                    nodes = _with_room(nodes, end + 1)
                    nodes[end] = node
                    end += 1
                if not use_bounds:
                    _scores(graph, net, node, goal, room)
                first = graph.rowptr[node]
                for edge in range(first, graph.rowptr[node + 1]):
                    head = graph.head[edge]
                    step = np.float64(graph.cost[edge])
                    cost = scratch.cost[node] + step
                    is_new = scratch.stamp[head] != stamp
                    if not is_new and (
                        cost >= scratch.cost[head]
                        or (scratch.closed[head] and not reopen)
                    ):
                        continue
                    if use_bounds:
                        rest = min(_bound(bounds, head, goal), HUGE)
                    else:
                        rest = _rest(room.score[edge - first], net.scale, step)
                    if is_new:
                        scratch.stamp[head] = stamp
                        scratch.place[head] = num_found
                        num_found += 1
                    value = min(cost + weight * rest, HUGE)
                    scratch.cost[head], scratch.value[head] = cost, value
                    scratch.closed[head] = False
                    heap = _push(
                        heap, num_open, value, scratch.place[head], head
                    )
                    num_open += 1
        ptr[query + 1] = end
    return Expanded(nodes[: ptr[size]].copy(), ptr, lowest, reached)


@_plain
def _search_inside(
    graph: Any, scratch: Any, heap: Any, start: int, goal: int, member: int
) -> Any:
    """Exact search among the members of a set; the goal gets its cost."""
    stamp = _next_stamp(scratch)
    scratch.stamp[start], scratch.place[start] = stamp, 0
    scratch.cost[start], scratch.closed[start] = 0.0, False
    heap.value[0], heap.place[0], heap.node[0] = 0.0, 0, start
    num_open, num_found = 1, 1
    while num_open > 0:
        cost, node = heap.value[0], heap.node[0]
        _pop(heap, num_open)
        num_open -= 1
        if scratch.closed[node]:
            continue
        scratch.closed[node] = True
        if node == goal:
            return heap, True
        for edge in range(graph.rowptr[node], graph.rowptr[node + 1]):
            head = graph.head[edge]
            if scratch.member[head] != member:
                continue
            there = cost + np.float64(graph.cost[edge])
            if scratch.stamp[head] != stamp:
                scratch.stamp[head] = stamp
                scratch.place[head] = num_found
                num_found += 1
            elif there >= scratch.cost[head]:
                continue
            scratch.cost[head], scratch.edge[head] = there, edge
            scratch.closed[head] = False
            heap = _push(heap, num_open, there, scratch.place[head], head)
            num_open += 1
    return heap, False


@_plain
def inside(
    graph: Any,
    tails: Any,
    scratch: Any,
    starts: Any,
    goals: Any,
    members: Any,
    ptr: Any,
    radius: int,
) -> Any:
    """The best routes through sets of nodes, start and goal among them.

    With a radius, the best route is widened by that many hops, and what is
    found there joins the set, for another search. Expansions are the nodes of
    the set in the end.
    """
    size = starts.size
    heap = _make_heap()
    nodes = np.empty(64 * size, np.int64)
    begins = np.zeros(size + 1, np.int64)
    total = np.full(size, INF)
    expansions = np.zeros(size, np.int64)
    rim = np.empty(64, np.int64)
    for query in range(size):
        start, goal = starts[query], goals[query]
        member = _first_stamp(scratch)
        count = 0
        for at in range(ptr[query], ptr[query + 1]):
            if scratch.member[members[at]] != member:
                scratch.member[members[at]] = member
                count += 1
        has_start = scratch.member[start] == member
        has_goal = scratch.member[goal] == member
        scratch.member[start] = scratch.member[goal] = member
        end = begins[query]
        for again in range(2):
            heap, found = _search_inside(
                graph, scratch, heap, start, goal, member
            )
            if not found:
                break
            end, node = begins[query], goal
            nodes = _with_room(nodes, end + 1)
            nodes[end] = goal
            end += 1
            while node != start:
                node = tails[scratch.edge[node]]
                nodes = _with_room(nodes, end + 1)
                nodes[end] = node
                end += 1
            total[query] = scratch.cost[goal]
            if again or radius == 0 or start == goal:
                break
            count += (not has_start) + (not has_goal)
            has_start = has_goal = True
            num_rim = end - begins[query]
            rim = _with_room(rim, num_rim)
            rim[:num_rim] = nodes[begins[query] : end]
            seen, first = _next_stamp(scratch), 0
            for at in range(num_rim):
                scratch.stamp[rim[at]] = seen
            for _ in range(radius):
                last = num_rim
                for at in range(first, last):
                    node = rim[at]
                    for edge in range(
                        graph.rowptr[node], graph.rowptr[node + 1]
                    ):
                        head = graph.head[edge]
                        if scratch.stamp[head] == seen:
                            continue
                        scratch.stamp[head] = seen
                        rim = _with_room(rim, num_rim + 1)
                        rim[num_rim] = head
                        num_rim += 1
                        if scratch.member[head] != member:
                            scratch.member[head] = member
                            count += 1
                first = last
        route = nodes[begins[query] : end]
        for at in range(route.size // 2):  # it was followed from the goal
            other = route.size - 1 - at
            route[at], route[other] = route[other], route[at]
        begins[query + 1] = end
        expansions[query] = count
    return _found(nodes, begins, total, expansions, total)


def compile_all() -> None:
    """Compiles every kernel, by two nodes that are each other's neighbour."""
    graph = Graph(
        np.array([0, 1, 2]), np.array([1, 0]), np.ones(2, np.float32), 1
    )
    net, scratch = blank_map(2), scratch_for(2)
    start, goal = np.array([0]), np.array([1])
    walk(graph, net, scratch, start, goal, True)
    backtrack(graph, net, scratch, start, goal)
    lookahead(graph, net, scratch, start, goal, 1)
    limit, ceiling = np.array([2]), np.array([INF])
    found = expand(
        graph, net, NO_BOUNDS, scratch, start, goal, 1.0, 0, limit, ceiling,
        False,
    )  # fmt: skip
    inside(graph, start, scratch, start, goal, found.nodes, found.ptr, 1)

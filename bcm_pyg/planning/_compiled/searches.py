"""Best-first search, and exact search among some nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._arrays import Expanded
from .scores import (
    HUGE,
    INF,
    bound_of,
    compiled,
    first_stamp,
    found_routes,
    make_room,
    next_stamp,
    rest_of,
    scores,
    with_room,
)


class _Heap(NamedTuple):
    """Open nodes: the lowest value first, of equal ones the last found."""

    value: Any
    place: Any
    node: Any


@compiled
def _make_heap() -> Any:
    return _Heap(
        np.empty(64, np.float64), np.empty(64, np.int32), np.empty(64, np.int64)
    )


@compiled
def _before(heap: Any, one: int, two: int) -> bool:
    if heap.value[one] != heap.value[two]:
        return heap.value[one] < heap.value[two]
    return heap.place[one] > heap.place[two]


@compiled
def _swap(heap: Any, one: int, two: int) -> None:
    value, place, node = heap.value[one], heap.place[one], heap.node[one]
    heap.value[one] = heap.value[two]
    heap.place[one] = heap.place[two]
    heap.node[one] = heap.node[two]
    heap.value[two], heap.place[two], heap.node[two] = value, place, node


@compiled
def _push(heap: Any, size: int, value: float, place: int, node: int) -> Any:
    if size == heap.value.size:
        heap = _Heap(
            with_room(heap.value, size + 1),
            with_room(heap.place, size + 1),
            with_room(heap.node, size + 1),
        )
    heap.value[size], heap.place[size], heap.node[size] = value, place, node
    at = size
    while at > 0 and _before(heap, at, (at - 1) // 2):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return heap


@compiled
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


@compiled
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
    room = make_room(graph, net)
    heap = _make_heap()
    turn = np.empty(max(1, width), np.int64)
    size = starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    lowest = np.full(size, INF)
    reached = np.zeros(size, np.bool_)
    for query in range(size):
        stamp = first_stamp(scratch)
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
                    nodes = with_room(nodes, end + 1)
                    nodes[end] = node
                    end += 1
                if not use_bounds:
                    scores(graph, net, node, goal, room)
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
                        rest = min(bound_of(bounds, head, goal), HUGE)
                    else:
                        rest = rest_of(
                            room.score[edge - first], net.scale, step
                        )
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


@compiled
def _search_inside(
    graph: Any, scratch: Any, heap: Any, start: int, goal: int, member: int
) -> Any:
    """Exact search among the members of a set; the goal gets its cost."""
    stamp = next_stamp(scratch)
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


@compiled
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
        member = first_stamp(scratch)
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
            nodes = with_room(nodes, end + 1)
            nodes[end] = goal
            end += 1
            while node != start:
                node = tails[scratch.edge[node]]
                nodes = with_room(nodes, end + 1)
                nodes[end] = node
                end += 1
            total[query] = scratch.cost[goal]
            if again or radius == 0 or start == goal:
                break
            count += (not has_start) + (not has_goal)
            has_start = has_goal = True
            num_rim = end - begins[query]
            rim = with_room(rim, num_rim)
            rim[:num_rim] = nodes[begins[query] : end]
            seen, first = next_stamp(scratch), 0
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
                        rim = with_room(rim, num_rim + 1)
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
    return found_routes(nodes, begins, total, expansions, total)

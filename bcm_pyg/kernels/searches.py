"""Best-first search, and exact search among some nodes."""

from typing import Any

import numpy as np

from .arrays import LANES, TURNS
from .heap import (
    DONE,
    EXPANDED,
    LISTED,
    OPEN,
    STAMP,
    TURN,
    begin_at,
    open_node,
    pop,
)
from .scores import (
    HUGE,
    INF,
    append,
    bound_of,
    compiled,
    first_stamp,
    make_room,
    next_stamp,
    no_routes,
    rest_of,
    score_edges,
    with_lists,
)

#: No limit of expansions.
NO_LIMIT = 2**62


# --- best-first search --------------------------------------------------------


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
    ceilings: Any,
    reopen: bool,
    both: bool,
) -> Any:
    """Best-first searches (see :meth:`PlainEngine.search`) by the scores of the
    map, or by the bounds if there are any. A free lane takes the next search.

    Each query is one search, or two if both: there, and back (see
    :meth:`PlainEngine.there_and_back`). So a single query has both lanes.
    """
    count, note, heap, nodes, _, _ = scratch
    size = starts.size * (2 if both else 1)
    lists, end, following = np.empty(64 * size, np.int64), 0, 0
    span, lowest = np.full((size, 2), -1), np.full(size, INF)
    reached = np.zeros(size, np.bool_)
    room, use_bounds = make_room(graph, net), bounds.rows.shape[0] > 0
    turn = np.empty((LANES, max(1, width)), np.int64)
    query, goal = np.full(LANES, -1), np.full(LANES, -1)
    node = np.full(LANES, -1)  # to be expanded
    while True:
        for lane in range(LANES):
            while True:
                asks = query[lane]
                if asks >= 0:
                    most, ceiling = NO_LIMIT, INF
                    if not both:
                        ceiling = ceilings[asks]
                    elif asks % 2 and span[asks - 1, 0] >= 0:
                        most = _most_back(span, asks)
                    node[lane] = _next(
                        count, heap, note, lane, turn, goal[lane], width > 0,
                        most, ceiling,
                    )  # fmt: skip
                    if node[lane] >= 0:
                        break
                    if count[lane, OPEN] > 0:
                        first = heap[lane, 0]
                        lowest[asks] = note[lane, first].value
                        reached[asks] = first == goal[lane]
                    expanded = nodes[lane, : count[lane, LISTED]]
                    lists = append(lists, span, asks, end, expanded)
                    end += expanded.size
                    query[lane] = -1
                if following == size:
                    break
                asks = following // 2 if both else following
                start, goal[lane] = starts[asks], goals[asks]
                if both and following % 2:
                    start, goal[lane] = goal[lane], start
                query[lane] = following
                stamp = first_stamp(count, note, lane)
                begin_at(count, heap, note, lane, start, stamp)
                following += 1
        if node[0] < 0 and node[1] < 0:
            break
        if not use_bounds:
            score_edges(graph, net, node, goal, room, True)
        for lane in range(LANES):
            here, stamp = node[lane], count[lane, STAMP]
            if here < 0:
                continue
            if note[lane, here].member != stamp:  # once, if opened again
                note[lane, here].member = stamp
                nodes[lane, count[lane, LISTED]] = here
                count[lane, LISTED] += 1
            first = graph.rowptr[here]
            for edge in range(first, graph.rowptr[here + 1]):
                head, step = graph.head[edge], np.float64(graph.cost[edge])
                cost = note[lane, here].cost + step
                if note[lane, head].stamp == stamp and (
                    cost >= note[lane, head].cost
                    or (note[lane, head].closed and not reopen)
                ):
                    continue
                if use_bounds:
                    rest = min(bound_of(bounds, head, goal[lane]), HUGE)
                else:
                    score = room.score[lane, edge - first]
                    rest = rest_of(score, net.scale, step)
                value = min(cost + weight * rest, HUGE)
                open_node(count, heap, note, lane, head, cost, value)
    if both:  # a way back may have gone on before the way there was known
        for back in range(1, size, 2):
            most = span[back, 0] + _most_back(span, back)
            span[back, 1] = min(span[back, 1], most)
    return lists[:end].copy(), span, lowest, reached  # see with_lists


@compiled
def _most_back(span: Any, back: int) -> int:
    """What a way back may expand: twice as many nodes as the way there."""
    return 2 * (span[back - 1, 1] - span[back - 1, 0])


@compiled
def _next(
    count: Any,
    heap: Any,
    note: Any,
    lane: int,
    turn: Any,
    goal: int,
    forgets: bool,
    limit: int,
    ceiling: float,
) -> int:
    """The next node to expand, in turns of some nodes; -1 at the end."""
    if count[lane, DONE] == count[lane, TURN]:
        count[lane, DONE] = count[lane, TURN] = 0
        if count[lane, EXPANDED] >= limit:
            return -1
        while count[lane, OPEN] > 0 and count[lane, TURN] < turn.shape[1]:
            first = heap[lane, 0]
            if first == goal or note[lane, first].value >= ceiling:
                break
            turn[lane, count[lane, TURN]] = pop(count, heap, note, lane)
            count[lane, TURN] += 1
        if count[lane, TURN] == 0:
            return -1
        if forgets:  # a beam forgets all others but the goal
            is_open = False
            for at in range(count[lane, OPEN]):
                if heap[lane, at] == goal:
                    is_open = True
                else:
                    note[lane, heap[lane, at]].stamp = 0
            count[lane, OPEN] = is_open
            if is_open:
                heap[lane, 0] = goal
                note[lane, goal].slot = 0
    count[lane, EXPANDED] += 1
    count[lane, DONE] += 1
    return turn[lane, count[lane, DONE] - 1]


# --- exact search inside a set of nodes, in lane 0 ----------------------------


@compiled
def _search_inside(
    graph: Any,
    count: Any,
    heap: Any,
    note: Any,
    start: int,
    goal: int,
    member: int,
    known: float,
) -> bool:
    """Exact search among the members of a set; the goal gets its cost. Whether
    there is a route that costs less than a known one.
    """
    stamp = next_stamp(count, 0)
    begin_at(count, heap, note, 0, start, stamp)
    while count[0, OPEN] > 0:
        node = pop(count, heap, note, 0)
        if node == goal:
            return True
        for edge in range(graph.rowptr[node], graph.rowptr[node + 1]):
            head = graph.head[edge]
            there = note[0, node].cost + np.float64(graph.cost[edge])
            if (
                note[0, head].member == member
                and there < known
                and (note[0, head].stamp != stamp or there < note[0, head].cost)
            ):
                note[0, head].edge = edge
                open_node(count, heap, note, 0, head, there, there)
    return False


@compiled
def _join(note: Any, node: int, member: int) -> int:
    """Makes a node a member; 1 if it was none."""
    if note[0, node].member == member:
        return 0
    note[0, node].member = member
    return 1


@compiled
def _widen(
    graph: Any, count: Any, note: Any, rim: Any, size: int, radius: int
) -> int:
    """Adds all nodes within some hops of a route to it; their number."""
    seen, first = next_stamp(count, 0), 0
    for at in range(size):
        note[0, rim[0, at]].stamp = seen
    for _ in range(radius):
        last = size
        for at in range(first, last):
            node = rim[0, at]
            for edge in range(graph.rowptr[node], graph.rowptr[node + 1]):
                head = graph.head[edge]
                if note[0, head].stamp != seen:
                    note[0, head].stamp = seen
                    rim[0, size] = head
                    size += 1
        first = last
    return size


@compiled
def inside(
    graph: Any,
    scratch: Any,
    starts: Any,
    goals: Any,
    members: Any,
    span: Any,
    radius: int,
) -> Any:
    """See :meth:`PlainEngine.inside`; spans [B, K, 2] are of members."""
    count, note, heap, nodes, _, _ = scratch
    found, end = no_routes(starts.size), 0
    lists = found.nodes
    for query in range(starts.size):
        start, goal = starts[query], goals[query]
        member = first_stamp(count, note, 0)
        size = joined = 0
        for k in range(span.shape[1]):
            for at in range(span[query, k, 0], span[query, k, 1]):
                joined += _join(note, members[at], member)
        ends = _join(note, start, member) + _join(note, goal, member)
        known, turn = INF, 0
        while _search_inside(
            graph, count, heap, note, start, goal, member, known
        ):
            nodes[0, 0], size = goal, 1
            while nodes[0, size - 1] != start:
                edge = note[0, nodes[0, size - 1]].edge
                nodes[0, size] = graph.tail[edge]
                size += 1
            known, before = note[0, goal].cost, joined
            if radius == 0 or start == goal or turn == TURNS:
                break
            joined, ends, turn = joined + ends, 0, turn + 1
            wide = _widen(graph, count, note, nodes, size, radius)
            for at in range(size, wide):
                joined += _join(note, nodes[0, at], member)
            if joined == before:
                break
        found.cost[query] = found.walked[query] = known
        found.expansions[query] = joined
        route = nodes[0, :size][::-1]  # it was followed from the goal
        lists = append(lists, found.span, query, end, route)
        end += size
    return with_lists(found, lists[:end])

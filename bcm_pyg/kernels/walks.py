"""Walks: greedy, backtracking, and with a look ahead."""

from typing import Any

import numpy as np

from .arrays import HUB, LANES
from .scores import (
    HUGE,
    INF,
    ZERO,
    append,
    compiled,
    first_stamp,
    make_room,
    next_stamp,
    no_routes,
    rest_of,
    score_edges,
    with_lists,
)

# Entries of Scratch.count.
_STAMP, _HOPS, _WATCHED, _LAP, _STALE = 0, 1, 2, 3, 4


@compiled
def walk(
    graph: Any,
    net: Any,
    scratch: Any,
    starts: Any,
    goals: Any,
    prefer_unvisited: bool,
) -> Any:
    """Walks of at most N steps; a free lane takes the next query."""
    count, note, _, nodes, order, _ = scratch
    room, found = make_room(graph, net), no_routes(starts.size)
    lists, end, following = found.nodes, 0, 0
    node, goal = np.full(LANES, -1), np.full(LANES, -2)
    query, cost = np.zeros(LANES, np.int64), np.zeros(LANES)
    asked = np.full(LANES, -1)  # where scores are needed
    while True:
        for lane in range(LANES):
            while True:
                if node[lane] == goal[lane]:
                    done = query[lane]
                    route = nodes[lane, : count[lane, _HOPS] + 1]
                    lists = append(lists, found.span, done, end, route)
                    end += route.size
                    found.cost[done] = found.walked[done] = cost[lane]
                    node[lane] = -1
                if node[lane] >= 0 or following == starts.size:
                    break
                query[lane], cost[lane] = following, 0.0
                node[lane], goal[lane] = starts[following], goals[following]
                following += 1
                count[lane, _STAMP] = first_stamp(count, note, lane)
                count[lane, _HOPS] = -1
                _arrive(count, note, nodes, lane, node[lane], True)
        if node[0] < 0 and node[1] < 0:
            break
        for lane in range(LANES):
            asked[lane] = node[lane]
            if node[lane] >= 0:
                degree = _degree(graph, node[lane])
                again = degree > HUB and note[lane, node[lane]].closed
                if degree <= 1 or again:  # no choice, or it is in order
                    asked[lane] = -1
        if asked[0] >= 0 or asked[1] >= 0:
            score_edges(graph, net, asked, goal, room, False)
        for lane in range(LANES):
            here = node[lane]
            if here < 0:
                continue
            is_hub = prefer_unvisited and _degree(graph, here) > HUB
            if not note[lane, here].closed:
                note[lane, here].closed = True
                found.expansions[query[lane]] += 1
                if is_hub:
                    _sort_hub(graph, note, lane, order, room.score, here)
            if is_hub:
                edge = _chosen_of_hub(graph, count, note, lane, order, here)
            else:
                edge = _chosen(
                    graph, count, note, lane, room.score, here, prefer_unvisited
                )
            if edge < 0:  # a dead end
                node[lane] = -1
                continue
            cost[lane] += graph.cost[edge]
            node[lane] = graph.head[edge]
            circles = _arrive(
                count, note, nodes, lane, node[lane], prefer_unvisited
            )
            is_long = count[lane, _HOPS] == graph.rowptr.size - 1
            if node[lane] != goal[lane] and (circles or is_long):
                node[lane] = -1
    return with_lists(found, lists[:end])


@compiled
def _chosen(
    graph: Any,
    count: Any,
    note: Any,
    lane: int,
    score: Any,
    node: int,
    prefer_unvisited: bool,
) -> int:
    """The edge that a walk takes, -1 at a dead end."""
    first = graph.rowptr[node]
    best, chosen, fresh = ZERO, -1, False
    for edge in range(first, graph.rowptr[node + 1]):
        rank = score[lane, edge - first]
        if not rank < INF:  # overflowed, or no number
            rank = np.float32(INF)
        new = note[lane, graph.head[edge]].stamp != count[lane, _STAMP]
        better = new and prefer_unvisited and not fresh
        same = new == fresh or not prefer_unvisited
        if chosen < 0 or better or (same and rank < best):
            best, chosen, fresh = rank, edge, new
    return chosen


@compiled
def _degree(graph: Any, node: int) -> int:
    return graph.rowptr[node + 1] - graph.rowptr[node]


@compiled
def _sort_hub(
    graph: Any, note: Any, lane: int, order: Any, score: Any, node: int
) -> None:
    """Notes the edges of a hub, best first, for all visits of a walk."""
    first, end = graph.rowptr[node], graph.rowptr[node + 1]
    rank = score[lane, : end - first].copy()
    for at in range(rank.size):
        if not rank[at] < INF:
            rank[at] = np.float32(INF)
    order[lane, first:end] = np.argsort(rank, kind='mergesort')
    note[lane, node].slot = 0  # how far it has been gone through


@compiled
def _chosen_of_hub(
    graph: Any, count: Any, note: Any, lane: int, order: Any, node: int
) -> int:
    """The same as :func:`_chosen`, all visits together in a single pass."""
    first, end = graph.rowptr[node], graph.rowptr[node + 1]
    while note[lane, node].slot < end - first:
        edge = first + order[lane, first + note[lane, node].slot]
        if note[lane, graph.head[edge]].stamp != count[lane, _STAMP]:
            return edge
        note[lane, node].slot += 1
    return first + order[lane, first]


@compiled
def _arrive(
    count: Any,
    note: Any,
    nodes: Any,
    lane: int,
    node: int,
    prefer_unvisited: bool,
) -> bool:
    """Makes a node the next of a walk; whether the walk provably goes in a
    circle (see :meth:`bcm_pyg.planning._walk._Walks._circles`).
    """
    count[lane, _HOPS] += 1
    nodes[lane, count[lane, _HOPS]] = node
    if note[lane, node].stamp != count[lane, _STAMP]:
        note[lane, node].stamp = count[lane, _STAMP]
        note[lane, node].closed = False
        count[lane, _WATCHED], count[lane, _LAP] = node, 1
        count[lane, _STALE] = 0
        return False
    count[lane, _STALE] += 1
    if not prefer_unvisited or node == count[lane, _WATCHED]:
        return True
    if count[lane, _STALE] >= count[lane, _LAP]:
        count[lane, _WATCHED], count[lane, _LAP] = node, 2 * count[lane, _LAP]
    return False


@compiled
def backtrack(
    graph: Any, net: Any, scratch: Any, starts: Any, goals: Any
) -> Any:
    """Real-time A*, then a retreat (see :class:`Backtracking`)."""
    room, found = make_room(graph, net), no_routes(starts.size)
    count, note, _, route, _, kept = scratch
    lists, end = found.nodes, 0
    asked, asked_goal = np.full(LANES, -1), np.full(LANES, -1)
    for query in range(starts.size):
        stamp = first_stamp(count, note, 0)
        node, goal = starts[query], goals[query]
        route[0, 0], size = node, 1
        note[0, node].stamp = stamp
        note[0, node].order = 0  # on the route; -1 if not any more
        note[0, node].value = 0.0
        note[0, node].closed = False
        found.walked[query], moves, retreats = 0.0, 0, False
        while node != goal and size > 0:
            first, degree = graph.rowptr[node], _degree(graph, node)
            if degree <= HUB or not note[0, node].closed:
                asked[0], asked_goal[0] = node, goal
                score_edges(graph, net, asked, asked_goal, room, True)
                kept[0, first : first + degree] = room.score[0, :degree]
            found.expansions[query] += not note[0, node].closed
            note[0, node].closed = True
            best = second = INF
            chosen, fresh = -1, False
            for edge in range(first, graph.rowptr[node + 1]):
                head, step = graph.head[edge], np.float64(graph.cost[edge])
                new = note[0, head].stamp != stamp
                rest = rest_of(kept[0, edge], net.scale, step)
                if retreats:
                    if note[0, head].member == stamp:
                        continue
                elif not new:
                    rest = note[0, head].value
                value = step + rest
                if value < best or (value == best and new and not fresh):
                    second = best
                    best, chosen, fresh = value, edge, new
                elif value < second:
                    second = value
            moves += 1
            if not retreats:
                note[0, node].value = second
                if chosen < 0 or moves > 4 * (graph.rowptr.size - 1):
                    # From here on depth first, over all that is not on the
                    # route: what was seen may have more ways to try.
                    retreats = True
                    for at in range(size):
                        note[0, route[0, at]].member = stamp
                    continue  # look again at this node
            if chosen < 0:  # nothing new: back to where it came from
                note[0, node].order = -1
                size -= 1
                if size > 0:
                    found.walked[query] += graph.cost[note[0, node].edge]
                    node = route[0, size - 1]
                continue
            found.walked[query] += graph.cost[chosen]
            node = graph.head[chosen]
            if note[0, node].stamp != stamp:
                note[0, node].stamp = stamp
                note[0, node].order = -1
                note[0, node].closed = False
            if retreats:
                note[0, node].member = stamp
            if note[0, node].order >= 0:  # a loop, which is cut
                while route[0, size - 1] != node:
                    size -= 1
                    note[0, route[0, size]].order = -1
            else:
                note[0, node].order = size
                note[0, node].edge = chosen
                route[0, size] = node
                size += 1
        if size > 0:
            found.cost[query] = 0.0
            for at in range(1, size):
                found.cost[query] += graph.cost[note[0, route[0, at]].edge]
        lists = append(lists, found.span, query, end, route[0, :size])
        end += size
    return with_lists(found, lists[:end])


@compiled
def lookahead(
    graph: Any, net: Any, scratch: Any, starts: Any, goals: Any, depth: int
) -> Any:
    """Walks that look some hops ahead (see :class:`Lookahead`).

    Members are the nodes of the walk. The value of a node is kept for the whole
    walk, its cost for one look.
    """
    room, found = make_room(graph, net), no_routes(starts.size)
    count, note, rim, route, _, _ = scratch
    lists, end = found.nodes, 0
    asked, asked_goal = np.full(LANES, -1), np.full(LANES, -1)
    for query in range(starts.size):
        walked = first_stamp(count, note, 0)
        node, goal = starts[query], goals[query]
        size, cost = 0, 0.0
        while True:
            route[0, size] = node
            size += 1
            note[0, node].member = walked
            if node == goal:
                found.cost[query] = found.walked[query] = cost
                break
            found.expansions[query] += note[0, node].seen != walked
            note[0, node].seen = walked
            look = next_stamp(count, 0)
            note[0, node].stamp, note[0, node].cost = look, 0.0
            rim[0, 0], num_rim = node, 1
            best, chosen = INF, -1
            for hop in range(min(depth, graph.rowptr.size - 1)):
                if num_rim == 0:
                    break
                num_more = _next_layer(
                    graph, count, note, rim, num_rim, hop, look, walked
                )
                num_rim = 0
                for at in range(num_more):
                    head = rim[1, at]
                    if head == goal:
                        if note[0, head].cost < best:
                            best = note[0, head].cost
                            chosen = note[0, head].edge
                        note[0, head].stamp = 0  # more hops may cost less
                        continue
                    if note[0, head].seen != walked:
                        note[0, head].seen = walked
                        note[0, head].closed = False
                        found.expansions[query] += 1
                    rim[0, num_rim] = head
                    num_rim += 1
            for at in range(num_rim):
                head = rim[0, at]
                if not note[0, head].closed:
                    note[0, head].closed = True
                    asked[0], asked_goal[0] = head, goal
                    score_edges(graph, net, asked, asked_goal, room, True)
                    note[0, head].value = _least(
                        graph, net, note, head, room.score, walked
                    )
                value = note[0, head].cost + note[0, head].value
                if value < best:
                    best, chosen = value, note[0, head].edge
            if chosen < 0:
                size = 0
                break
            cost += graph.cost[chosen]
            node = graph.head[chosen]
        lists = append(lists, found.span, query, end, route[0, :size])
        end += size
    return with_lists(found, lists[:end])


@compiled
def _next_layer(
    graph: Any,
    count: Any,
    note: Any,
    rim: Any,
    num_rim: int,
    hop: int,
    look: int,
    walked: int,
) -> int:
    """Puts the nodes one hop beyond the rim into rim[1], in order; returns how
    many there are.
    """
    layer, num_more = next_stamp(count, 0), 0
    for at in range(num_rim):
        here = rim[0, at]
        for edge in range(graph.rowptr[here], graph.rowptr[here + 1]):
            head = graph.head[edge]
            there = note[0, here].cost + graph.cost[edge]
            is_new = note[0, head].stamp < look
            is_cheaper = (
                note[0, head].stamp == layer and there < note[0, head].cost
            )
            if note[0, head].member == walked or not (is_new or is_cheaper):
                continue
            note[0, head].cost = there
            note[0, head].edge = edge if hop == 0 else note[0, here].edge
            if is_new:
                note[0, head].stamp = layer
                rim[1, num_more] = head
                num_more += 1
    rim[1, :num_more].sort()
    return num_more


@compiled
def _least(
    graph: Any, net: Any, note: Any, node: int, score: Any, walked: int
) -> float:
    """The lowest score of a node without edges back to the walk."""
    best, first = INF, graph.rowptr[node]
    for edge in range(first, graph.rowptr[node + 1]):
        if note[0, graph.head[edge]].member != walked:
            value = np.float64(score[0, edge - first]) * net.scale
            best = min(best, value if value < HUGE else HUGE)
    return best

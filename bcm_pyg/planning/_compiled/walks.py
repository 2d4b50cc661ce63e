"""Walks: greedy, backtracking, and with a look ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from .scores import (
    HUGE,
    INF,
    ZERO,
    compiled,
    first_stamp,
    found_routes,
    make_room,
    next_stamp,
    ranks,
    rest_of,
    scores,
    with_room,
)


@compiled
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
    room = make_room(graph, net)
    num_nodes, size = graph.rowptr.size - 1, starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    total = np.full(size, INF)
    expansions = np.zeros(size, np.int64)
    for query in range(size):
        stamp = first_stamp(scratch)
        node, goal = starts[query], goals[query]
        begin = end = ptr[query]
        nodes = with_room(nodes, end + 1)
        nodes[end] = node
        end += 1
        scratch.stamp[node] = stamp
        cost, is_new, lap, stale, watched = 0.0, True, 1, 0, node
        for _ in range(num_nodes):
            if node == goal:
                break
            expansions[query] += is_new
            ranks(graph, net, node, goal, room)
            first = graph.rowptr[node]
            best, chosen, fresh = ZERO, -1, False
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
            nodes = with_room(nodes, end + 1)
            nodes[end] = node
            end += 1
            is_new = scratch.stamp[node] != stamp
            if is_new:
                scratch.stamp[node] = stamp
                watched, lap, stale = node, 1, 0
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
    return found_routes(nodes, ptr, total, expansions, total)


@compiled
def backtrack(
    graph: Any, net: Any, scratch: Any, starts: Any, goals: Any
) -> Any:
    """Real-time A*, then a retreat (see :class:`Backtracking`)."""
    room = make_room(graph, net)
    num_nodes, size = graph.rowptr.size - 1, starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    total, walked = np.full(size, INF), np.zeros(size)
    expansions = np.zeros(size, np.int64)
    for query in range(size):
        stamp = first_stamp(scratch)
        node, goal = starts[query], goals[query]
        begin = end = ptr[query]
        nodes = with_room(nodes, end + 1)
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
            scores(graph, net, node, goal, room)
            first = graph.rowptr[node]
            best = second = INF
            chosen, fresh = -1, False
            for edge in range(first, graph.rowptr[node + 1]):
                head, step = graph.head[edge], np.float64(graph.cost[edge])
                new = scratch.stamp[head] != stamp
                rest = rest_of(room.score[edge - first], net.scale, step)
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
                nodes = with_room(nodes, end + 1)
                nodes[end] = node
                end += 1
        if node == goal and end > begin:
            total[query] = 0.0
            for at in range(begin + 1, end):
                total[query] += graph.cost[scratch.edge[nodes[at]]]
        else:
            end = begin
        ptr[query + 1] = end
    return found_routes(nodes, ptr, total, expansions, walked)


@compiled
def lookahead(
    graph: Any, net: Any, scratch: Any, starts: Any, goals: Any, depth: int
) -> Any:
    """Walks that look some hops ahead (see :class:`Lookahead`).

    Members are the nodes of the walk. What the map says of a node is kept for
    the whole walk, what it costs to get there for one look.
    """
    room = make_room(graph, net)
    size = starts.size
    nodes = np.empty(64 * size, np.int64)
    ptr = np.zeros(size + 1, np.int64)
    total = np.full(size, INF)
    expansions = np.zeros(size, np.int64)
    rim, more = np.empty(64, np.int64), np.empty(64, np.int64)
    for query in range(size):
        walked = first_stamp(scratch)
        node, goal = starts[query], goals[query]
        end, cost = ptr[query], 0.0
        while True:
            nodes = with_room(nodes, end + 1)
            nodes[end] = node
            end += 1
            scratch.member[node] = walked
            if node == goal:
                total[query] = cost
                break
            expansions[query] += scratch.seen[node] != walked
            scratch.seen[node] = walked
            look = next_stamp(scratch)
            scratch.stamp[node], scratch.cost[node] = look, 0.0
            rim[0], num_rim = node, 1
            best, chosen = INF, -1
            for hop in range(depth):
                if num_rim == 0:
                    break
                layer, num_more = next_stamp(scratch), 0
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
                            more = with_room(more, num_more + 1)
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
                    if scratch.seen[head] != walked:
                        scratch.seen[head] = walked
                        scratch.closed[head] = False
                        expansions[query] += 1
                    rim = with_room(rim, num_rim + 1)
                    rim[num_rim] = head
                    num_rim += 1
            for at in range(num_rim):
                head = rim[at]
                if not scratch.closed[head]:
                    scratch.closed[head] = True
                    scores(graph, net, head, goal, room)
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
    return found_routes(nodes, ptr, total, expansions, total)


@compiled
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

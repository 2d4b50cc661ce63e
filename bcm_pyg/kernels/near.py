"""Exact search of few nodes: what it proves of a cost."""

from typing import Any

import numpy as np

from .heap import OPEN, begin, open_node, pop
from .scores import INF, bound_of, compiled, first_stamp


@compiled
def _rest(bounds: Any, node: int, entries: Any, entering: Any) -> float:
    """Lower bound of the cost from a node to the goal, over its entries."""
    least = INF
    for k in range(entries.size):
        rest = entering[k]
        if rest < least and bounds.rows.shape[0] > 0:
            rest += bound_of(bounds, node, entries[k])
        least = min(least, rest)
    return least


@compiled
def near(
    graph: Any,
    bounds: Any,
    scratch: Any,
    exits: Any,
    leaving: Any,
    entries: Any,
    entering: Any,
    limit: int,
) -> tuple[Any, Any]:
    """Lower and upper bounds of the costs of queries, equal where a search of
    some expansions settles them (see :func:`plain_near`); in lane 0.
    """
    count, note, heap, _, _, _ = scratch
    num = exits.shape[0]
    lower, upper = np.full(num, INF), np.full(num, INF)
    for query in range(num):
        stamp = first_stamp(count, note, 0)
        begin(count, 0, stamp)
        ends = entries[query], entering[query]
        for k in range(exits.shape[1]):
            start, cost = exits[query, k], leaving[query, k]
            value = cost + _rest(bounds, start, *ends)
            is_known = note[0, start].stamp == stamp
            if value < INF and not (is_known and note[0, start].cost <= cost):
                open_node(count, heap, note, 0, start, cost, value)
        expanded = 0
        while True:
            for k in range(entries.shape[1]):
                if note[0, ends[0][k]].stamp == stamp:
                    cost = note[0, ends[0][k]].cost + ends[1][k]
                    upper[query] = min(upper[query], cost)
            lower[query] = upper[query]
            if count[0, OPEN] == 0:
                break
            lowest = note[0, heap[0, 0]].value
            lower[query] = min(lowest, upper[query])
            if lowest >= upper[query] or expanded == limit:
                break
            node = pop(count, heap, note, 0)
            expanded += 1
            for edge in range(graph.rowptr[node], graph.rowptr[node + 1]):
                head = graph.head[edge]
                there = note[0, node].cost + np.float64(graph.cost[edge])
                if note[0, head].stamp == stamp and there >= note[0, head].cost:
                    continue
                value = there + _rest(bounds, head, *ends)
                if value < INF:
                    open_node(count, heap, note, 0, head, there, value)
    return lower, upper

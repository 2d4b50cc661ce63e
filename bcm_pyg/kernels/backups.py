"""The min-plus backup over a graph, many times."""

from typing import Any

import numpy as np

from .scores import compiled


@compiled
def back_up(
    rowptr: Any,
    dst: Any,
    cost: Any,
    value: Any,
    node: Any,
    column: Any,
    times: Any,
) -> Any:
    """Backs up the values [N, G], which are overwritten.

    Entries [node, column] are 0 throughout. A negative number of times stands
    for until nothing changes.
    """
    num, width = value.shape
    old, new = value, np.empty_like(value)
    for k in range(node.size):
        old[node[k], column[k]] = 0
    for _ in range(num if times < 0 else times):
        for i in range(num):
            out, own = new[i], old[i]
            for c in range(width):
                out[c] = own[c]
            for e in range(rowptr[i], rowptr[i + 1]):
                there, more = old[dst[e]], cost[e]
                for c in range(width):
                    through = there[c] + more
                    out[c] = through if through < out[c] else out[c]
        for k in range(node.size):
            new[node[k], column[k]] = 0
        old, new = new, old
        if times < 0 and np.array_equal(old, new):
            break
    return old


@compiled
def back_up_changes(
    colptr: Any,
    src: Any,
    cost: Any,
    value: Any,
    node: Any,
    column: Any,
    times: Any,
) -> Any:
    """The same to the bit, by edges into values that the last backup changed.

    The edges are those into each node. The values are [G, N], a goal in a row.
    """
    width, num = value.shape
    listed, pinned = np.zeros(num, np.bool_), np.zeros(num, np.bool_)
    heads, tails = np.empty(num, np.int32), np.empty(num, np.int32)
    old = np.empty(num, value.dtype)
    for k in range(node.size):
        value[column[k], node[k]] = 0
    order, first = np.argsort(column, kind='mergesort'), 0
    for c in range(width):
        own, begin = value[c], first
        while first < node.size and column[order[first]] == c:
            pinned[node[order[first]]] = True
            first += 1
        count = 0
        for i in range(num):
            if np.isfinite(own[i]):
                heads[count] = i
                count += 1
        left = num if times < 0 else times
        while left > 0 and count > 0:
            left -= 1
            for k in range(count):  # as they were before this backup
                old[k] = own[heads[k]]
            changed = 0
            for k in range(count):
                j, there = heads[k], old[k]
                for e in range(colptr[j], colptr[j + 1]):
                    i, through = src[e], there + cost[e]
                    if through < own[i] and not pinned[i]:
                        own[i] = through
                        if not listed[i]:
                            listed[i] = True
                            tails[changed] = i
                            changed += 1
            for k in range(changed):
                listed[tails[k]] = False
            heads, tails, count = tails, heads, changed
        for k in range(begin, first):
            pinned[node[order[k]]] = False
    return value

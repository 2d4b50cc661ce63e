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

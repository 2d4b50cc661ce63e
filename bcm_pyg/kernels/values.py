"""Values of pairs of nodes."""

from typing import Any

import numpy as np

from .arrays import PAIR_LANES
from .scores import INF, compiled, make_room, score_edges


@compiled
def values(graph: Any, net: Any, starts: Any, goals: Any) -> Any:
    """The lowest score of each start for its goal, in units of costs.

    0 at the goal, infinite where no edge leaves.
    """
    room = make_room(graph, net, PAIR_LANES)
    out = np.empty(starts.size, np.float32)
    node, goal = np.zeros(PAIR_LANES, np.int64), np.zeros(PAIR_LANES, np.int64)
    pair, filled = np.zeros(PAIR_LANES, np.int64), 0
    for at in range(starts.size):
        if starts[at] == goals[at]:
            out[at] = 0
        else:
            pair[filled] = at
            node[filled], goal[filled] = starts[at], goals[at]
            filled += 1
        if filled < PAIR_LANES and (at + 1 < starts.size or filled == 0):
            continue
        for lane in range(filled, PAIR_LANES):  # of any other pair
            node[lane], goal[lane] = node[0], goal[0]
        score_edges(graph, net, node, goal, room, True)
        for lane in range(filled):
            here, best = node[lane], INF
            degree = graph.rowptr[here + 1] - graph.rowptr[here]
            for k in range(degree):
                best = min(best, room.score[lane, k])
            out[pair[lane]] = best * net.scale
        filled = 0
    return out

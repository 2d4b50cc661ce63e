"""Small graphs with turns, and planning on them as one would write it down."""

import heapq
import math

import numpy as np
import torch
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.graph import from_arrays


def cross(**more) -> Data:
    """A crossing of four streets, all both ways; node 0 is the middle."""
    pos = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    ends = [[0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0]]
    return from_arrays(pos, ends, [1.0] * 8, **more)


def slow_costs(data: Data, turn_cost, start: int) -> dict[int, float]:
    """Dijkstra over edges, as one would write it down."""
    edges = data.edge_index.T.tolist()
    cost = dict(zip(map(tuple, edges), data.edge_cost.tolist(), strict=True))
    queue = [(c, e) for e, c in cost.items() if e[0] == start]
    heapq.heapify(queue)
    done: dict[tuple[int, int], float] = {}
    best = {start: 0.0}
    while queue:
        total, (u, v) = heapq.heappop(queue)
        if (u, v) in done:
            continue
        done[u, v] = total
        best.setdefault(v, total)
        for (x, w), c in cost.items():
            turn = turn_cost.get((u, v, w), 0.0)
            if x == v and math.isfinite(turn):
                heapq.heappush(queue, (total + turn + c, (v, w)))
    return best


def random_turns(seed: int, num_nodes: int = 9, num_edges: int = 28):
    """A raw graph and costs of some of its turns, a fifth of them forbidden."""
    rng = np.random.default_rng(seed)
    raw = Data(
        pos=torch.from_numpy(rng.random((num_nodes, 2))),
        edge_index=torch.from_numpy(
            rng.integers(num_nodes, size=(2, num_edges))
        ),
        edge_cost=torch.from_numpy(rng.integers(1, 9, num_edges)).double(),
    )
    data = planning_graph(raw)
    edges = data.edge_index.T.tolist()
    turns = [(u, v, w) for u, v in edges for x, w in edges if x == v]
    prices = rng.choice([0.0, 3.0, 10.0, math.inf, 0.5], size=len(turns))
    return data, dict(zip(turns, prices.tolist(), strict=True))

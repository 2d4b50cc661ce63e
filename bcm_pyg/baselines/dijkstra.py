from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.graph import planning_graph
from bcm_pyg.planning import Plan
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Adjacency, as_queries

#: Bytes of distances and predecessors held at a time.
MAX_BYTES = 2**28


class Dijkstra:
    r"""Exact search, the reference of every comparison.

    Queries are grouped by goal: one search against the edges per distinct goal
    (scipy) gives the next hop of every start, and routes are walked in lock
    step. :obj:`expansions` counts the nodes that such a search settles until it
    meets the start. It keeps nothing between queries.

    Args:
        data (torch_geometric.data.Data): The graph.
    """

    def __init__(self, data: Data) -> None:
        self.adjacency = Adjacency.from_data(planning_graph(data))
        self._reversed = self.adjacency.to_scipy(reverse=True)

    def __call__(self, starts: Ids, goals: Ids) -> Plan:
        """Optimal routes for queries given as ints, lists, arrays, tensors."""
        num_nodes = self.adjacency.num_nodes
        start, goal = (
            ids.cpu().numpy() for ids in as_queries(starts, goals, num_nodes)
        )
        cost = np.full(start.size, np.inf)
        expansions = np.zeros(start.size, dtype=np.int64)
        routes: list[tuple[np.ndarray, np.ndarray]] = []
        for query, row, sources in _by_goal(goal, num_nodes):
            distance, next_hop = dijkstra(
                self._reversed, indices=sources, return_predecessors=True
            )
            cost[query] = distance[row, start[query]]
            expansions[query] = _settled(distance, row, cost[query])
            routes.append((query, _walk(next_hop, row, start[query])))
        success = np.isfinite(cost)
        expansions[start == goal] = 0

        longest = max((nodes.shape[1] for _, nodes in routes), default=0)
        nodes = np.full((start.size, longest), -1, dtype=np.int64)
        for query, part in routes:
            nodes[query, : part.shape[1]] = part
        nodes[~success] = -1
        nodes = nodes[:, : max(1, int((nodes >= 0).sum(1).max(initial=0)))]
        hops = np.maximum((nodes >= 0).sum(1) - 1, 0)
        return Plan(
            success=torch.from_numpy(success),
            cost=torch.from_numpy(cost),
            hops=torch.from_numpy(hops),
            nodes=torch.from_numpy(np.ascontiguousarray(nodes)),
            expansions=torch.from_numpy(expansions),
            lower_bound=torch.from_numpy(cost.copy()),
        )

    def storage_bytes(self) -> int:
        """Nothing is kept beside the graph."""
        return 0

    def __repr__(self) -> str:
        return f'{type(self).__name__}(num_nodes={self.adjacency.num_nodes})'


def shortest_distances(
    adjacency: Adjacency, starts: Tensor, goals: Tensor
) -> Tensor:
    """Exact cost of each query, float64 :obj:`[B]`, infinite if unreachable."""
    graph = adjacency.to_scipy(reverse=True)
    start, goal = starts.cpu().numpy(), goals.cpu().numpy()
    cost = np.full(start.size, np.inf)
    for query, row, sources in _by_goal(goal, adjacency.num_nodes):
        cost[query] = dijkstra(graph, indices=sources)[row, start[query]]
    return torch.from_numpy(cost)


def _by_goal(
    goal: np.ndarray, num_nodes: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Chunks of queries: their ids, the row of their goal, the goals."""
    unique, inverse = np.unique(goal, return_inverse=True)
    chunk = max(1, MAX_BYTES // (12 * num_nodes))
    for first in range(0, unique.size, chunk):
        sources = unique[first : first + chunk]
        query = np.flatnonzero(
            (inverse >= first) & (inverse < first + sources.size)
        )
        yield query, inverse[query] - first, sources


def _settled(
    distance: np.ndarray, row: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    out = np.empty(row.size, dtype=np.int64)
    ordered = np.sort(distance, axis=1)
    for goal in np.unique(row):
        here = row == goal
        nearer = np.searchsorted(ordered[goal], cost[here], side='left')
        reached = np.isfinite(cost[here])
        # The goal is settled first, even if it costs nothing to get there, and
        # the start last.
        out[here] = np.maximum(nearer, 1) + reached
    return out


def _walk(
    next_hop: np.ndarray, row: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Follows the tree of each goal from each start, in lock step."""
    steps = [start]
    node = start
    while True:
        # -9999 marks the goal itself and nodes that cannot reach it.
        node = np.where(node >= 0, next_hop[row, node], -1)
        node = np.maximum(node, -1)
        if not (node >= 0).any():
            return np.stack(steps, axis=1)
        steps.append(node)

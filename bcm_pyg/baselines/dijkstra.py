from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import Adjacency

from ._heap_search import heap_search, ways_of

#: Bytes of distances and predecessors held at a time.
MAX_BYTES = 2**28


class Dijkstra(BasePlanner):
    r"""Exact search, the reference of every comparison.

    Queries are grouped by goal: one search against the edges per distinct goal
    (scipy) gives the next hop of every start, and routes are walked in lock
    step. :obj:`expansions` counts the nodes that such a search settles until it
    meets the start, both ends included.

    With :obj:`per_query`, each query is a search of its own, with a binary
    heap, from the start until the goal is settled; :obj:`expansions` counts
    what it settled. Costs are the same, up to rounding, and routes as good. It
    is a loop in Python and pays off only for near goals on large graphs.

    Either way, a start that is its goal needs no search (no expansions), and
    nothing is kept between queries.

    Args:
        data (torch_geometric.data.Data or SimplifiedGraph): The graph.
        per_query (bool, optional): Whether to search for each query alone.
            (default: :obj:`False`)
    """

    def __init__(
        self, data: Data | SimplifiedGraph, *, per_query: bool = False
    ) -> None:
        super().__init__(data, torch.device('cpu'))
        self.per_query = per_query
        self._reversed = self.adjacency.to_scipy(reverse=True)
        self._ways = ways_of(self.adjacency) if per_query else []

    def _answer(self, starts: Tensor, goals: Tensor) -> Plan:
        # It finds out by itself what cannot be reached, and counts that.
        if starts.numel() == 0:
            return Plan.empty(self.adjacency.device)
        return self._in_batches(starts.cpu(), goals.cpu())

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        start, goal = starts.numpy(), goals.numpy()
        search = self._search_each if self.per_query else self._search_grouped
        plan = search(start, goal)
        plan.expansions[torch.from_numpy(start == goal)] = 0
        return replace(plan, lower_bound=plan.cost.clone())

    def storage_bytes(self) -> int:
        """Nothing is kept beside the graph."""
        return 0

    def _search_each(self, start: np.ndarray, goal: np.ndarray) -> Plan:
        found = [
            heap_search(self._ways, *ends)
            for ends in zip(start.tolist(), goal.tolist(), strict=True)
        ]
        longest = max([1, *(len(one.path) for one in found)])
        nodes = np.full((start.size, longest), -1, dtype=np.int64)
        for query, one in enumerate(found):
            nodes[query, : len(one.path)] = one.path
        return Plan.from_routes(
            torch.tensor([one.cost for one in found], dtype=torch.float64),
            torch.from_numpy(nodes),
            torch.tensor([one.settled for one in found], dtype=torch.long),
        )

    def _search_grouped(self, start: np.ndarray, goal: np.ndarray) -> Plan:
        cost = np.full(start.size, np.inf)
        expansions = np.zeros(start.size, dtype=np.int64)
        routes: list[tuple[np.ndarray, np.ndarray]] = []
        for query, row, sources in _by_goal(goal, self.adjacency.num_nodes):
            distance, next_hop = dijkstra(
                self._reversed, indices=sources, return_predecessors=True
            )
            cost[query] = distance[row, start[query]]
            expansions[query] = _settled(distance, row, cost[query])
            routes.append((query, _walk(next_hop, row, start[query])))

        longest = max((nodes.shape[1] for _, nodes in routes), default=1)
        nodes = np.full((start.size, longest), -1, dtype=np.int64)
        for query, part in routes:
            nodes[query, : part.shape[1]] = part
        nodes[np.isinf(cost)] = -1
        return Plan.from_routes(
            torch.from_numpy(cost),
            torch.from_numpy(nodes),
            torch.from_numpy(expansions),
        )

    def __repr__(self) -> str:
        mode = ', per_query=True' if self.per_query else ''
        return f'{type(self).__name__}(num_nodes={self.num_nodes}{mode})'


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

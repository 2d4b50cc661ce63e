from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import Adjacency

#: Bytes of distances and next hops held at a time.
MAX_BYTES = 2**28


class Dijkstra(BasePlanner):
    r"""Exact search, the reference of every comparison.

    Queries are grouped by goal: one search against the edges per distinct goal
    (scipy) gives the next hop of every start, and routes follow them in lock
    step. :obj:`expansions` counts the nodes that its search settles until it
    meets the start, both ends included; a start that is its goal has none.

    Args:
        data (torch_geometric.data.Data or SimplifiedGraph): The graph.
    """

    def __init__(self, data: Data | SimplifiedGraph) -> None:
        super().__init__(data, torch.device('cpu'))
        self._reversed = self.adjacency.to_scipy(reverse=True)

    def _answer(self, starts: Tensor, goals: Tensor) -> Plan:
        # It finds out by itself what cannot be reached, and counts that.
        if starts.numel() == 0:
            return Plan.empty(self.adjacency.device)
        return self._in_batches(starts.cpu(), goals.cpu())

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        queries, plans, start = [], [], starts.numpy()
        for query, rank, trees in _by_goal(self._reversed, goals.numpy()):
            queries.append(query)
            plans.append(_plan_by_trees(trees, rank, start[query]))
        order = torch.from_numpy(np.concatenate(queries)).argsort()
        plan = Plan.cat(plans)[order]
        plan.expansions[starts == goals] = 0
        return plan

    def storage_bytes(self) -> int:
        """Nothing is kept beside the graph."""
        return 0


def shortest_distances(
    adjacency: Adjacency, starts: Tensor, goals: Tensor
) -> Tensor:
    """Exact cost of each query, float64 :obj:`[B]`, infinite if unreachable."""
    graph = adjacency.to_scipy(reverse=True)
    start, goal = starts.cpu().numpy(), goals.cpu().numpy()
    cost = np.full(start.size, np.inf)
    for query, rank, trees in _by_goal(graph, goal):
        cost[query] = trees.distance[rank, start[query]]
    return torch.from_numpy(cost)


class Trees(NamedTuple):
    """The search trees of some goals, against the edges.

    Attributes:
        goals: :obj:`[G]`.
        distance: :obj:`[G, N]` from each node to the goal, or infinite.
        next_hop: :obj:`[G, N]` the node after each node, negative at the goal
            and where there is no route.
    """

    goals: np.ndarray
    distance: np.ndarray
    next_hop: np.ndarray


def search_trees(graph: csr_array, goals: np.ndarray) -> Iterator[Trees]:
    """Searches the reversed graph from each goal, as many as memory allows."""
    size = max(1, MAX_BYTES // (12 * graph.shape[0]))
    for first in range(0, goals.size, size):
        part = goals[first : first + size]
        found = dijkstra(graph, indices=part, return_predecessors=True)
        yield Trees(part, *found)


def follow_hops(
    starts: np.ndarray,
    next_hops: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Tensor:
    """Routes :obj:`[B, L]` along next hops, all in lock step.

    From queries and the nodes that they have reached, :obj:`next_hops` gives
    the nodes that come next, negative where a route ends.
    """
    steps, query, node = [starts], np.arange(starts.size), starts
    while query.size > 0:
        node = next_hops(query, node)
        query, node = query[node >= 0], node[node >= 0]
        steps.append(np.full_like(starts, -1))
        steps[-1][query] = node
    return torch.from_numpy(np.stack(steps, axis=1))


def pad_routes(routes: Sequence[list[int]]) -> Tensor:
    """Routes of different lengths as :obj:`[B, L]`, padded with -1."""
    length = np.array([len(route) for route in routes], dtype=np.int64)
    longest = max(1, length.max(initial=0))
    nodes = np.full((length.size, longest), -1)
    nodes[np.arange(longest) < length[:, None]] = np.fromiter(
        chain.from_iterable(routes), np.int64, length.sum()
    )
    return torch.from_numpy(nodes)


def _by_goal(
    graph: csr_array, goal: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, Trees]]:
    """Parts of the queries: their ids, the rank of their goals, the trees."""
    unique, inverse = np.unique(goal, return_inverse=True)
    first = 0
    for trees in search_trees(graph, unique):
        last = first + trees.goals.size
        query = np.flatnonzero((inverse >= first) & (inverse < last))
        yield query, inverse[query] - first, trees
        first = last


def _plan_by_trees(trees: Trees, rank: np.ndarray, start: np.ndarray) -> Plan:
    """The routes of some queries, given the rank of their goals."""
    cost = trees.distance[rank, start]
    hops = trees.next_hop
    nodes = follow_hops(start, lambda query, node: hops[rank[query], node])
    nodes[torch.from_numpy(np.isinf(cost))] = -1
    ordered = np.sort(trees.distance, axis=1)
    nearer = np.empty_like(start)
    for goal in np.unique(rank):
        here = rank == goal
        nearer[here] = np.searchsorted(ordered[goal], cost[here])
    # The goal is settled first, even if it costs nothing to get there, and the
    # start last.
    settled = np.maximum(nearer, 1) + np.isfinite(cost)
    found = torch.from_numpy(cost), nodes, torch.from_numpy(settled)
    return Plan.from_routes(*found, lower_bound=found[0].clone())

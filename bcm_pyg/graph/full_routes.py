"""From routes on a simplified graph to routes on the full one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from bcm_pyg.utils import Adjacency, cut_loops

from ._bends import ranges
from .simplify import SimplifiedGraph

INF = float('inf')

#: Bytes of distances and predecessors held at a time.
MAX_BYTES = 2**27
#: Entries of a matrix that are put together at a time.
MAX_ENTRIES = 2**20


class FullRoutes:
    """Takes queries on a full graph to its simplified one, and routes back.

    Start and goal have up to two portals each, so that a query has up to four
    :class:`Candidates`. If they are in one segment, exact search among its few
    nodes also connects them there. All nodes are in arrays, with which a single
    query is much quicker than with tensors.

    Args:
        graph (SimplifiedGraph): The graph.
    """

    def __init__(self, graph: SimplifiedGraph) -> None:
        self.graph = graph
        self.full = Adjacency.from_data(graph.full)
        self.core = Adjacency.from_data(graph.data)
        self._inside = _InsideSegments(graph, self.full)
        self._segment = graph.segment.numpy()
        self._node = graph.node.numpy()
        self._next, self._last = (
            graph.next_node.numpy(),
            graph.last_node.numpy(),
        )
        self._through, self._inner = graph.through.numpy(), graph.inner.numpy()
        self._is_forced = graph.simplified_node.numpy() < 0
        # Of a node that is not forced, it is itself the only portal.
        own = graph.simplified_node.numpy()
        self._portal = np.stack([own, np.full_like(own, -1)], axis=1)
        forced = self._is_forced
        self._portal[forced] = graph.portal.numpy()[self._segment[forced]]
        self._leaving = graph.to_portal.numpy().T.copy()
        self._entering = graph.from_portal.numpy().T.copy()
        for cost in (self._leaving, self._entering):
            cost[~forced] = 0.0, INF

    def inside(
        self, starts: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cost :obj:`[B]` and nodes :obj:`[B, L]` of the best route that does
        not leave the segment of start and goal; infinite, -1 if there is none.
        """
        if not self.may_stay(starts, goals).any():  # as most
            return np.full(starts.size, INF), np.full((starts.size, 1), -1)
        nodes = self._inside(starts, goals)
        cost = self.full.route_costs(torch.from_numpy(nodes)).numpy()
        return np.where(nodes[:, 0] < 0, INF, cost), nodes

    def may_stay(self, starts: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Which queries may stay where they are: in a segment, or at a node."""
        here, there = self._segment[starts], self._segment[goals]
        stays: np.ndarray = (here == there) & (here >= 0) | (starts == goals)
        return stays

    def candidates(self, starts: np.ndarray, goals: np.ndarray) -> Candidates:
        """Where each query may leave and enter the simplified graph."""
        leaving, entering = self._leaving[starts], self._entering[goals]
        cost = (leaving[:, :, None] + entering[:, None]).reshape(-1, 4)
        there = np.isfinite(cost) & (starts != goals)[:, None]
        query, which = there.nonzero()
        exits = self._portal[starts[query], which // 2]
        entries = self._portal[goals[query], which % 2]
        return Candidates(query, which, exits, entries, cost[query, which])

    def ends(self, starts: np.ndarray, goals: np.ndarray) -> Ends:
        """The same, not pair by pair."""
        # A missing portal costs infinitely much, whatever node stands for it.
        return Ends(
            self._portal[starts].clip(0),
            self._leaving[starts],
            self._portal[goals].clip(0),
            self._entering[goals],
        )

    def matrix(
        self,
        starts: np.ndarray,
        goals: np.ndarray,
        values: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Costs from each start to each goal, float32 :obj:`[S, G]`.

        Args:
            starts (numpy.ndarray): Full nodes, :obj:`[S]`.
            goals (numpy.ndarray): Full nodes, :obj:`[G]`.
            values (Callable): The costs from some nodes of the simplified graph
                to others; asked once, for the portals that occur.
        """
        ends = self.ends(starts, goals)
        leaving, entering = ends.leaving, ends.entering
        exits, exit_at = np.unique(ends.exits, return_inverse=True)
        entries, entry_at = np.unique(ends.entries, return_inverse=True)
        value = values(exits, entries)
        out = np.empty((starts.size, goals.size), np.float32)
        size = max(1, MAX_ENTRIES // max(1, entries.size + goals.size))
        for first in range(0, starts.size, size):
            part = slice(first, first + size)
            cost = value[exit_at[part]] + leaving[part, :, None]
            cost = cost.min(axis=1)  # to each entry
            cost = (cost[:, entry_at] + entering).min(axis=2)
            near = self.may_stay(starts[part, None], goals)
            row, column = near.nonzero()
            inside, _ = self.inside(starts[part][row], goals[column])
            cost[row, column] = np.minimum(cost[row, column], inside)
            out[part] = cost
        return out

    def num_bytes(self) -> int:
        """Bytes of its tables."""
        tables = [getattr(self.graph, f.name) for f in fields(self.graph)]
        tables = [table for table in tables if isinstance(table, Tensor)]
        tables += [self._is_forced, self._portal]
        tables += [self._leaving, self._entering]
        sizes = [int(table.nbytes) for table in tables]
        return self._inside.num_bytes() + sum(sizes)

    def unpack(
        self,
        core: np.ndarray,
        starts: np.ndarray,
        goals: np.ndarray,
        which: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Routes between portals as routes on the full graph, without loops:
        their costs :obj:`[Q]` and nodes, padded with -1.

        Args:
            core (numpy.ndarray): Nodes of :obj:`Q` routes from exits to
                entries, :obj:`[Q, L]`, padded with -1; none is empty.
            starts (numpy.ndarray): Full nodes, :obj:`[Q]`.
            goals (numpy.ndarray): Full nodes, :obj:`[Q]`.
            which (numpy.ndarray): Which candidate each is, :obj:`[Q]`.
        """
        before = self._run(self._next, starts, which // 2)
        after = self._run(self._last, goals, which % 2)
        used = core >= 0
        edge = self.core.route_edges(torch.from_numpy(core)).numpy()
        through = self._through
        count = np.where(edge < 0, 0, through[edge + 1] - through[edge])
        size = used + count  # a node, then its edge
        num_before = (before >= 0).sum(axis=1)
        begin = num_before[:, None] + size.cumsum(axis=1) - size
        length = num_before + size.sum(axis=1) + (after >= 0).sum(axis=1)

        nodes = np.full((len(core), int(length.max())), -1)
        _put(nodes, before, np.arange(before.shape[1])[None])
        _put(nodes, np.where(used, self._node[core], -1), begin)
        # From the goal backwards, as the table has it.
        last = (length - 1)[:, None]
        _put(nodes, after, last - np.arange(after.shape[1]))
        query, step = (count > 0).nonzero()
        inside, first = count[query, step], through[edge[query, step]]
        nth, at = ranges(first, first + inside)
        column = begin[query, step][nth] + 1 + at - first[nth]
        nodes[query[nth], column] = self._inner[at]
        # Forced nodes may lead back to the route.
        routes = cut_loops(torch.from_numpy(nodes))
        return self.full.route_costs(routes).numpy(), routes.numpy()

    def _run(
        self, step: np.ndarray, nodes: np.ndarray, slot: np.ndarray
    ) -> np.ndarray:
        """Forced nodes from each node to a portal, :obj:`[Q, L]`, then -1."""
        columns = []
        at = np.where(self._is_forced[nodes], nodes, -1)
        while (at >= 0).any():
            columns.append(at)
            at = np.where(at >= 0, step[slot, at], -1)
            at = np.where((at >= 0) & self._is_forced[at], at, -1)
        return np.stack(columns, 1) if columns else np.empty((nodes.size, 0))


class Ends(NamedTuple):
    """Nodes by which queries leave and enter a graph, :obj:`K` of each, and
    what it costs to get to the exits and on from the entries.

    Attributes:
        exits: :obj:`[B, K]` nodes.
        leaving: :obj:`[B, K]` from the start to each; infinite if it is none.
        entries: :obj:`[B, K]` nodes.
        entering: :obj:`[B, K]` from each to the goal; infinite if it is none.
    """

    exits: np.ndarray
    leaving: np.ndarray
    entries: np.ndarray
    entering: np.ndarray

    @classmethod
    def of_nodes(cls, starts: np.ndarray, goals: np.ndarray) -> Ends:
        """Those of queries on the graph itself."""
        none = np.zeros((starts.size, 1))
        return cls(starts[:, None], none, goals[:, None], none)


class Candidates(NamedTuple):
    """Pairs of portals that a query may use, at most four per query.

    Attributes:
        query: :obj:`[C]` the query, ascending.
        which: :obj:`[C]` 0 to 3, which of its pairs.
        exit: :obj:`[C]` portal by which the start is left, a node of the
            simplified graph.
        entry: :obj:`[C]` portal by which the goal is entered.
        cost: :obj:`[C]` from the start to the exit, plus from the entry to the
            goal.
    """

    query: np.ndarray
    which: np.ndarray
    exit: np.ndarray
    entry: np.ndarray
    cost: np.ndarray


def _put(nodes: np.ndarray, values: np.ndarray, column: np.ndarray) -> None:
    """Writes the values that are not -1 into columns of :obj:`nodes`."""
    query, index = (values >= 0).nonzero()
    column = np.broadcast_to(column, values.shape)
    nodes[query, column[query, index]] = values[query, index]


class _InsideSegments:
    """Exact search between forced nodes of a segment, one per goal."""

    def __init__(self, graph: SimplifiedGraph, adjacency: Adjacency) -> None:
        segment = self._segment = graph.segment.numpy()
        # Forced nodes, those of a segment next to each other.
        order = np.argsort(segment, kind='stable')
        self._node = order[np.searchsorted(segment[order], 0) :]
        self._rank = np.full(segment.size, -1)
        self._rank[self._node] = np.arange(self._node.size)
        self._begin = np.searchsorted(
            segment[self._node], np.arange(len(graph.portal) + 1)
        )
        tail = self._rank[adjacency.src.numpy()]
        head = self._rank[adjacency.dst.numpy()]
        inside = (tail >= 0) & (head >= 0)
        cost = adjacency.exact_cost.numpy()[inside]
        size = (self._node.size, self._node.size)
        ends = head[inside], tail[inside]
        self._reversed = csr_array((cost, ends), shape=size)

    def __call__(self, starts: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Routes :obj:`[B, L]` inside a segment; -1 where there is none."""
        segment = self._segment
        same = (segment[starts] == segment[goals]) & (segment[starts] >= 0)
        query = np.flatnonzero(same & (starts != goals))
        found = []
        for number in np.unique(segment[goals[query]]).tolist():
            part = query[segment[goals[query]] == number]
            for which, routes in self._search(
                number, starts[part], goals[part]
            ):
                found.append((part[which], routes))
        longest = max((routes.shape[1] for _, routes in found), default=1)
        nodes = np.full((starts.size, longest), -1)
        nodes[:, 0] = np.where(starts == goals, starts, -1)
        for which, routes in found:
            nodes[which, : routes.shape[1]] = routes
        return nodes

    def _search(
        self, segment: int, starts: np.ndarray, goals: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Routes in one segment: which queries have one, and the nodes."""
        begin, end = self._begin[segment : segment + 2].tolist()
        edges = self._reversed[begin:end, begin:end]
        start = self._rank[starts] - begin
        unique, goal = np.unique(self._rank[goals] - begin, return_inverse=True)
        chunk = max(1, MAX_BYTES // (12 * (end - begin)))
        for first in range(0, unique.size, chunk):
            query = np.flatnonzero((goal >= first) & (goal < first + chunk))
            part = unique[first : first + chunk]
            cost, step = dijkstra(edges, indices=part, return_predecessors=True)
            query = query[np.isfinite(cost[goal[query] - first, start[query]])]
            search, at = goal[query] - first, start[query]
            columns = []
            while (at >= 0).any():
                columns.append(np.where(at >= 0, self._node[begin + at], -1))
                at = np.where(at >= 0, np.maximum(step[search, at], -1), -1)
            if columns:
                yield query, np.stack(columns, axis=1)

    def num_bytes(self) -> int:
        """Bytes of its tables."""
        matrix = self._reversed
        tables = [self._node, self._rank, self._begin]
        tables += [matrix.data, matrix.indices, matrix.indptr]
        return sum(int(table.nbytes) for table in tables)

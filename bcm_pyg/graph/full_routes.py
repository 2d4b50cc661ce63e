"""From routes on a simplified graph to routes on the full one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from bcm_pyg.utils import Adjacency, cut_loops

from .simplify import SimplifiedGraph

INF = float('inf')

#: Bytes of distances and predecessors held at a time.
MAX_BYTES = 2**27


class FullRoutes:
    """Takes queries on a full graph to its simplified one, and routes back.

    Start and goal have up to two portals each, so that a query has up to four
    :class:`Candidates`. If they are in one segment, exact search among its few
    nodes also connects them there.

    Args:
        graph (SimplifiedGraph): The graph.
    """

    def __init__(self, graph: SimplifiedGraph) -> None:
        self.graph = graph
        self.full = Adjacency.from_data(graph.full)
        self.core = Adjacency.from_data(graph.data)
        self._inside = _InsideSegments(graph, self.full)

    def inside(self, starts: Tensor, goals: Tensor) -> tuple[Tensor, Tensor]:
        """Cost :obj:`[B]` and nodes :obj:`[B, L]` of the best route that does
        not leave the segment of start and goal; infinite, -1 if there is none.
        """
        if self.in_one_segment(starts, goals).numel() == 0:  # as most are
            nodes = starts.new_full((starts.numel(), 1), -1)
            return nodes[:, 0].double().fill_(INF), nodes
        nodes = self._inside(starts, goals)
        cost = self.full.route_costs(nodes)
        return cost.masked_fill(nodes[:, 0] < 0, INF), nodes

    def in_one_segment(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Queries that may stay where they are: in a segment, or at a node."""
        segment = self.graph.segment
        same = (segment[starts] == segment[goals]) & (segment[starts] >= 0)
        return (same | (starts == goals)).nonzero().squeeze(1)

    def candidates(self, starts: Tensor, goals: Tensor) -> Candidates:
        """Where each query may leave and enter the simplified graph."""
        exits, leaving = self._portals(starts, self.graph.to_portal)
        entries, entering = self._portals(goals, self.graph.from_portal)
        cost = leaving.repeat_interleave(2, dim=1) + entering.repeat(1, 2)
        there = torch.isfinite(cost) & (starts != goals)[:, None]
        query, which = there.nonzero().unbind(1)
        ends = exits[query, which // 2], entries[query, which % 2]
        return Candidates(query, which, *ends, cost[query, which])

    def _portals(self, nodes: Tensor, cost: Tensor) -> tuple[Tensor, Tensor]:
        """Portals of each node and their costs, both :obj:`[B, 2]`."""
        graph = self.graph
        itself = graph.simplified_node[nodes]  # its own portal, if not forced
        forced = (itself < 0)[:, None]
        own = torch.stack([itself, torch.full_like(itself, -1)], dim=1)
        free = torch.tensor([0.0, INF], dtype=torch.float64)
        if graph.portal.numel() == 0:
            return own, free.expand(nodes.numel(), 2)
        portal = torch.where(forced, graph.portal[graph.segment[nodes]], own)
        return portal, torch.where(forced, cost[:, nodes].T, free)

    def num_bytes(self) -> int:
        """Bytes of its tables."""
        tables = [getattr(self.graph, f.name) for f in fields(self.graph)]
        sizes = [table.nbytes for table in tables if isinstance(table, Tensor)]
        return self._inside.num_bytes() + sum(sizes)

    def unpack(
        self, core: Tensor, starts: Tensor, goals: Tensor, which: Tensor
    ) -> Tensor:
        """Routes between portals as routes on the full graph, without loops.

        Args:
            core (torch.Tensor): Nodes of :obj:`Q` routes from exits to entries,
                :obj:`[Q, L]`, padded with -1; none is empty.
            starts (torch.Tensor): Full nodes, :obj:`[Q]`.
            goals (torch.Tensor): Full nodes, :obj:`[Q]`.
            which (torch.Tensor): Which candidate each is, :obj:`[Q]`.
        """
        graph = self.graph
        before = _run(graph, graph.next_node, starts, which // 2)
        after = _run(graph, graph.last_node, goals, which % 2)
        used = core >= 0
        edge = self.core.route_edges(core)
        count = graph.through[edge + 1] - graph.through[edge]
        size = used + count.masked_fill(edge < 0, 0)  # a node, then its edge
        num_before = (before >= 0).sum(dim=1)
        begin = num_before[:, None] + size.cumsum(dim=1) - size
        length = num_before + size.sum(dim=1) + (after >= 0).sum(dim=1)

        nodes = core.new_full((core.size(0), int(length.max())), -1)
        _put(nodes, before, torch.arange(before.size(1)).expand_as(before))
        _put(nodes, torch.where(used, graph.node[core], -1), begin)
        # From the goal backwards, as the table has it.
        last = (length - 1)[:, None]
        _put(nodes, after, last - torch.arange(after.size(1)))
        query, step = (edge >= 0).nonzero().T
        inner = count[query, step]
        first = graph.through[edge[query, step]].repeat_interleave(inner)
        nth = torch.arange(first.numel())
        nth = nth - (inner.cumsum(0) - inner).repeat_interleave(inner)
        column = begin[query, step].repeat_interleave(inner) + 1 + nth
        nodes[query.repeat_interleave(inner), column] = graph.inner[first + nth]
        return cut_loops(nodes)  # forced nodes may lead back to the route


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

    query: Tensor
    which: Tensor
    exit: Tensor
    entry: Tensor
    cost: Tensor


def _run(
    graph: SimplifiedGraph, step: Tensor, nodes: Tensor, slot: Tensor
) -> Tensor:
    """Forced nodes from each node to a portal, :obj:`[Q, L]`, then -1."""
    simplified = graph.simplified_node
    columns = [nodes[:0].expand(nodes.numel(), 0)]
    at = torch.where(simplified[nodes] < 0, nodes, -1)
    while bool((at >= 0).any()):
        columns.append(at[:, None])
        at = torch.where(at >= 0, step[slot, at], -1)
        at = torch.where((at >= 0) & (simplified[at] < 0), at, -1)
    return torch.cat(columns, dim=1)


def _put(nodes: Tensor, values: Tensor, column: Tensor) -> None:
    """Writes the values that are not -1 into columns of :obj:`nodes`."""
    query, index = (values >= 0).nonzero().T
    nodes[query, column[query, index]] = values[query, index]


class _InsideSegments:
    """Exact search between forced nodes of a segment, one per goal."""

    def __init__(self, graph: SimplifiedGraph, adjacency: Adjacency) -> None:
        self.graph = graph
        segment = graph.segment.numpy()
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

    def __call__(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Routes :obj:`[B, L]` inside a segment; -1 where there is none."""
        segment = self.graph.segment
        same = (segment[starts] == segment[goals]) & (segment[starts] >= 0)
        query = (same & (starts != goals)).nonzero().squeeze(1)
        found = []
        for number in segment[goals[query]].unique().tolist():
            part = query[segment[goals[query]] == number]
            ends = starts[part].numpy(), goals[part].numpy()
            for which, routes in self._search(number, *ends):
                found.append((part[which], routes))
        longest = max((routes.size(1) for _, routes in found), default=1)
        nodes = starts.new_full((starts.numel(), longest), -1)
        nodes[:, 0] = torch.where(starts == goals, starts, -1)
        for which, routes in found:
            nodes[which, : routes.size(1)] = routes
        return nodes

    def _search(
        self, segment: int, starts: np.ndarray, goals: np.ndarray
    ) -> Iterator[tuple[Tensor, Tensor]]:
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
                routes = torch.from_numpy(np.stack(columns, axis=1))
                yield torch.from_numpy(query), routes

    def num_bytes(self) -> int:
        """Bytes of its tables."""
        matrix = self._reversed
        tables = [self._node, self._rank, self._begin]
        tables += [matrix.data, matrix.indices, matrix.indptr]
        return sum(int(table.nbytes) for table in tables)

"""From routes on a simplified graph to routes on the full one."""

from __future__ import annotations

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
    """The way from queries on a full graph to its simplified one, and back.

    A node that was taken out has up to two portals by which its segment is
    left, and two by which it is entered, so that a query has up to four
    :class:`Candidates`. Start and goal inside one segment are also connected
    there, by exact search among its few nodes.

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
        nodes = self._inside(starts, goals)
        cost = self.full.route_costs(nodes)
        return cost.masked_fill(nodes[:, 0] < 0, INF), nodes

    def candidates(self, starts: Tensor, goals: Tensor) -> Candidates:
        """Where each query may leave and enter the simplified graph."""
        exits, leaving = self._portals(starts, self.graph.to_portal)
        entries, entering = self._portals(goals, self.graph.from_portal)
        cost = leaving.repeat_interleave(2, dim=1) + entering.repeat(1, 2)
        there = torch.isfinite(cost) & (starts != goals)[:, None]
        query, which = there.nonzero().unbind(1)
        return Candidates(
            query,
            which,
            exits[query, which // 2],
            entries[query, which % 2],
            cost[query, which],
        )

    def _portals(self, nodes: Tensor, cost: Tensor) -> tuple[Tensor, Tensor]:
        """Portals of each node, cost between them; itself if it stayed."""
        graph = self.graph
        place = graph.place[nodes]
        forced = (place < 0)[:, None]
        own = torch.stack([place, torch.full_like(place, -1)], dim=1)
        free = torch.tensor([0.0, INF], dtype=torch.float64)
        if graph.portal.numel() == 0:
            return own, free.expand(nodes.numel(), 2)
        portal = torch.where(forced, graph.portal[graph.segment[nodes]], own)
        return portal, torch.where(forced, cost[:, nodes].T, free)

    def num_bytes(self) -> int:
        """Bytes of its tables."""
        tables = [getattr(self.graph, f.name) for f in fields(self.graph)]
        return self._inside.num_bytes() + sum(
            table.numel() * table.element_size()
            for table in tables
            if isinstance(table, Tensor)
        )

    def unpack(
        self, core: Tensor, starts: Tensor, goals: Tensor, which: Tensor
    ) -> Tensor:
        """Routes between portals as routes on the full graph.

        What was taken out is put in again. It may lead back over a node of the
        route: such loops are cut.

        Args:
            core (torch.Tensor): Nodes of :obj:`Q` routes from exits to entries,
                :obj:`[Q, L]`, padded with -1; none is empty.
            starts (torch.Tensor): Full nodes, :obj:`[Q]`.
            goals (torch.Tensor): Full nodes, :obj:`[Q]`.
            which (torch.Tensor): Which candidate each is, :obj:`[Q]`.
        """
        graph = self.graph
        before = _run(graph.place, graph.next_node, starts, which // 2)
        after = _run(graph.place, graph.last_node, goals, which % 2)
        used = core >= 0
        edge = self.core.route_edges(core)
        count = graph.through[edge + 1] - graph.through[edge]
        size = used + count.masked_fill(edge < 0, 0)
        num_before = (before >= 0).sum(dim=1)
        begin = num_before[:, None] + size.cumsum(dim=1) - size
        num_core = size.sum(dim=1)
        num_after = (after >= 0).sum(dim=1)

        length = num_before + num_core + num_after
        nodes = core.new_full((core.size(0), int(length.max())), -1)
        _put(nodes, before, torch.arange(before.size(1)).expand_as(before))
        _put(nodes, torch.where(used, graph.node[core], -1), begin)
        # The goal side was walked backwards.
        last = (length - 1)[:, None]
        _put(nodes, after, last - torch.arange(after.size(1)))
        row, column = (edge >= 0).nonzero().T
        inner = count[row, column]
        first = graph.through[edge[row, column]].repeat_interleave(inner)
        nth = torch.arange(first.numel())
        nth = nth - (inner.cumsum(0) - inner).repeat_interleave(inner)
        place = begin[row, column].repeat_interleave(inner) + 1 + nth
        nodes[row.repeat_interleave(inner), place] = graph.inner[first + nth]

        return cut_loops(nodes)


class Candidates(NamedTuple):
    """The ways of queries through the simplified graph, four at most each.

    Attributes:
        query: :obj:`[C]` the query, ascending.
        which: :obj:`[C]` 0 to 3, which of its portals it uses.
        exit: :obj:`[C]` node of the simplified graph by which the start is
            left.
        entry: :obj:`[C]` node by which the goal is entered.
        cost: :obj:`[C]` of the way to the one and from the other.
    """

    query: Tensor
    which: Tensor
    exit: Tensor
    entry: Tensor
    cost: Tensor


def _run(place: Tensor, step: Tensor, nodes: Tensor, slot: Tensor) -> Tensor:
    """The nodes from each node to a portal, :obj:`[Q, L]`, -1 after."""
    columns = []
    at = torch.where(place[nodes] < 0, nodes, -1)
    while bool((at >= 0).any()):
        columns.append(at)
        at = torch.where(at >= 0, step[slot, at], -1)
        at = torch.where((at >= 0) & (place[at] < 0), at, -1)
    if not columns:
        return nodes.new_empty(nodes.numel(), 0)
    return torch.stack(columns, dim=1)


def _put(nodes: Tensor, values: Tensor, column: Tensor) -> None:
    """Writes what is not -1 to its column."""
    row, place = (values >= 0).nonzero().T
    nodes[row, column[row, place]] = values[row, place]


class _InsideSegments:
    """Exact search between nodes that were taken out with the same segment.

    One search per distinct goal, among the nodes of its segment alone.

    Args:
        graph (SimplifiedGraph): The graph.
        adjacency (Adjacency): The edges of the full graph.
    """

    def __init__(self, graph: SimplifiedGraph, adjacency: Adjacency) -> None:
        self.graph = graph
        self.adjacency = adjacency
        segment = graph.segment.numpy()
        # Forced nodes, those of a segment next to each other.
        order = np.argsort(segment, kind='stable')
        self._node = order[np.searchsorted(segment[order], 0) :]
        self._rank = np.full(segment.size, -1)
        self._rank[self._node] = np.arange(self._node.size)
        num_segments = len(graph.portal)
        self._begin = np.searchsorted(
            segment[self._node], np.arange(num_segments + 1)
        )
        tail, head = (
            self._rank[adjacency.src.numpy()],
            self._rank[adjacency.dst.numpy()],
        )
        inside = (tail >= 0) & (head >= 0)
        cost = adjacency.cost.double().numpy()[inside]
        size = (self._node.size, self._node.size)
        self._reversed = csr_array(
            (cost, (head[inside], tail[inside])), shape=size
        )

    def __call__(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Routes :obj:`[B, L]` of the queries that have one inside, else -1."""
        segment = self.graph.segment
        same = (segment[starts] == segment[goals]) & (segment[starts] >= 0)
        query = (same & (starts != goals)).nonzero().squeeze(1)
        longest, found = 1, []
        segments, inverse = segment[goals[query]].unique(return_inverse=True)
        for place, number in enumerate(segments.tolist()):
            part = query[inverse == place]
            for rows, walked in self._walks(number, starts[part], goals[part]):
                found.append((part[rows], walked))
                longest = max(longest, walked.size(1))
        nodes = starts.new_full((starts.numel(), longest), -1)
        nodes[:, 0] = torch.where(starts == goals, starts, -1)
        for rows, walked in found:
            nodes[rows, : walked.size(1)] = walked
        return nodes

    def _walks(
        self, segment: int, starts: Tensor, goals: Tensor
    ) -> list[tuple[Tensor, Tensor]]:
        """Routes inside one segment: which queries have one, and the nodes."""
        begin, end = self._begin[segment : segment + 2].tolist()
        graph, name = self._segment(begin, end), self._node[begin:end]
        start = self._rank[starts.numpy()] - begin
        unique, inverse = np.unique(
            self._rank[goals.numpy()] - begin, return_inverse=True
        )
        out = []
        chunk = max(1, MAX_BYTES // (12 * (end - begin)))
        for first in range(0, unique.size, chunk):
            part = unique[first : first + chunk]
            rows = np.flatnonzero(
                (inverse >= first) & (inverse < first + chunk)
            )
            cost, step = dijkstra(graph, indices=part, return_predecessors=True)
            rows = rows[np.isfinite(cost[inverse[rows] - first, start[rows]])]
            row, at = inverse[rows] - first, start[rows]
            columns = []
            while (at >= 0).any():
                columns.append(np.where(at >= 0, name[at], -1))
                at = np.where(at >= 0, np.maximum(step[row, at], -1), -1)
            if columns:
                walked = torch.from_numpy(np.stack(columns, axis=1))
                out.append((torch.from_numpy(rows), walked))
        return out

    def _segment(self, begin: int, end: int) -> csr_array:
        """The reversed edges among the nodes of one segment."""
        first, *_, last = self._reversed.indptr[begin : end + 1]
        return csr_array(
            (
                self._reversed.data[first:last],
                self._reversed.indices[first:last] - begin,
                self._reversed.indptr[begin : end + 1] - first,
            ),
            shape=(end - begin, end - begin),
        )

    def num_bytes(self) -> int:
        """Bytes of its tables."""
        matrix = self._reversed
        tables = [self._node, self._rank, self._begin]
        tables += [matrix.data, matrix.indices, matrix.indptr]
        return sum(int(table.nbytes) for table in tables)

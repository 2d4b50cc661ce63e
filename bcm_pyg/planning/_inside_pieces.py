from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from bcm_pyg.graph.decision_graph import DecisionGraph

from ._route_edges import RouteEdges
from .plan import Plan

INF = float('inf')

#: Bytes of distances and predecessors held at a time.
MAX_BYTES = 2**27


class InsidePieces:
    """Exact search between forced nodes that share a piece.

    One search per distinct goal, among the nodes of its piece alone.

    Args:
        graph (DecisionGraph): The graph.
        edges (RouteEdges): The edges of the full graph.
    """

    def __init__(self, graph: DecisionGraph, edges: RouteEdges) -> None:
        self.graph = graph
        self.edges = edges
        piece = graph.piece.numpy()
        # Forced nodes, those of a piece next to each other.
        order = np.argsort(piece, kind='stable')
        self._node = order[np.searchsorted(piece[order], 0) :]
        self._rank = np.full(piece.size, -1)
        self._rank[self._node] = np.arange(self._node.size)
        num_pieces = len(graph.gate)
        self._begin = np.searchsorted(
            piece[self._node], np.arange(num_pieces + 1)
        )
        adjacency = edges.adjacency
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

    def __call__(self, starts: Tensor, goals: Tensor) -> Plan:
        """Routes of the queries that have one inside; the others fail."""
        piece = self.graph.piece
        same = (piece[starts] == piece[goals]) & (piece[starts] >= 0)
        query = (same & (starts != goals)).nonzero().squeeze(1)
        nodes = torch.where(starts == goals, starts, -1)[:, None]
        pieces, inverse = piece[goals[query]].unique(return_inverse=True)
        for place, number in enumerate(pieces.tolist()):
            part = query[inverse == place]
            for rows, walked in self._walks(number, starts[part], goals[part]):
                nodes = join_rows(nodes, part[rows], walked)
        success = nodes[:, 0] >= 0
        cost = self.edges.costs(nodes).masked_fill(~success, INF)
        hops = ((nodes >= 0).sum(dim=1) - 1).clamp(min=0)
        return Plan(
            success, cost, hops, nodes, torch.zeros_like(starts), cost.clone()
        )

    def _walks(
        self, piece: int, starts: Tensor, goals: Tensor
    ) -> list[tuple[Tensor, Tensor]]:
        """Routes inside one piece: which queries have one, and the nodes."""
        begin, end = self._begin[piece : piece + 2].tolist()
        graph, name = self._piece(begin, end), self._node[begin:end]
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

    def _piece(self, begin: int, end: int) -> csr_array:
        """The reversed edges among the nodes of one piece."""
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


def join_rows(nodes: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    """Routes :obj:`[B, L]` with some rows replaced, as wide as needed."""
    width = max(nodes.size(1), new.size(1))
    pad = torch.nn.functional.pad
    nodes = pad(nodes, (0, width - nodes.size(1)), value=-1)
    nodes[rows] = pad(new, (0, width - new.size(1)), value=-1).to(nodes)
    return nodes

"""From routes between decision nodes to routes on the full graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from bcm_pyg.graph.decision_graph import DecisionGraph
from bcm_pyg.utils import Adjacency

from .plan import Plan

INF = float('inf')

#: Bytes of distances and predecessors held at a time.
MAX_BYTES = 2**27


class Ways(NamedTuple):
    """The ways of each query past the gates of its two ends, four at most.

    Attributes:
        exit: :obj:`[B, 4]` decision node by which the start is left.
        entry: :obj:`[B, 4]` decision node by which the goal is entered.
        cost: :obj:`[B, 4]` of the forced moves before and after; infinite where
            there is no such way.
    """

    exit: Tensor
    entry: Tensor
    cost: Tensor


def ways_of(graph: DecisionGraph, starts: Tensor, goals: Tensor) -> Ways:
    """All ways of each query; way :math:`2 o + i` leaves by gate :math:`o`."""
    exits, leaving = _gates(graph, starts, graph.to_gate)
    entries, entering = _gates(graph, goals, graph.from_gate)
    return Ways(
        exits.repeat_interleave(2, dim=1),
        entries.repeat(1, 2),
        leaving.repeat_interleave(2, dim=1) + entering.repeat(1, 2),
    )


def _gates(
    graph: DecisionGraph, nodes: Tensor, cost: Tensor
) -> tuple[Tensor, Tensor]:
    """Gates of each node and the cost between them; its own if not forced."""
    place = graph.place[nodes]
    forced = (place < 0)[:, None]
    own = torch.stack([place, torch.full_like(place, -1)], dim=1)
    free = torch.tensor([0.0, INF], dtype=torch.float64)
    if graph.gate.numel() == 0:
        return own, free.expand(nodes.numel(), 2)
    gate = torch.where(forced, graph.gate[graph.piece[nodes]], own)
    return gate, torch.where(forced, cost[:, nodes].T, free)


def unpack(
    graph: DecisionGraph,
    adjacency: Adjacency,
    plan: Plan,
    starts: Tensor,
    goals: Tensor,
    way: Tensor,
) -> Plan:
    """A plan between gates as one on the full graph, forced moves put in.

    Args:
        graph (DecisionGraph): The graph.
        adjacency (Adjacency): The edges of the full graph.
        plan (Plan): Routes of :obj:`Q` queries from exits to entries.
        starts (torch.Tensor): Full nodes, :obj:`[Q]`.
        goals (torch.Tensor): Full nodes, :obj:`[Q]`.
        way (torch.Tensor): Which way each took, :obj:`[Q]`.
    """
    before = _forced_run(graph.place, graph.next_node, starts, way // 2)
    after = _forced_run(graph.place, graph.last_node, goals, way % 2)
    core = plan.nodes
    used = core >= 0
    edge = edge_ids(Adjacency.from_data(graph.data), core)
    count = graph.through[edge + 1] - graph.through[edge]
    size = used + count.masked_fill(edge < 0, 0)
    num_before = (before >= 0).sum(dim=1)
    begin = num_before[:, None] + size.cumsum(dim=1) - size
    num_core = size.sum(dim=1)
    num_after = (after >= 0).sum(dim=1)

    longest = int((num_before + num_core + num_after).max())
    nodes = core.new_full((core.size(0), longest), -1)
    _put(nodes, before, torch.arange(before.size(1)).expand_as(before))
    _put(nodes, torch.where(used, graph.node[core], -1), begin)
    # The goal side was walked backwards.
    last = (num_before + num_core + num_after - 1)[:, None]
    _put(nodes, after, last - torch.arange(after.size(1)))
    row, column = (edge >= 0).nonzero().T
    inner = count[row, column]
    first = graph.through[edge[row, column]].repeat_interleave(inner)
    nth = torch.arange(first.numel())
    nth = nth - (inner.cumsum(0) - inner).repeat_interleave(inner)
    place = begin[row, column].repeat_interleave(inner) + 1 + nth
    nodes[row.repeat_interleave(inner), place] = graph.inner[first + nth]

    nodes[~plan.success] = -1
    hops = ((nodes >= 0).sum(dim=1) - 1).clamp(min=0)
    cost = path_costs(adjacency, nodes).masked_fill(~plan.success, INF)
    return Plan(
        plan.success, cost, hops, nodes, plan.expansions, plan.lower_bound
    )


def _forced_run(
    place: Tensor, step: Tensor, nodes: Tensor, slot: Tensor
) -> Tensor:
    """The forced nodes from each node to a gate, :obj:`[Q, L]`, -1 after."""
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


def edge_ids(adjacency: Adjacency, nodes: Tensor) -> Tensor:
    """Edges along routes :obj:`[Q, L]`, -1 at and after the last node."""
    key = adjacency.src * adjacency.num_nodes + adjacency.dst  # ascending
    out = torch.full_like(nodes, -1)
    head = nodes[:, 1:]
    wanted = nodes[:, :-1] * adjacency.num_nodes + head
    found = torch.searchsorted(key, wanted).clamp(max=key.numel() - 1)
    out[:, :-1] = torch.where(head >= 0, found, -1)
    return out


def path_costs(adjacency: Adjacency, nodes: Tensor) -> Tensor:
    """What routes :obj:`[Q, L]` cost, float64 :obj:`[Q]`."""
    edge = edge_ids(adjacency, nodes)
    cost = adjacency.cost[edge].double()
    return cost.masked_fill(edge < 0, 0).sum(dim=1)


class InsidePieces:
    """Exact search between forced nodes that share a piece.

    One search per distinct goal; it sees no more than the nodes of the piece.
    """

    def __init__(self, graph: DecisionGraph, adjacency: Adjacency) -> None:
        self.graph = graph
        self.adjacency = adjacency
        inside = (graph.piece[adjacency.src] >= 0) & (
            graph.piece[adjacency.dst] >= 0
        )
        self._reversed = Adjacency(
            adjacency.rowptr,  # not used by to_scipy
            adjacency.src[inside],
            adjacency.dst[inside],
            adjacency.cost[inside],
            adjacency.num_nodes,
        ).to_scipy(reverse=True)

    def __call__(self, starts: Tensor, goals: Tensor) -> Plan:
        """Routes of the queries that have one inside; the others fail."""
        piece = self.graph.piece
        same = (piece[starts] == piece[goals]) & (piece[starts] >= 0)
        query = (same & (starts != goals)).nonzero().squeeze(1)
        nodes = torch.where(starts == goals, starts, -1)[:, None]
        for rows, walked in self._walks(starts[query], goals[query]):
            nodes = join_rows(nodes, query[rows], walked)
        success = nodes[:, 0] >= 0
        cost = path_costs(self.adjacency, nodes).masked_fill(~success, INF)
        hops = ((nodes >= 0).sum(dim=1) - 1).clamp(min=0)
        return Plan(
            success, cost, hops, nodes, torch.zeros_like(starts), cost.clone()
        )

    def _walks(
        self, starts: Tensor, goals: Tensor
    ) -> list[tuple[Tensor, Tensor]]:
        unique, inverse = goals.unique(return_inverse=True)
        out = []
        chunk = max(1, MAX_BYTES // (12 * self.adjacency.num_nodes))
        for first in range(0, unique.numel(), chunk):
            part = unique[first : first + chunk]
            rows = (inverse >= first) & (inverse < first + part.numel())
            rows = rows.nonzero().squeeze(1)
            cost, step = dijkstra(
                self._reversed, indices=part.numpy(), return_predecessors=True
            )
            row, at = (inverse[rows] - first).numpy(), starts[rows].numpy()
            rows = rows[torch.from_numpy(np.isfinite(cost[row, at]))]
            row, at = (inverse[rows] - first).numpy(), starts[rows].numpy()
            columns = []
            while (at >= 0).any():
                columns.append(at)
                at = np.where(at >= 0, np.maximum(step[row, at], -1), -1)
            if columns:
                out.append((rows, torch.from_numpy(np.stack(columns, axis=1))))
        return out


def join_rows(nodes: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    """Routes :obj:`[B, L]` with some rows replaced, as wide as needed."""
    width = max(nodes.size(1), new.size(1))
    pad = torch.nn.functional.pad
    nodes = pad(nodes, (0, width - nodes.size(1)), value=-1)
    nodes[rows] = pad(new, (0, width - new.size(1)), value=-1).to(nodes)
    return nodes

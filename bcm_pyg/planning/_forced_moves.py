"""From routes between decision nodes to routes on the full graph."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from bcm_pyg.graph.decision_graph import DecisionGraph

from ._route_edges import RouteEdges, cut_loops
from .plan import Plan

INF = float('inf')


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
    core_edges: RouteEdges,
    full_edges: RouteEdges,
    plan: Plan,
    starts: Tensor,
    goals: Tensor,
    way: Tensor,
) -> Plan:
    """A plan between gates as one on the full graph, forced moves put in.

    A forced move may lead back over a node of the route: such loops are cut.

    Args:
        graph (DecisionGraph): The graph.
        core_edges (RouteEdges): The edges of :obj:`graph.data`.
        full_edges (RouteEdges): The edges of :obj:`graph.full`.
        plan (Plan): Routes of :obj:`Q` queries from exits to entries.
        starts (torch.Tensor): Full nodes, :obj:`[Q]`.
        goals (torch.Tensor): Full nodes, :obj:`[Q]`.
        way (torch.Tensor): Which way each took, :obj:`[Q]`.
    """
    before = _forced_run(graph.place, graph.next_node, starts, way // 2)
    after = _forced_run(graph.place, graph.last_node, goals, way % 2)
    core = plan.nodes
    used = core >= 0
    edge = core_edges.ids(core)
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
    nodes = cut_loops(nodes)
    hops = ((nodes >= 0).sum(dim=1) - 1).clamp(min=0)
    cost = full_edges.costs(nodes).masked_fill(~plan.success, INF)
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

"""Exact search among a few nodes of each query."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from bcm_pyg.utils import Adjacency

from .pairs import counted, place_of, split, united
from .plan import Plan
from .routes import plan_of_routes

#: Nodes searched at a time, over all queries.
MAX_PAIRS = 2**18


def restricted_search(
    adjacency: Adjacency, pairs: Tensor, starts: Tensor, goals: Tensor
) -> Plan:
    r"""The best route of each query through the nodes it may use.

    It may always use its start and its goal. The subgraphs of the queries are
    put side by side in one graph, and one search from all starts (scipy)
    settles them all. A query without a route among its nodes fails;
    :obj:`expansions` counts those it was given.

    Queries are taken together as long as they have :math:`2^{18}` nodes. That
    takes about :math:`2^{18} (60 + 60 d)` bytes (80 MB at :math:`d = 4` edges a
    node), or those of the largest single query.

    Args:
        adjacency (Adjacency): The graph.
        pairs (torch.Tensor): Sorted :math:`q N + i` of the nodes :math:`i` that
            query :math:`q` may use, :obj:`[M]`.
        starts (torch.Tensor): :obj:`[B]`.
        goals (torch.Tensor): :obj:`[B]`.
    """
    num_nodes, num_queries = adjacency.num_nodes, starts.numel()
    expansions = counted(pairs, num_queries, num_nodes)
    begin = torch.arange(num_queries, device=starts.device) * num_nodes
    pairs = united(pairs, begin + starts, begin + goals)
    plans = []
    for some, part in split(pairs, num_queries, num_nodes, MAX_PAIRS):
        cost, nodes = _search(adjacency, part, starts[some], goals[some])
        plans.append(plan_of_routes(cost, nodes, expansions[some]))
    return Plan.cat(plans)


def _search(
    adjacency: Adjacency, pairs: Tensor, starts: Tensor, goals: Tensor
) -> tuple[Tensor, Tensor]:
    """Cost and nodes of the best routes of queries, in one search."""
    num_nodes = adjacency.num_nodes
    node = pairs % num_nodes
    edge, row = adjacency.out_edges(node)
    place = place_of(pairs, (pairs - node)[row] + adjacency.dst[edge])
    inside = (place >= 0).nonzero().squeeze(1)
    edge, row, place = edge[inside], row[inside], place[inside]
    degree = torch.bincount(row, minlength=pairs.numel())
    rowptr = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
    graph = csr_array(
        (
            adjacency.cost[edge].double().cpu().numpy(),
            place.to(torch.int32).cpu().numpy(),
            rowptr.to(torch.int32).cpu().numpy(),
        ),
        shape=(pairs.numel(), pairs.numel()),
    )
    begin = torch.arange(starts.numel(), device=starts.device) * num_nodes
    start, goal = (
        place_of(pairs, begin + ends).cpu().numpy() for ends in (starts, goals)
    )
    cost, previous, _ = dijkstra(
        graph, indices=start, min_only=True, return_predecessors=True
    )
    cost = cost[goal]
    places = torch.from_numpy(_walk_back(previous, goal, np.isfinite(cost)))
    places = places.to(starts.device)
    nodes = torch.where(places >= 0, node[places], -1)
    return torch.from_numpy(cost).to(starts.device), nodes


def _walk_back(
    previous: np.ndarray, goal: np.ndarray, found: np.ndarray
) -> np.ndarray:
    """Routes from start to goal, padded with -1, from the tree of a search."""
    steps = [np.where(found, goal, -1)]
    while True:
        # -9999 is what comes before a start.
        place = np.where(steps[-1] >= 0, previous[steps[-1]], -1)
        place = np.maximum(place, -1)
        if not (place >= 0).any():
            break
        steps.append(place)
    back = np.stack(steps, axis=1)  # goal first
    hops = (back >= 0).sum(axis=1) - 1
    turned = hops[:, None] - np.arange(back.shape[1])
    routes = np.take_along_axis(back, np.maximum(turned, 0), axis=1)
    return np.where(turned >= 0, routes, -1)

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency

from .landmarks import BoundScorer, LandmarkBounds
from .plan import Plan
from .restricted import restricted_search
from .routes import cheaper, joined
from .search import search


def with_bounds(
    plan: Plan, bounds: LandmarkBounds, starts: Tensor, goals: Tensor
) -> Plan:
    """The plan with lower bounds of the costs of its queries."""
    bound = torch.minimum(bounds(starts, goals), plan.cost)
    return replace(plan, lower_bound=torch.maximum(bound, plan.lower_bound))


def certified(
    plan: Plan,
    bounds: LandmarkBounds,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
    epsilon: float,
) -> Plan:
    r"""Routes that cost at most :math:`1 + \epsilon` times the lower bound.

    Where a route of cost :math:`u` is not proven to, an exact search expands
    only nodes that may lie on a route cheaper than :math:`u / (1 + \epsilon)`:
    those for which the cost from the start and the bound of the rest are less.
    It finds such a route, or none is left and that is the proof. A query
    without a route is searched to the end.

    Bounds hold up to rounding: relatively :math:`10^{-12}` on small graphs and
    :math:`10^{-9}` at a million nodes, as searches tell values apart.

    Args:
        plan (Plan): Routes of connected queries.
        bounds (LandmarkBounds): Lower bounds on its graph.
        adjacency (Adjacency): The graph.
        starts (torch.Tensor): :obj:`[B]`.
        goals (torch.Tensor): :obj:`[B]`.
        epsilon (float): :math:`\epsilon`.
    """
    plan = with_bounds(plan, bounds, starts, goals)
    doubtful = plan.cost > (1 + epsilon) * plan.lower_bound
    query = doubtful.nonzero().squeeze(1)
    if query.numel() == 0:
        return plan
    # A hair more, so that the proof survives a division and a product.
    ceiling = plan.cost[query] / (1 + epsilon) * (1 + 2**-50)
    starts, goals = starts[query], goals[query]
    parts = []
    for part in search(
        BoundScorer(bounds),
        adjacency,
        starts,
        goals,
        ceiling=ceiling,
        reopen=True,
    ):
        some = part.query
        found = restricted_search(
            adjacency, part.pairs, starts[some], goals[some]
        )
        cost = torch.minimum(found.cost, plan.cost[query[some]])
        # Every route that was not found passes an open node.
        bound = torch.where(part.reached, cost, torch.minimum(part.bound, cost))
        parts.append((some, replace(found, lower_bound=bound)))
    return cheaper(plan, query, joined(parts))

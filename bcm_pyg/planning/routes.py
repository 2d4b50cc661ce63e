"""Plans from routes, and from other plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import torch
from torch import Tensor

from .plan import Plan


def plan_of_routes(cost: Tensor, nodes: Tensor, expansions: Tensor) -> Plan:
    """A plan from routes that were found as a whole.

    Args:
        cost (torch.Tensor): :obj:`[B]` what each costs, infinite if none.
        nodes (torch.Tensor): :obj:`[B, L]` from start to goal, padded with -1.
        expansions (torch.Tensor): :obj:`[B]` nodes touched.
    """
    hops = ((nodes >= 0).sum(dim=1) - 1).clamp(min=0)
    return Plan(
        success=torch.isfinite(cost),
        cost=cost,
        hops=hops,
        nodes=_trimmed(nodes, hops),
        expansions=expansions,
        lower_bound=torch.zeros_like(cost),
    )


def joined(parts: Sequence[tuple[Tensor, Plan]]) -> Plan:
    """The plan of all queries, from plans of some.

    Args:
        parts (list): Positions of queries and the plan of these queries;
            together each position from 0 on once.
    """
    plan = Plan.cat([plan for _, plan in parts])
    order = torch.cat([query for query, _ in parts]).argsort()
    return taken(plan, order)


def taken(plan: Plan, query: Tensor) -> Plan:
    """The plan of some of its queries."""
    some = {f.name: getattr(plan, f.name)[query] for f in fields(plan)}
    return Plan(**some | {'nodes': _trimmed(some['nodes'], some['hops'])})


def cheaper(plan: Plan, query: Tensor, other: Plan) -> Plan:
    """The plan with routes of another one where those cost less.

    Args:
        plan (Plan): The plan.
        query (torch.Tensor): Which of its queries the other plan is of.
        other (Plan): The other plan.

    Returns:
        The better routes. What the other one expanded is added, and of the
        lower bounds the higher one holds.
    """
    expansions, lower_bound = plan.expansions.clone(), plan.lower_bound.clone()
    expansions[query] += other.expansions
    lower_bound[query] = torch.maximum(lower_bound[query], other.lower_bound)
    better = other.cost < plan.cost[query]
    kept = torch.ones_like(plan.success)
    kept[query[better]] = False
    kept = kept.nonzero().squeeze(1)
    plan = joined(
        [
            (kept, taken(plan, kept)),
            (query[better], taken(other, better.nonzero().squeeze(1))),
        ]
    )
    return replace(plan, expansions=expansions, lower_bound=lower_bound)


def _trimmed(nodes: Tensor, hops: Tensor) -> Tensor:
    longest = int(hops.max()) if hops.numel() > 0 else 0
    return nodes[:, : longest + 1]

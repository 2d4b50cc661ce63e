from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from bcm_pyg.utils import Reachability

from .plan import Plan
from .routes import plan_of_routes


def plan_connected(
    walk: Callable[[Tensor, Tensor], Plan],
    reachability: Reachability,
    starts: Tensor,
    goals: Tensor,
    batch_size: int,
) -> Plan:
    """Plans in chunks, with queries that have no answer marked as such.

    Args:
        walk (Callable): Plans one chunk of connected queries, never empty.
        reachability (Reachability): Which queries those are.
        starts (torch.Tensor): :obj:`[B]`.
        goals (torch.Tensor): :obj:`[B]`.
        batch_size (int): Queries at a time.
    """
    if starts.numel() == 0:
        cost = torch.zeros_like(starts, dtype=torch.float64)
        return plan_of_routes(cost, starts.view(0, 1), expansions=starts)
    connected = reachability.pairs(starts, goals)
    # A query without an answer is asked as start to start, then marked.
    asked = torch.where(connected, goals, starts)
    plan = Plan.cat(
        [
            walk(*part)
            for part in zip(
                starts.split(batch_size), asked.split(batch_size), strict=True
            )
        ]
    )
    infinite = float('inf')
    return replace(
        plan,
        success=plan.success & connected,
        cost=plan.cost.masked_fill(~connected, infinite),
        nodes=plan.nodes.masked_fill(~connected[:, None], -1),
        lower_bound=plan.lower_bound.masked_fill(~connected, infinite),
    )

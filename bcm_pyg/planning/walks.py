"""From the steps of a batch of walks to a plan."""

from __future__ import annotations

import torch
from torch import Tensor

from .plan import Plan

#: Per step: which queries moved, and where to.
Steps = list[tuple[Tensor, Tensor]]


def plan_of_walks(
    starts: Tensor,
    steps: Steps,
    *,
    success: Tensor,
    cost: Tensor,
    expansions: Tensor,
    lower_bound: Tensor | None = None,
) -> Plan:
    """A plan from walks that were made step by step.

    Args:
        starts (torch.Tensor): :obj:`[B]`.
        steps (list): Per step the queries that moved and the nodes they moved
            to; a query moves in every step until its walk has ended.
        success (torch.Tensor): :obj:`[B]` whether the walk reached its goal.
        cost (torch.Tensor): :obj:`[B]` what the walk cost.
        expansions (torch.Tensor): :obj:`[B]` nodes touched.
        lower_bound (torch.Tensor, optional): :obj:`[B]`. (default: 0)
    """
    hops = torch.zeros_like(starts)
    for query, _ in steps:
        hops[query] += 1
    hops = hops.masked_fill(~success, 0)
    cost = cost.masked_fill(~success, float('inf'))
    longest = int(hops.max()) if hops.numel() > 0 else 0
    nodes = starts.new_full((starts.numel(), longest + 1), -1)
    nodes[:, 0] = torch.where(success, starts, -1)
    for place, (query, node) in enumerate(steps[:longest], start=1):
        found = success[query]
        nodes[query[found], place] = node[found]
    if lower_bound is None:
        lower_bound = torch.zeros_like(cost)
    return Plan(success, cost, hops, nodes, expansions, lower_bound)

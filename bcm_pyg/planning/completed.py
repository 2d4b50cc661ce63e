from __future__ import annotations

from torch import Tensor

from bcm_pyg.utils import Adjacency

from .best_first import BestFirst
from .plan import Plan
from .routes import cheaper
from .scorer import Scorer


def completed(
    plan: Plan,
    scorer: Scorer,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
) -> Plan:
    """The plan with a route for every query, by search where it had none.

    Nodes that the search expands count, beside those that were touched before.

    Args:
        plan (Plan): Routes of connected queries.
        scorer (Scorer): Scores the ways on.
        adjacency (Adjacency): The graph.
        starts (torch.Tensor): :obj:`[B]`.
        goals (torch.Tensor): :obj:`[B]`.
    """
    failed = (~plan.success).nonzero().squeeze(1)
    if failed.numel() == 0:
        return plan
    found = BestFirst()(scorer, adjacency, starts[failed], goals[failed])
    return cheaper(plan, failed, found)

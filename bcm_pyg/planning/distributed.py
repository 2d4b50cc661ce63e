from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Processes, as_queries

from .base import BasePlanner
from .plan import Plan


def plan_distributed(
    planner: Callable[[Tensor, Tensor], Plan], starts: Ids, goals: Ids
) -> Plan:
    r"""Plans a large set of queries with all processes of a group.

    Every process of the default group of :mod:`torch.distributed` calls this
    with the same planner and the same queries, plans its share of them, and
    gets the plan of all. Without a group it is :obj:`planner(starts, goals)`.

    Queries do not depend on each other, so routes are those of one process, up
    to scores that tie within rounding. The whole plan is sent to every process:
    :math:`8 (L + 4)` bytes a query, where :math:`L` is the longest route.

    Args:
        planner (Callable): A :class:`~bcm_pyg.Planner`, or a baseline.
        starts (int, list, numpy.ndarray or torch.Tensor): The starts.
        goals (int, list, numpy.ndarray or torch.Tensor): The goals.

    Raises:
        BCMError: If planning failed in another process, or it has ended.
    """
    processes = Processes()
    num_nodes = 2**63 - 1  # if unknown, the planner checks the ids
    if isinstance(planner, BasePlanner):
        num_nodes = planner.num_nodes
    start, goal = as_queries(starts, goals, num_nodes)
    mine = processes.positions(start.numel())
    if mine is None:
        return planner(start, goal)
    plan: Plan | None = None
    try:
        plan = planner(start[mine.to(start.device)], goal[mine.to(goal.device)])
    finally:  # the others wait to hear of an error, too
        longest = 0 if plan is None else plan.nodes.size(1)
        news = processes.most(torch.tensor([longest, int(plan is None)]))
    if int(news[1]) > 0:
        raise BCMError('planning failed in another process')
    whole = _gathered(plan, processes, start.numel(), int(news[0]))
    if plan.starts is None:
        return whole
    return replace(whole, starts=start, goals=goal)


def _gathered(plan: Plan, processes: Processes, num: int, longest: int) -> Plan:
    """The plans of all processes, each of as many queries, as one."""
    width = longest - plan.nodes.size(1)
    nodes = torch.nn.functional.pad(plan.nodes, (0, width), value=-1)
    counts = torch.cat([plan.expansions[:, None], nodes], dim=1)
    counts = processes.gather(counts, dim=0)[:num]
    costs = torch.stack([plan.cost, plan.lower_bound, plan.walked_cost], dim=1)
    cost, *bounds = processes.gather(costs, dim=0)[:num].T.contiguous()
    whole = Plan.from_routes(cost, counts[:, 1:], counts[:, 0], *bounds)
    return replace(whole, graph=plan.graph)

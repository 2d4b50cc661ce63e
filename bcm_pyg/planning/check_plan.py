from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency

from .plan import Plan

#: How far a stated cost may be from the sum of its edges, relatively.
TOLERANCE = 1e-4


def check_plan(
    plan: Plan, adjacency: Adjacency, starts: Tensor, goals: Tensor
) -> None:
    """Refuses a plan whose routes are not what it says they are.

    A route of a successful query must lead from its start to its goal along
    edges of the graph, and its cost must be theirs.
    """
    if not isinstance(plan, Plan):
        raise BCMError(
            'a planner must turn starts and goals into a Plan (got '
            f'{type(plan).__name__})'
        )
    if len(plan) != starts.numel() or plan.nodes.dim() != 2:
        raise BCMError(
            f'the planner answered {len(plan)} of {starts.numel()} queries, '
            f'with nodes of shape {tuple(plan.nodes.shape)}'
        )
    nodes = plan.nodes.to(adjacency.device)[plan.success]
    query = plan.success.nonzero().squeeze(1)
    if query.numel() == 0:
        return
    used = nodes >= 0
    length = used.sum(dim=1)
    place = torch.arange(nodes.size(1), device=nodes.device)
    straight = (used == (place < length[:, None])).all(dim=1) & (length > 0)
    _refuse(query, ~straight, 'its nodes are not padded with -1 at the end')
    last = nodes.gather(1, (length - 1)[:, None]).squeeze(1)
    ends = (nodes[:, 0] == starts[query]) & (last == goals[query])
    _refuse(query, ~ends, 'it does not lead from its start to its goal')

    tail, head, step = nodes[:, :-1], nodes[:, 1:], used[:, 1:]
    num_nodes = adjacency.num_nodes
    keys = adjacency.src * num_nodes + adjacency.dst  # ascending
    key = torch.where(step, tail * num_nodes + head, keys[0])
    edge = torch.searchsorted(keys, key).clamp(max=keys.numel() - 1)
    _refuse(
        query, ((keys[edge] != key) & step).any(dim=1), 'it uses a missing edge'
    )
    cost = torch.where(step, adjacency.cost[edge].double(), 0.0).sum(dim=1)
    stated = plan.cost.to(cost)[plan.success]
    right = (stated - cost).abs() <= TOLERANCE * cost.clamp(min=1e-12)
    _refuse(query, ~right, 'its cost is not the sum of its edges')
    hops = plan.hops.to(length)[plan.success]
    _refuse(query, hops != length - 1, 'its hops are not those of its nodes')


def _refuse(query: Tensor, bad: Tensor, why: str) -> None:
    if bool(bad.any()):
        first = int(query[bad][0])
        raise BCMError(
            f'the route of query {first} is wrong: {why} (was the planner '
            'built for this graph and these costs?)'
        )

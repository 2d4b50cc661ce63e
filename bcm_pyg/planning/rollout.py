"""Walks of a batch of queries, each step the best-scored neighbour."""

from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency, scatter_min

from .plan import Plan
from .scorer import Candidates, Scorer
from .visited import VisitedSets
from .walks import Steps, plan_of_walks


def greedy_rollout(
    scorer: Scorer,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
    *,
    prefer_unvisited: bool,
) -> Plan:
    r"""Walks from each start until its goal, a dead end, or the step limit.

    A walk makes at most :math:`N` steps. One that provably goes in a circle is
    ended earlier, with the same answer. Queries that ended leave the batch.

    Args:
        scorer (Scorer): Scores the ways on.
        adjacency (Adjacency): The graph.
        starts (torch.Tensor): :obj:`[B]`.
        goals (torch.Tensor): :obj:`[B]`.
        prefer_unvisited (bool): Whether neighbours that were not visited come
            first, whatever their score.
    """
    device = starts.device
    num_queries = starts.numel()
    success = starts == goals
    cost = torch.zeros(num_queries, dtype=torch.float64, device=device)
    expansions = torch.zeros_like(starts)
    steps: Steps = []

    query = (~success).nonzero().squeeze(1)  # those still under way
    node = starts[query]
    is_new = torch.ones_like(query, dtype=torch.bool)
    stale = torch.zeros_like(query)  # steps since a new node was found
    slot = torch.arange(query.numel(), device=device)  # row in visited
    visited = VisitedSets(query.numel(), device)
    visited.add(slot, node)

    for _ in range(adjacency.num_nodes):
        if query.numel() == 0:
            break
        expansions[query] += is_new
        ways = scorer(node, goals[query])
        head = adjacency.dst[ways.edge]
        seen = visited.contains(slot[ways.row], head)
        chosen = _choose(ways, seen, query.numel(), prefer_unvisited)

        moved = chosen >= 0  # False at a dead end
        chosen = chosen[moved]
        query, slot, stale = query[moved], slot[moved], stale[moved]
        node = head[chosen]
        cost[query] += adjacency.cost[ways.edge[chosen]].double()
        steps.append((query, node))

        is_new = ~seen[chosen]
        stale = torch.where(is_new, 0, stale + 1)
        arrived = node == goals[query]
        success[query] = arrived
        # Without memory, a second visit is a circle. With it, so is a walk over
        # old nodes that is longer than their number.
        circle = stale > (expansions[query] if prefer_unvisited else 0)
        on = ~arrived & ~circle
        query, node, slot = query[on], node[on], slot[on]
        is_new, stale = is_new[on], stale[on]
        if 2 * slot.numel() < visited.num_rows:
            visited.keep(slot)
            slot = torch.arange(slot.numel(), device=device)
        visited.add(slot, node)

    return plan_of_walks(
        starts, steps, success=success, cost=cost, expansions=expansions
    )


def _choose(
    ways: Candidates, seen: Tensor, num_rows: int, prefer_unvisited: bool
) -> Tensor:
    """Position in the candidates of the best of each row, -1 if none."""
    score = ways.score
    if prefer_unvisited:
        fresh = torch.zeros(num_rows, dtype=torch.bool, device=score.device)
        fresh[ways.row[~seen]] = True
        # An overflowed score must not tie with a neighbour that is ruled out.
        score = score.clamp(max=torch.finfo(score.dtype).max)
        score = score.masked_fill(seen & fresh[ways.row], float('inf'))
    return scatter_min(score, ways.row, dim_size=num_rows)[1]

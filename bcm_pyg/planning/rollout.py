"""Walks of a batch of queries, each step the best-scored neighbour."""

from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency

from .choice import Choice, Chooser
from .plan import Plan
from .scorer import Scorer
from .visited import Visited, VisitedSets
from .visited_map import VisitedMap
from .walk_log import WalkLog
from .walkers import Walkers

#: Steps between two looks for walks that go in circles.
MAX_STEPS = 8
#: Steps beyond their goals that cost as much as to drop the walks.
MAX_WASTE = 64
#: Where a bit for every query and node takes no more than this, it is kept.
MAX_MAP_BYTES = 2**28


@torch.no_grad()
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
    ended earlier, with the same answer. Queries that ended leave the batch; as
    that costs as much as some steps, a few go on for a little, unheeded.

    Args:
        scorer (Scorer): Scores the ways on.
        adjacency (Adjacency): The graph.
        starts (torch.Tensor): :obj:`[B]`.
        goals (torch.Tensor): :obj:`[B]`.
        prefer_unvisited (bool): Whether neighbours that were not visited come
            first, whatever their score.
    """
    log = WalkLog(starts, goals, adjacency)
    choose = Chooser(scorer, adjacency, prefer_unvisited)
    query = (starts != goals).nonzero().squeeze(1)
    goal = goals[query]
    visited = visited_sets(query.numel(), adjacency)
    walkers = Walkers(
        query=query,
        node=starts[query],
        goal=goal,
        goal_rows=choose.goal_rows(goal),
        row=visited.rows(),
        ended=torch.zeros_like(query, dtype=torch.bool),
        stale=torch.zeros_like(query),
        mark=starts[query],
        lap=torch.zeros_like(query),
    )
    visited.add(walkers.row, walkers.node)
    while len(walkers) > 0 and log.num_steps < adjacency.num_nodes:
        left = adjacency.num_nodes - log.num_steps
        steps = _walk(walkers, choose, visited, log, min(left, MAX_STEPS))
        nodes = torch.stack([choice.node for choice in steps])
        is_old = torch.stack([choice.is_old for choice in steps])
        walkers.end_circles(nodes, is_old, forgetful=not prefer_unvisited)
        walkers.leave()
        if 2 * len(walkers) < visited.num_rows:
            walkers.row = visited.keep(walkers.row)
    return log.plan()


def _walk(
    walkers: Walkers,
    choose: Chooser,
    visited: Visited,
    log: WalkLog,
    max_steps: int,
) -> list[Choice]:
    """The next steps, until it pays to drop those that have arrived."""
    steps = []
    num_ended = waste = 0
    for _ in range(max_steps):
        choice = choose(
            walkers.node,
            walkers.goal,
            walkers.goal_rows,
            visited,
            walkers.row,
        )
        log.add(walkers.query, choice)
        steps.append(choice)
        walkers.node = choice.node
        arrived = (choice.node == walkers.goal).nonzero().squeeze(1)
        if arrived.numel() > 0:
            walkers.ended.index_fill_(0, arrived, True)
            log.arrive(walkers.query.index_select(0, arrived))
            num_ended += arrived.numel()
        waste += num_ended
        if 4 * waste >= min(4 * MAX_WASTE, len(walkers)):
            break
    return steps


def visited_sets(num_rows: int, adjacency: Adjacency) -> Visited:
    """Empty sets, of the kind that suits the size of the graph."""
    num_nodes, device = adjacency.num_nodes, adjacency.device
    if VisitedMap.num_bytes(num_rows, num_nodes) <= MAX_MAP_BYTES:
        return VisitedMap(num_rows, num_nodes, device)
    return VisitedSets(num_rows, device)

"""Walks by a table of moves, for all queries in lock step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from bcm_pyg.planning import Plan
from bcm_pyg.utils import Adjacency


def walk_by_moves(
    adjacency: Adjacency,
    start: np.ndarray,
    goal: np.ndarray,
    asked: np.ndarray,
    moves: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Plan:
    """The routes of queries; a move that is looked up is an expansion.

    Args:
        adjacency (Adjacency): The graph, on the CPU.
        start (numpy.ndarray): :obj:`[B]`.
        goal (numpy.ndarray): :obj:`[B]`.
        asked (numpy.ndarray): bool :obj:`[B]`, which queries the table knows.
            Others fail, but for those that start at their goals.
        moves (Callable): The place of the next edge among the out-edges of
            each node, given nodes and goals; at least the number of these edges
            where there is no route.
    """
    degree, begin = adjacency.degree().numpy(), adjacency.rowptr.numpy()
    head, edge_cost = adjacency.dst.numpy(), adjacency.cost.double().numpy()
    success = start == goal
    cost = np.zeros(start.size)
    steps = []
    query = np.flatnonzero(asked & ~success)
    node = start[query]
    while query.size > 0:
        move = moves(node, goal[query])
        on = move < degree[node]
        query, edge = query[on], (begin[node] + move)[on]
        node = head[edge]
        cost[query] += edge_cost[edge]
        steps.append((torch.from_numpy(query), torch.from_numpy(node)))
        on = node != goal[query]
        success[query[~on]] = True
        query, node = query[on], node[on]
    cost[~success] = np.inf
    starts = torch.from_numpy(start)
    plan = Plan.from_steps(
        starts,
        steps,
        success=torch.from_numpy(success),
        cost=torch.from_numpy(cost),
        expansions=torch.zeros_like(starts),
    )
    return replace(
        plan, expansions=plan.hops.clone(), lower_bound=plan.cost.clone()
    )

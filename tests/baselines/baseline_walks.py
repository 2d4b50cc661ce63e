"""Two other ways to walk down a potential, for comparison."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from bcm_pyg.planning import Plan
from bcm_pyg.utils import Adjacency


def all_pairs_hops(
    adjacency: Adjacency, score: Tensor, nodes: Tensor
) -> np.ndarray:
    """Hops between all pairs of nodes of an undirected graph, -1 on failure.

    Args:
        adjacency: The graph.
        score: [G, N], least wins; row k belongs to nodes[k].
        nodes: [G], both starts and goals.
    """
    num_nodes, num_goals = adjacency.num_nodes, nodes.numel()
    edge = np.full((num_nodes, int(adjacency.degree().max())), -1)
    rowptr = adjacency.rowptr.tolist()
    for node, (begin, end) in enumerate(
        zip(rowptr[:-1], rowptr[1:], strict=True)
    ):
        edge[node, : end - begin] = np.arange(begin, end)
    neighbor = adjacency.dst.numpy()[edge]
    table = score.numpy()
    next_hop = np.empty((num_goals, num_nodes), dtype=np.int64)
    for row in range(num_goals):
        # numpy takes the first of equals, and neighbours ascend.
        here = np.where(edge >= 0, table[row][neighbor], np.inf)
        best = here.argmin(axis=1)
        next_hop[row] = neighbor[np.arange(num_nodes), best]

    # Walks that arrive stay; those in a circle are still elsewhere at the end.
    goals = nodes.numpy()
    next_hop[np.arange(num_goals), goals] = goals
    row = np.repeat(np.arange(num_goals), num_goals)
    node = np.tile(goals, num_goals)
    hops = np.full(row.size, -1)
    query = np.arange(row.size)
    for step in range(num_nodes):
        arrived = node == goals[row]
        hops[query[arrived]] = step
        on = ~arrived
        if step % 50 == 49:  # drops most circles: here and back again
            on &= next_hop[row, next_hop[row, node]] != node
        query, row, node = query[on], row[on], node[on]
        if query.size == 0:
            break
        node = next_hop[row, node]
    return hops.reshape(num_goals, num_goals)  # [goal, start]


def slow_walk(
    adjacency: Adjacency,
    score: Callable[[int, int], float],
    start: int,
    goal: int,
) -> list[int]:
    """The route of one query, least score first, empty if it fails."""
    path = [start]
    while path[-1] != goal:
        begin, end = adjacency.rowptr[path[-1] : path[-1] + 2].tolist()
        heads = adjacency.dst[begin:end].tolist()
        if not heads:
            return []
        path.append(min(heads, key=lambda head: (score(head, goal), head)))
        if path[-1] in path[:-1]:
            return []
    return path


def check_plan(
    plan: Plan, adjacency: Adjacency, starts: Tensor, goals: Tensor
) -> None:
    """Routes are routes, and failures look like failures."""
    cost = {
        (tail, head): value
        for tail, head, value in zip(
            adjacency.src.tolist(),
            adjacency.dst.tolist(),
            adjacency.cost.tolist(),
            strict=True,
        )
    }
    assert len(plan) == starts.numel() == goals.numel()
    for query in range(len(plan)):
        path = plan.path(query)
        if not plan.success[query]:
            assert path == []
            assert plan.cost[query] == float('inf')
            assert plan.hops[query] == 0
            continue
        assert path[0] == starts[query] and path[-1] == goals[query]
        assert plan.hops[query] == len(path) - 1
        total = sum(
            cost[edge] for edge in zip(path[:-1], path[1:], strict=True)
        )
        assert np.isclose(float(plan.cost[query]), total)
        assert plan.lower_bound[query] <= plan.cost[query] + 1e-9
    assert plan.nodes.dtype == torch.long
    assert plan.cost.dtype == torch.float64

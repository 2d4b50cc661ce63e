from collections.abc import Callable

import torch

from bcm_pyg.graph import TurnGraph
from bcm_pyg.typing import Ids
from bcm_pyg.utils import as_queries

from .plan import Plan


def plan_turns(
    planner: Callable[..., Plan], turns: TurnGraph, starts: Ids, goals: Ids
) -> Plan:
    """Routes between nodes that obey the costs of turns.

    A query is asked for each pair of an edge from its start and an edge into
    its goal, and the best answer is taken.

    Args:
        planner (callable): A planner on :obj:`turns.data`, such as
            :obj:`Dijkstra(turns.data)`.
        turns (TurnGraph): The graph, from :func:`~bcm_pyg.graph.turn_graph`.
        starts (int, list, numpy.ndarray or torch.Tensor): Nodes of
            :obj:`turns.full`.
        goals (int, list, numpy.ndarray or torch.Tensor): The same.

    Returns:
        Routes over nodes of :obj:`turns.full`; costs are those of edges and
        turns. A route may visit a node twice, to avoid a turn there.
    """
    start, goal = as_queries(starts, goals, int(turns.full.num_nodes))
    start, goal = start.cpu(), goal.cpu()
    query, leaving, entering, beside = turns.queries(start, goal)
    found = planner(leaving, entering).to('cpu')
    free = torch.zeros(start.numel(), dtype=torch.float64)
    none = free.masked_fill(start != goal, float('inf'))
    cost = found.cost + beside
    least = none.scatter_reduce(0, query, cost, 'amin')
    bound = none.scatter_reduce(0, query, found.lower_bound + beside, 'amin')
    expansions = torch.zeros_like(start).index_add_(0, query, found.expansions)
    nodes = turns.to_nodes(found.nodes)
    out = torch.full((start.numel(), nodes.size(1)), -1)
    out[:, 0] = torch.where(start == goal, start, -1)
    best = (found.success & (cost == least[query])).nonzero().view(-1)
    best = best[query[best].diff(prepend=torch.tensor([-1])) > 0]  # one each
    out[query[best]] = nodes[best]
    return Plan.from_routes(least, out, expansions, bound)

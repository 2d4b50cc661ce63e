"""The min-plus backup over the graph."""

from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.nn.scoring import with_terminal
from bcm_pyg.utils import Adjacency, scatter_amin


def sweep(
    value: Tensor,
    adjacency: Adjacency,
    cost: Tensor,
    goals: Tensor,
    terminal: str,
    times: int | None,
) -> Tensor:
    r"""Applies :math:`V_i(g) \leftarrow \min_{j \in \mathcal{N}(i)} c_{ij} +
    V_j(g)` to the values of some goals, with :math:`V_g(g) = 0`.

    Args:
        value (torch.Tensor): Values, :obj:`[N, G]`.
        adjacency (Adjacency): The graph.
        cost (torch.Tensor): Edge costs in the units of the values, :obj:`[E]`.
        goals (torch.Tensor): :obj:`[G]`.
        terminal (str): What an edge into the goal counts as its way on: its
            cost, or 0 under :obj:`"paper"`.
        times (int, optional): How many times; :obj:`None` until nothing
            changes, at most :math:`N` times.
    """
    at_goal = adjacency.dst[:, None] == goals if terminal == 'paper' else None
    column = torch.arange(goals.numel(), device=goals.device)
    value = value.clone()
    value[goals, column] = 0
    for _ in range(adjacency.num_nodes if times is None else times):
        way = value[adjacency.dst] + cost[:, None]
        if at_goal is not None:
            way = with_terminal(way, at_goal, cost[:, None], terminal)
        swept = scatter_amin(way, adjacency.src, 0, adjacency.num_nodes)
        swept[goals, column] = 0
        if times is None and torch.equal(swept, value):
            break
        value = swept
    return value

r"""Values :math:`V_i(g) = \min_{j \in \mathcal{N}(i)} D_i(j; g)` of a map."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency, Reachability, scatter_amin

from .scoring import block_scores, pair_scores, with_terminal
from .transition import Transition

#: Rows of the transition encoder in flight at a time: 2**15 rows of 256 floats
#: are 32 MB a layer.
MAX_ROWS = 2**15


class Head(Protocol):
    """What turns hidden rows into scores: a map, or a copy of its head."""

    @property
    def transition(self) -> Transition:
        """The transition encoder."""
        ...

    @property
    def terminal(self) -> str:
        """The terminal convention."""
        ...

    @property
    def cost_scale(self) -> Tensor:
        """The cost that a score of 1 stands for."""
        ...


@torch.no_grad()
def block_values(
    model: Head,
    hidden: Tensor,
    adjacency: Adjacency,
    nodes: Tensor,
    goals: Tensor,
    reach: Tensor | None = None,
) -> Tensor:
    """The value of each of some nodes for each of some goals, :obj:`[S, G]`.

    In units of the map's cost scale; 0 at the goal, infinite where no edge
    leaves. One pass per pair of node and goal, in chunks of nodes.

    Args:
        model (Head): The map, or its head.
        hidden (torch.Tensor): Its hidden rows, :obj:`[N, H]`.
        adjacency (Adjacency): The graph.
        nodes (torch.Tensor): The nodes, :obj:`[S]`.
        goals (torch.Tensor): The goals, :obj:`[G]`.
        reach (torch.Tensor, optional): Which nodes can reach each goal, bool
            :obj:`[N, G]`; ways to others do not count. (default: all)
    """
    value = hidden.new_empty(nodes.numel(), goals.numel())
    cost = adjacency.cost / model.cost_scale
    max_edges = max(1, MAX_ROWS // max(1, goals.numel()))
    for part in adjacency.chunks(nodes, max_edges):
        node = nodes[part]
        edge, row = adjacency.out_edges(node)
        head = adjacency.dst[edge]
        scores = block_scores(
            model.transition, hidden[node], hidden[head], hidden[goals], row
        )
        scores = with_terminal(
            scores, head[:, None] == goals, cost[edge, None], model.terminal
        )
        if reach is not None:
            scores = scores.masked_fill(~reach[head], float('inf'))
        value[part] = scatter_amin(scores, row, 0, node.numel())
    return value.masked_fill(nodes[:, None] == goals, 0)


@torch.no_grad()
def pair_values(
    model: Head,
    hidden: Tensor,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
    reachability: Reachability | None = None,
) -> Tensor:
    """The value of each start for its goal, :obj:`[B]`, in chunks.

    Given the reachability, ways from which the goal cannot be reached do not
    count.
    """
    value = hidden.new_empty(starts.numel())
    cost = adjacency.cost / model.cost_scale
    for part in adjacency.chunks(starts, MAX_ROWS):
        node, goal = starts[part], goals[part]
        edge, row = adjacency.out_edges(node)
        head = adjacency.dst[edge]
        scores = pair_scores(
            model.transition, hidden[node], hidden[head], hidden[goal], row
        )
        scores = with_terminal(
            scores, head == goal[row], cost[edge], model.terminal
        )
        if reachability is not None:
            dead = ~reachability.pairs(head, goal[row])
            scores = scores.masked_fill(dead, float('inf'))
        value[part] = scatter_amin(scores, row, 0, node.numel())
    return value.masked_fill(starts == goals, 0)

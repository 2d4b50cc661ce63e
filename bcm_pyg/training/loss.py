from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.nn import BCM
from bcm_pyg.nn.scoring import block_scores, with_terminal
from bcm_pyg.utils import Adjacency

from .config import FitConfig
from .objective import (
    bellman_loss,
    bellman_target,
    is_trained,
    ranking_loss,
)
from .targets import Block


def block_loss(
    model: BCM,
    data: Data,
    adjacency: Adjacency,
    block: Block,
    config: FitConfig,
) -> Tensor:
    """The loss of one block, differentiable with respect to the map."""
    head = adjacency.dst[block.edge]
    nodes = torch.cat([block.sources, head, block.goals])
    hidden = model.hidden(data, nodes)
    source, to, goal = hidden.split(
        [block.sources.numel(), head.numel(), block.goals.numel()]
    )
    scores = block_scores(model.transition, source, to, goal, block.row)
    cost = adjacency.cost[block.edge] / model.cost_scale
    target = bellman_target(cost, block.next_value)
    tail = block.sources[block.row]
    trained = is_trained(target, tail, head, block.goals)
    loss = bellman_loss(scores, target, trained, config.relative)
    loss = block.trained_share * loss
    if config.ranking > 0:
        at_goal = head[:, None] == block.goals
        readout = with_terminal(scores, at_goal, cost[:, None], model.terminal)
        wanted = with_terminal(target, at_goal, cost[:, None], model.terminal)
        # At the goal there is nothing to decide.
        wanted = wanted.masked_fill(tail[:, None] == block.goals, float('inf'))
        weight = block.decided_share * config.ranking
        loss = loss + weight * ranking_loss(
            readout,
            wanted,
            block.row,
            block.sources.numel(),
            config.ranking_temperature,
        )
    return loss

r"""Scores :math:`D_i(j; g) = \lVert z_{i \to j} - z_{i \to g} \rVert^2`.

One pass of the transition encoder per pair :math:`(i, g)` serves every
neighbour :math:`j` of :math:`i`; the passes :math:`z_{i \to j}` serve every
goal. Scores are in units of the map's cost scale.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .distances import squared_distances
from .transition import Transition


def block_scores(
    transition: Transition,
    source: Tensor,
    head: Tensor,
    goal: Tensor,
    row: Tensor,
) -> Tensor:
    r"""Raw scores of all edges of some sources for all of some goals.

    Args:
        transition (Transition): The transition encoder.
        source (torch.Tensor): Hidden rows of the sources, :obj:`[S, H]`.
        head (torch.Tensor): Hidden rows of the heads of their edges,
            :obj:`[M, H]`.
        goal (torch.Tensor): Hidden rows of the goals, :obj:`[G, H]`.
        row (torch.Tensor): The source of each edge, ascending, :obj:`[M]`.

    Returns:
        The scores, :obj:`[M, G]`. Memory is that of a few times
        :math:`S (G + 32) + M` rows.
    """
    # One pass for edges and pairs: a larger product is a faster one.
    # The bias goes in on the short side.
    source = source - transition.lin1.bias
    to_goal = goal[None] - source[:, None]  # [S, G, H]
    # The gradient of index_select and split is much cheaper than that of [].
    to_head = head - source.index_select(0, row)
    z = transition.rest(torch.cat([to_head, to_goal.flatten(0, 1)]))
    return squared_distances(z, row, source.size(0), goal.size(0))


def pair_scores(
    transition: Transition,
    source: Tensor,
    head: Tensor,
    goal: Tensor,
    row: Tensor,
) -> Tensor:
    """Raw scores of all edges of each source for the goal of that source.

    Args:
        transition (Transition): The transition encoder.
        source (torch.Tensor): Hidden rows of the sources, :obj:`[B, H]`.
        head (torch.Tensor): Hidden rows of the heads of their edges,
            :obj:`[M, H]`.
        goal (torch.Tensor): Hidden rows of the goals, :obj:`[B, H]`.
        row (torch.Tensor): The source of each edge, :obj:`[M]`.

    Returns:
        The scores, :obj:`[M]`.
    """
    source = source - transition.lin1.bias
    z_edge = transition.rest(head - source.index_select(0, row))
    z_goal = transition.rest(goal - source)
    return (z_edge - z_goal.index_select(0, row)).square().sum(-1)


def with_terminal(
    scores: Tensor, at_goal: Tensor, cost: Tensor, terminal: str
) -> Tensor:
    """Scores as the readout and the bootstrap see them.

    Where the head of an edge is the goal the score is what the convention of
    the map says: 0 for :obj:`"paper"` (it is 0 by construction, up to
    rounding), the cost of that last edge for :obj:`"calibrated"`.
    """
    last = cost if terminal == 'calibrated' else torch.zeros_like(cost)
    return torch.where(at_goal, last.expand_as(scores), scores)

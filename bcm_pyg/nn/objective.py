"""The Bellman-grounded objective as pure functions of scores and targets."""

from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.utils import scatter_amin


def bellman_target(cost: Tensor, next_value: Tensor) -> Tensor:
    r"""Edge cost plus the best downstream score, without gradient,

    .. math::
        c_{i \to j} + \mathrm{sg}\left[ \min_{k \in \mathcal{N}(j)} D_j(k; g)
        \right] .

    Args:
        cost (torch.Tensor): Edge costs, :obj:`[M]`.
        next_value (torch.Tensor): The minimum at the head of each edge,
            :obj:`[M, G]`.
    """
    return (cost[:, None] + next_value).detach()


def is_trained(
    target: Tensor, tail: Tensor, head: Tensor, goals: Tensor
) -> Tensor:
    r"""Which of the scores :obj:`[M, G]` have a target to meet.

    Left out are transitions into the goal (their score is fixed by the terminal
    convention), transitions out of the goal (the route has ended), and targets
    that are not finite (the goal cannot be reached from there).
    """
    ended = (head[:, None] == goals) | (tail[:, None] == goals)
    return torch.isfinite(target) & ~ended


def bellman_loss(
    scores: Tensor, target: Tensor, trained: Tensor, relative: bool = False
) -> Tensor:
    r"""The mean of :math:`(D_i(j; g) - T)^2` where trained.

    With :obj:`relative` each error is divided by :math:`1 + T`: a greedy walk
    ends near its goal whatever its start, so near values must be right in
    proportion.
    """
    target = target.masked_fill(~trained, 0)
    error = torch.where(trained, scores - target, 0.0)
    if relative:
        error = error / (1 + target)
    return error.square().sum() / trained.sum().clamp(min=1)


def ranking_loss(
    scores: Tensor,
    target: Tensor,
    row: Tensor,
    num_rows: int,
    temperature: float,
) -> Tensor:
    r"""Cross-entropy between the softmin of targets and that of scores.

    Values may be good and yet the order of two neighbours wrong; a greedy
    readout needs the order. Both softmins run over the edges of one source for
    one goal. An infinite target (a way from which the goal cannot be reached)
    has weight 0 but still competes, so its score is pushed up. Where a target
    is NaN, or all are infinite, there is nothing to learn.

    Args:
        scores (torch.Tensor): :obj:`[M, G]`, terminal convention applied.
        target (torch.Tensor): :obj:`[M, G]`.
        row (torch.Tensor): The source of each edge, :obj:`[M]`.
        num_rows (int): Number of sources :math:`S`.
        temperature (float): Of both softmins, in units of the mean cost.
    """
    logits = -scores / temperature
    wanted = -target / temperature
    decided = scatter_amin(target, row, 0, num_rows).isfinite()  # [S, G]
    weight = _segment_softmax(wanted, row, num_rows).detach()
    log_share = logits - _segment_logsumexp(logits, row, num_rows)[row]
    # Undecided rows have NaN weights; they must not meet the scores at all, or
    # their NaN comes back through the gradient.
    weight = torch.where(decided[row] & (weight > 0), weight, 0.0)
    return -(weight * log_share).sum() / decided.sum().clamp(min=1)


def _segment_logsumexp(logits: Tensor, row: Tensor, num_rows: int) -> Tensor:
    top = -scatter_amin(-logits.detach(), row, 0, num_rows)
    top = top.masked_fill(~torch.isfinite(top), 0)
    total = logits.new_zeros(num_rows, logits.size(1)).index_add(
        0, row, (logits - top[row]).exp()
    )
    return total.clamp(min=torch.finfo(logits.dtype).tiny).log() + top


def _segment_softmax(logits: Tensor, row: Tensor, num_rows: int) -> Tensor:
    return (logits - _segment_logsumexp(logits, row, num_rows)[row]).exp()

"""The Bellman-grounded objective: loss, ranking term and masks."""

from typing import Any

import torch
from torch import Tensor

from bcm_pyg.nn import BCM, Transition
from bcm_pyg.nn.scoring import with_terminal
from bcm_pyg.utils import scatter_amin

from .blocks import Block, Run


def block_loss(run: Run, block: Block, columns: slice | None = None) -> Tensor:
    """The loss of a block, differentiable with respect to the map.

    Args:
        run (Run): The map, its graph and which loss.
        block (Block): Sources, goals and values.
        columns (slice, optional): Some of the goals. Their loss is a share:
            those of all goals add up to the loss of the block. (default: all
            goals)
    """
    model, config, adjacency = run.model, run.config, run.sampler.adjacency
    head, tail = adjacency.dst[block.edge], block.sources[block.source]
    cost = (adjacency.cost[block.edge] / model.cost_scale)[:, None]
    share, ranking = 1.0, config.ranking
    if columns is not None:
        # What is finite does not depend on the scores.
        wanted = _wanted(model, block, head, cost, block.next_value)
        best = scatter_amin(wanted, block.source, 0, block.sources.numel())
        trained = is_trained(block.next_value, tail, head, block.goals)
        share = _share(trained, columns)
        ranking = _share(best.isfinite(), columns) * ranking
        block = block.part(columns)
    scores = model(run.data, block.sources, head, block.goals, block.source)
    at_goal = head[:, None] == block.goals
    seen = with_terminal(scores, at_goal, cost, model.terminal)
    target = bellman_target(cost[:, 0], next_values(block, seen))
    trained = is_trained(target, tail, head, block.goals)
    loss = share * bellman_loss(scores, target, trained, config.relative)
    if config.ranking > 0:
        loss = loss + ranking * ranking_loss(
            seen,
            _wanted(model, block, head, cost, target),
            block.source,
            block.sources.numel(),
            config.ranking_temperature,
        )
    return loss


def next_values(block: Block, scores: Tensor) -> Tensor:
    """The values behind all edges of a block, :obj:`[M, G]`.

    Those of inner nodes are the minima over their own scores, which have the
    terminal convention applied; ways that do not lead to a goal do not count.
    """
    if block.inner is None:
        return block.next_value
    dead = block.next_value.isinf()
    scores = scores.detach().masked_fill(dead, float('inf'))
    value = scatter_amin(scores, block.source, 0, block.sources.numel())
    value.masked_fill_(block.sources[:, None] == block.goals, 0)
    return block.next_value + value[block.inner]


def drop_noise(model: BCM) -> None:
    """Drops the gradient of the last bias, which cancels in every score."""
    if type(model.transition).from_hidden is Transition.from_hidden:
        model.transition.lin3.bias.grad = None


def _wanted(
    model: BCM, block: Block, head: Tensor, cost: Tensor, target: Tensor
) -> Tensor:
    """What the readout should see; at the goal there is nothing to decide."""
    at_goal = head[:, None] == block.goals
    target = with_terminal(target, at_goal, cost, model.terminal)
    ended = block.sources[:, None] == block.goals
    return target.masked_fill(ended[block.source], float('inf'))


def _share(counted: Tensor, columns: slice) -> float:
    """The part of what counts, bool :obj:`[*, G]`, that is in some columns."""
    count = counted.sum(dim=0)
    return float(count[columns].sum()) / max(1.0, float(count.sum()))


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

    With :obj:`relative` each error is divided by :math:`1 + T`: every greedy
    walk ends near its goal, so small values must be right in proportion.
    """
    target = target.masked_fill(~trained, 0)
    error = torch.where(trained, scores - target, 0.0)
    if relative:
        error = error / (1 + target)
    return error.square().sum() / trained.sum().clamp(min=1)


def ranking_loss(
    scores: Tensor,
    target: Tensor,
    source: Tensor,
    num_sources: int,
    temperature: float,
) -> Tensor:
    r"""Cross-entropy between the softmin of targets and that of scores.

    A greedy readout needs the order of neighbours, more than their values. Both
    softmins run over the edges of one source for one goal. An infinite target
    (unreachable goal) has weight 0 but still competes, so its score is pushed
    up. Where a target is NaN, or all are infinite, there is nothing to learn.

    Args:
        scores (torch.Tensor): :obj:`[M, G]`, terminal convention applied.
        target (torch.Tensor): :obj:`[M, G]`.
        source (torch.Tensor): The source of each edge, :obj:`[M]`.
        num_sources (int): Number of sources :math:`S`.
        temperature (float): Of both softmins, in units of the mean cost.
    """
    return _Ranking.apply(scores, target, source, num_sources, temperature)


class _Ranking(torch.autograd.Function):
    """The gradient is a difference of the two softmins: no need to retrace."""

    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        target: Tensor,
        source: Tensor,
        num_sources: int,
        temperature: float,
    ) -> Tensor:
        # Both softmins at once: these are small tensors, calls cost most.
        energy = torch.cat([scores, target], 1).div_(temperature)
        least = scatter_amin(energy, source, 0, num_sources)
        shifted = least.index_select(0, source).sub_(energy)
        total = torch.zeros_like(least).index_add_(0, source, shifted.exp())
        log_softmin = shifted.sub_(total.log_().index_select(0, source))
        log_share, weight = log_softmin.tensor_split(2, 1)
        decided = least.tensor_split(2, 1)[1].isfinite()  # [S, G]
        # Undecided sources have NaN weights; they must not meet the scores.
        unused = decided.logical_not().index_select(0, source)
        weight = weight.exp().masked_fill_(unused, 0)
        share = log_share.exp().masked_fill_(unused, 0)
        count = decided.sum().clamp(min=1)
        ctx.save_for_backward((weight - share).div_(temperature * count))
        # A weight of 0 may meet an infinite score.
        cross = (weight * log_share).masked_fill_(weight == 0, 0)
        return -cross.sum() / count

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return grad * gradient, None, None, None, None

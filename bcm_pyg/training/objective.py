"""The Bellman-grounded objective: errors, ranking, regret and masks."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bcm_pyg.nn import BCM, Transition
from bcm_pyg.nn.scoring import kernels_for, with_terminal
from bcm_pyg.utils import scatter_amin

from .blocks import Block, Run

#: The regret of a wrong turn counts so many mean costs at most.
MAX_REGRET = 3.0
#: Of the choice whose regret is expected, in units of the mean cost.
REGRET_TEMPERATURE = 0.2


class Terms(NamedTuple):
    """What a loss consists of.

    Attributes:
        terminal: The terminal convention.
        relative: Whether errors and regret count relative to the target.
        share: Weight of the errors.
        ranking: Weight of the ranking loss.
        temperature: Its temperature.
        regret: Weight of the regret loss.
    """

    terminal: str
    relative: bool
    share: float
    ranking: float
    temperature: float
    regret: float = 0.0


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
    head = adjacency.dst[block.edge]
    cost = adjacency.cost[block.edge] / model.cost_scale
    assert config.regret is not None  # it is resolved
    terms = Terms(
        model.terminal,
        config.relative,
        1.0,
        config.ranking,
        config.ranking_temperature,
        config.regret,
    )
    if columns is not None:
        terms = _shared(terms, block, head, cost, columns)
        block = block.part(columns)
    scores = model(run.data, block.sources, head, block.goals, block.source)
    target = bellman_target(cost, block.next_value)
    kernels = kernels_for(scores)
    if kernels is None:
        return plain_loss(scores, target, block, head, cost, terms)
    out: Tensor = _CompiledLoss.apply(
        scores, target, block, head, cost, terms, kernels
    )
    return out


def plain_loss(
    scores: Tensor,
    target: Tensor,
    block: Block,
    head: Tensor,
    cost: Tensor,
    terms: Terms,
) -> Tensor:
    """The loss of the scores :obj:`[M, G]` of a block, given targets."""
    tail, goals = block.sources[block.source], block.edge_goals
    trained = is_trained(target, tail, head, goals)
    loss = terms.share * bellman_loss(scores, target, trained, terms.relative)
    if terms.ranking == 0 and terms.regret == 0:
        return loss
    at_goal = head[:, None] == goals
    choice = (
        with_terminal(scores, at_goal, cost[:, None], terms.terminal),
        _wanted(target, block, head, cost, terms.terminal),
        block.source,
        block.sources.numel(),
    )
    ranking = ranking_loss(*choice, terms.temperature)
    regret = regret_loss(*choice, REGRET_TEMPERATURE, terms.relative)
    return loss + terms.ranking * ranking + terms.regret * regret


class _CompiledLoss(torch.autograd.Function):
    """The same in one call, with its gradient: small tensors, many calls."""

    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        target: Tensor,
        block: Block,
        head: Tensor,
        cost: Tensor,
        terms: Terms,
        kernels: Any,
    ) -> Tensor:
        goals = block.goals.expand(block.sources.numel(), -1).contiguous()
        nodes = head, block.source, block.sources, goals
        arrays = [x.numpy() for x in (scores.detach(), target, cost, *nodes)]
        is_calibrated = terms.terminal == 'calibrated'
        loss, grad = kernels.block_loss(
            *arrays, is_calibrated, *terms[1:], REGRET_TEMPERATURE, MAX_REGRET
        )
        ctx.save_for_backward(torch.from_numpy(grad))
        return scores.new_tensor(loss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad * ctx.saved_tensors[0], *[None] * 6


def drop_noise(model: BCM) -> None:
    """Drops the gradient of the last bias, which cancels in every score."""
    if type(model.transition).from_hidden is Transition.from_hidden:
        model.transition.lin3.bias.grad = None


def _wanted(
    target: Tensor, block: Block, head: Tensor, cost: Tensor, terminal: str
) -> Tensor:
    """What the readout should see; at the goal there is nothing to decide."""
    at_goal = head[:, None] == block.edge_goals
    target = with_terminal(target, at_goal, cost[:, None], terminal)
    ended = block.sources[:, None] == block.goals
    return target.masked_fill(ended[block.source], float('inf'))


def _shared(
    terms: Terms, block: Block, head: Tensor, cost: Tensor, columns: slice
) -> Terms:
    """The weights that some goals have in the loss of all."""
    # What is finite does not depend on the scores.
    value, tail = block.next_value, block.sources[block.source]
    wanted = _wanted(value, block, head, cost, terms.terminal)
    best = scatter_amin(wanted, block.source, 0, block.sources.numel())
    trained = is_trained(value, tail, head, block.edge_goals)
    decided = _part(best.isfinite(), columns)
    return terms._replace(
        share=terms.share * _part(trained, columns),
        ranking=terms.ranking * decided,
        regret=terms.regret * decided,
    )


def _part(counted: Tensor, columns: slice) -> float:
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
    least = scatter_amin(target, source, 0, num_sources)
    decided = least.isfinite()  # [S, G]
    log_share = _log_softmin(scores, source, num_sources, temperature)
    weight = _log_softmin(target, source, num_sources, temperature).exp()
    weight = weight.masked_fill(~decided[source], 0)
    # A weight of 0 may meet an infinite score.
    cross = torch.where(weight > 0, weight * log_share, 0.0)
    return -cross.sum() / decided.sum().clamp(min=1)


def regret_loss(
    scores: Tensor,
    target: Tensor,
    source: Tensor,
    num_sources: int,
    temperature: float,
    relative: bool = False,
) -> Tensor:
    r"""The mean regret that a choice by the softmin of scores would have.

    For one source and one goal, with neighbours :math:`j`, it is

    .. math::
        \sum_j p_j \, \min(T_j - T^*, R) , \qquad
        p_j \propto \exp(-D_j / \tau) , \qquad T^* = \min_j T_j .

    The regrets on a greedy route add up to what it costs too much, so errors
    count where they mislead it, and by as much. An infinite target (unreachable
    goal) has the regret :math:`R`. Where a target is NaN, or all are infinite,
    there is nothing to learn. With :obj:`relative` a regret is divided by
    :math:`1 + T^*`: all routes to a goal pass near it, few come from far away.

    Args:
        scores (torch.Tensor): :obj:`[M, G]`, terminal convention applied.
        target (torch.Tensor): :obj:`[M, G]`.
        source (torch.Tensor): The source of each edge, :obj:`[M]`.
        num_sources (int): Number of sources :math:`S`.
        temperature (float): :math:`\tau`, in units of the mean cost.
        relative (bool, optional): As above. (default: :obj:`False`)
    """
    least = scatter_amin(target, source, 0, num_sources)
    decided = least.isfinite()  # [S, G]
    best = least.masked_fill(~decided, 0)[source]
    regret = (target - best).clamp(max=MAX_REGRET)
    regret = regret.masked_fill(~decided[source], 0)
    if relative:
        regret = regret / (1 + best)
    chance = _log_softmin(scores, source, num_sources, temperature).exp()
    return (chance * regret).sum() / decided.sum().clamp(min=1)


def _log_softmin(
    x: Tensor, source: Tensor, num_sources: int, temperature: float
) -> Tensor:
    """Of numbers :obj:`[M, G]`, over the edges of each source."""
    energy = x / temperature
    least = scatter_amin(energy.detach(), source, 0, num_sources)
    above = least[source] - energy
    total = torch.zeros_like(least).index_add(0, source, above.exp())
    return above - total.log()[source]

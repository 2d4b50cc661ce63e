from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg.datasets import sample_queries
from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph
from bcm_pyg.metrics import evaluate
from bcm_pyg.nn import BCM
from bcm_pyg.nn.objective import (
    bellman_loss,
    bellman_target,
    is_trained,
    ranking_loss,
)
from bcm_pyg.nn.scoring import block_scores, with_terminal
from bcm_pyg.planning import Planner
from bcm_pyg.utils import Adjacency, Reachability

from .config import FitConfig
from .history import History
from .optimizer import learning_rate, make_optimizer
from .sampling import PairSampler
from .sweeps import hop_diameter
from .targets import Block, make_targets

#: Gradients longer than this are shortened: the first backups can be wild.
MAX_GRAD_NORM = 10.0

#: Backups of the default targets as a share of the hop diameter.
SWEEP_SHARE = 0.3

Callback = Callable[[int, dict[str, float]], None]


def fit(
    model: BCM,
    data: Data,
    config: FitConfig | None = None,
    *,
    progress: bool = False,
    callback: Callback | None = None,
) -> History:
    r"""Trains a map on a graph, from its local edge costs.

    Minimises the Bellman-grounded objective

    .. math::
        \mathbb{E}_{(i, j, g)} \left[ \left( D_i(j; g) - c_{i \to j} -
        \mathrm{sg}[V_j(g)] \right)^2 \right]

    over blocks of random sources (with all their neighbours) times random
    goals, one network pass per pair :math:`(i, g)`. The map is changed in place
    and may have been trained before.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): Its graph.
        config (FitConfig, optional): How to train. (default:
            :obj:`FitConfig()`)
        progress (bool, optional): Whether to show a bar. (default:
            :obj:`False`)
        callback (Callable, optional): Called as :obj:`callback(step, metrics)`
            at every validation. (default: :obj:`None`)

    Raises:
        BCMError: If the loss or a gradient is not finite; the map then keeps
            the weights of the step before.
    """
    if not isinstance(model, BCM):
        raise BCMError(f'model must be a BCM (got {type(model).__name__})')
    config = config or FitConfig()
    data = planning_graph(data).to(model.device)
    if config.sweeps is None:
        hops = hop_diameter(Adjacency.from_data(data))
        config = replace(config, sweeps=max(1, round(SWEEP_SHARE * hops)))
    trainer = _Trainer(model, data, config, progress, callback)
    was_training = model.training
    model.train()
    try:
        history = trainer.run()
    finally:
        model.train(was_training)
    model.graph = fingerprint(data)
    model.record = {
        'config': asdict(config),
        'steps': history.steps,
        'seconds': history.seconds[-1],
        'validation_gap': _finite(history.gap[-1]),
        'validation_success_rate': _finite(history.success_rate[-1]),
    }
    return history


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
    trained = is_trained(target, block.sources[block.row], head, block.goals)
    loss = bellman_loss(scores, target, trained, config.relative)
    if config.ranking > 0:
        at_goal = head[:, None] == block.goals
        readout = with_terminal(scores, at_goal, cost[:, None], model.terminal)
        wanted = with_terminal(target, at_goal, cost[:, None], model.terminal)
        loss = loss + config.ranking * ranking_loss(
            readout,
            wanted,
            block.row,
            block.sources.numel(),
            config.ranking_temperature,
        )
    return loss


class _Trainer:
    """The loop, with its clock, its bar and its history."""

    def __init__(
        self,
        model: BCM,
        data: Data,
        config: FitConfig,
        progress: bool,
        callback: Callback | None,
    ) -> None:
        self.began = time.perf_counter()
        self.model = model
        self.data = data
        self.config = config
        self.callback = callback
        self.history = History()
        self.adjacency = Adjacency.from_data(data)
        self.optimizer = make_optimizer(model, config)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.queries = self._validation_queries()
        self.rows = 0
        self.losses: list[float] = []
        budget = config.steps or round(config.time_budget or 0, 1)
        self.bar = tqdm(
            total=budget,
            unit='step' if config.steps else 's',
            disable=not progress,
            bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} {unit}{postfix}',
        )

    def _validation_queries(self) -> tuple[Tensor, Tensor] | None:
        if self.config.validation_queries == 0:
            return None
        try:
            return sample_queries(
                self.data, self.config.validation_queries, self.config.seed
            )
        except BCMError:  # a graph without mutually reachable nodes
            return None

    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def done(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        config, share = self.config, 0.0
        if config.steps is not None:
            share = self.history.steps / max(1, config.steps)
            share = 1.0 if config.steps == 0 else share
        if config.time_budget is not None:
            spent = self.seconds() / max(config.time_budget, 1e-9)
            share = max(share, spent)
        return min(share, 1.0)

    def run(self) -> History:
        config = self.config
        generator = torch.Generator(self.adjacency.device)
        generator.manual_seed(config.seed)
        sampler = PairSampler(
            self.adjacency, Reachability(self.adjacency), generator
        )
        next_validation = 1.0 / (config.validations + 1)
        try:
            targets = make_targets(
                self.model, self.data, self.adjacency, sampler, config
            )
            while (done := self.done()) < 1:
                self.step(targets.block(self.history.steps), done)
                if done >= next_validation:
                    self.validate()
                    next_validation += 1.0 / (config.validations + 1)
        except KeyboardInterrupt:
            self.history.interrupted = True
        self.history.rows_per_second = self.rows / max(self.seconds(), 1e-9)
        self.validate()
        self.bar.close()
        return self.history

    def step(self, block: Block, done: float) -> None:
        for group in self.optimizer.param_groups:
            group['lr'] = learning_rate(self.config.lr, done)
        self.optimizer.zero_grad()
        loss = block_loss(
            self.model, self.data, self.adjacency, block, self.config
        )
        loss.backward()
        norm = float(
            torch.nn.utils.clip_grad_norm_(self.parameters, MAX_GRAD_NORM)
        )
        value = float(loss.detach())
        if not math.isfinite(value) or not math.isfinite(norm):
            self.bar.close()
            raise BCMError(
                f'training stopped at step {self.history.steps}: the loss is '
                f'{value} and the gradient norm {norm}. The map keeps '
                'the weights of the step before; try a lower lr'
            )
        self.optimizer.step()
        self.losses.append(value)
        self.rows += block.sources.numel() * block.goals.numel()
        self.history.steps += 1
        if self.history.steps % 20 == 0:
            self.show(sum(self.losses) / len(self.losses))

    def show(self, loss: float) -> None:
        spent = self.history.steps if self.config.steps else self.seconds()
        self.bar.n = min(spent, self.bar.total)
        text = f', loss {loss:.3f}'
        if self.history.gap:
            text += f', Gap {self.history.gap[-1]:.1f} %'
        self.bar.set_postfix_str(text[2:])

    def validate(self) -> None:
        history = self.history
        gap = rate = float('nan')
        if self.queries is not None:
            report = evaluate(
                Planner(self.model, self.data), self.data, *self.queries
            )
            gap, rate = report.gap, report.success_rate
        mean = sum(self.losses) / len(self.losses) if self.losses else 0.0
        history.step.append(history.steps)
        history.seconds.append(self.seconds())
        history.loss.append(mean)
        history.gap.append(gap)
        history.success_rate.append(rate)
        self.losses.clear()
        self.show(mean)
        if self.callback is not None:
            metrics: dict[str, Any] = {
                'loss': mean,
                'gap': gap,
                'success_rate': rate,
                'seconds': history.seconds[-1],
            }
            self.callback(history.steps, metrics)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg.datasets import sample_queries
from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint
from bcm_pyg.metrics import evaluate
from bcm_pyg.nn import BCM, Transition
from bcm_pyg.planning import Planner, VisitedGreedy
from bcm_pyg.utils import Adjacency, Processes

from ._progress import History
from .checkpoint import (
    load_optimizer_state,
    optimizer_state,
    write_checkpoint,
)
from .config import FitConfig
from .distributed import GradientSum, share_of_block, shared_checkpoint
from .interrupt import Interrupt
from .loss import block_loss
from .optimizer import learning_rate, make_optimizer
from .resume import (
    check_optimizer,
    check_tensors,
    checked_progress,
    describe_encoder,
    difference,
    part,
    prefixed,
)
from .sampling import PairSampler
from .targets import Block, make_targets

#: Gradients longer than this are shortened: the first backups can be wild.
MAX_GRAD_NORM = 10.0

#: Seconds between two checkpoints.
CHECKPOINT_EVERY = 30.0

Callback = Callable[[int, dict[str, float]], None]


class Trainer:
    """The loop of :func:`~bcm_pyg.fit`: clock, bar, history, checkpoints.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): Its canonical graph.
        config (FitConfig): How to train, nothing left to default.
        progress (bool): Whether to show a bar.
        callback (Callable, optional): Called at every validation.
        checkpoint (Path, optional): Where the state of the run is kept.
        processes (Processes, optional): Those that share the run. (default:
            this one alone)
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        config: FitConfig,
        progress: bool,
        callback: Callback | None,
        checkpoint: Path | None,
        processes: Processes | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self.model = model
        self.data = data
        self.config = config
        self.callback = callback
        self.checkpoint = checkpoint
        self.processes = processes or Processes(distributed=False)
        self.history = History()
        self.interrupt = Interrupt()
        self.shown = self.began  # when the bar moved last
        self.rows = 0
        self.losses: list[float] = []  # since the last validation
        self.validations = 0  # of those that were planned, how many are past
        self.validation_seconds = 0.0
        self.adjacency = Adjacency.from_data(data)
        self.optimizer = make_optimizer(model, config)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.sum_gradients = GradientSum(self.processes, self.parameters)
        self.queries = self._validation_queries()
        self.generator = torch.Generator(self.adjacency.device)
        self.generator.manual_seed(config.seed)
        sampler = PairSampler(
            self.adjacency, self.adjacency.reachability, self.generator
        )
        self.targets = make_targets(
            model, data, self.adjacency, sampler, config, self.processes
        )
        self.bar = tqdm(
            total=config.steps or config.time_budget or 1,
            unit='step' if config.steps else 's',
            disable=not (progress and self.processes.leads),
            bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} {unit}{postfix}',
        )

    def resume(self) -> None:
        """Goes on from the checkpoint, if there is one that fits."""
        try:
            self._resume()
        except BaseException:
            self.bar.close()
            raise

    def run(self) -> History:
        """Trains until the budget is spent, or Ctrl-C."""
        with self.sum_gradients.interruptible():
            return self._run()

    def _run(self) -> History:
        # A half-done step cannot be saved: with a checkpoint to write, Ctrl-C
        # waits for its end. Many processes end at their next sum.
        waits = self.checkpoint is not None and self.processes.size == 1
        try:
            with self.interrupt.remembered() if waits else nullcontext():
                self._train()
            if self.interrupt.came:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            # If in the middle of a step: what was saved last stays saved.
            self.history.interrupted = True
        except BaseException:
            self.bar.close()
            raise
        self.history.rows_per_second = self.rows / max(self.seconds(), 1e-9)
        try:
            if self.losses or not self.history.step:
                self.validate()
        except KeyboardInterrupt:  # an impatient second one
            self.history.interrupted = True
        finally:
            self.bar.close()
        return self.history

    def _train(self) -> None:
        self.save()  # an unwritable path is better found out now
        last_saved = time.perf_counter()
        while (done := self._agreed_done()) < 1 and not self.interrupt.came:
            self.step(self.targets.block(self.history.steps), done)
            if self._validation_is_due(done):
                self.validate()
            if time.perf_counter() - last_saved > CHECKPOINT_EVERY:
                self.save()
                last_saved = time.perf_counter()
        self.save()

    def _validation_is_due(self, done: float) -> bool:
        """Whether the next of the evenly spaced validations has come.

        Those that were missed are left out, and of a time budget they may not
        take more than a tenth: short ones are for training.
        """
        due = int(done * (self.config.validations + 1))
        if due <= self.validations:
            return False
        self.validations = due
        if self.config.time_budget is None:
            return True
        short = self.validation_seconds <= 0.1 * self.seconds()
        return bool(self.processes.leaders_numbers([short])[0])

    def seconds(self) -> float:
        """Wall time of the run, without the time it was stopped."""
        return time.perf_counter() - self.began

    def done(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        config, share = self.config, 0.0
        if config.steps is not None:
            share = self.history.steps / config.steps if config.steps else 1.0
        if config.time_budget is not None:
            spent = self.seconds() / max(config.time_budget, 1e-9)
            share = max(share, spent)
        return min(share, 1.0)

    def _agreed_done(self) -> float:
        """The same on all processes: clocks differ."""
        done = self.done()
        if self.config.time_budget is not None:
            done = self.processes.leaders_numbers([done])[0]
        return done

    def step(self, block: Block, done: float) -> None:
        """One step of the optimiser."""
        for group in self.optimizer.param_groups:
            group['lr'] = learning_rate(self.config.lr, done)
        self.optimizer.zero_grad()
        value = self._backward(block)
        if value == 0:  # a block in which every goal is next to its sources
            self.history.steps += 1
            return
        norm = float(
            torch.nn.utils.clip_grad_norm_(self.parameters, MAX_GRAD_NORM)
        )
        if not math.isfinite(value) or not math.isfinite(norm):
            raise BCMError(
                f'training stopped at step {self.history.steps}: the loss is '
                f'{value} and the gradient norm {norm}. The map keeps the '
                'weights of the step before; try a lower lr'
            )
        self.optimizer.step()
        self.losses.append(value)
        self.rows += block.sources.numel() * block.goals.numel()
        self.history.steps += 1
        if time.perf_counter() - self.shown > 0.5:
            self.show(sum(self.losses) / len(self.losses))

    def _backward(self, block: Block) -> float:
        """Leaves the gradients of the loss of a block, and returns the loss."""
        together, value = self.processes.size > 1, 0.0
        if together:
            block = share_of_block(
                self.processes, block, self.model, self.adjacency
            )
        if block.goals.numel() > 0:
            loss = block_loss(
                self.model, self.data, self.adjacency, block, self.config
            )
            value = float(loss.detach())
            if value != 0:
                loss.backward()
                self._drop_noise()
        return self.sum_gradients(value) if together else value

    def _drop_noise(self) -> None:
        """The last bias cancels in every score: its gradient is rounding.

        An optimiser that divides by the size of gradients would follow it.
        """
        transition = self.model.transition
        if type(transition).rest is Transition.rest:
            transition.lin3.bias.grad = None

    def show(self, loss: float) -> None:
        """Moves the bar."""
        self.shown = time.perf_counter()
        spent = self.history.steps if self.config.steps else self.seconds()
        self.bar.n = min(spent, self.bar.total)
        left = self.seconds() * (1 / max(self.done(), 1e-9) - 1)
        text = f'loss {loss:.4f}'
        if self.history.gap:
            text += f', Gap {self.history.gap[-1]:.1f} %'
            text += f' at SR {self.history.success_rate[-1]:.2f}'
        self.bar.set_postfix_str(f'{text}, {tqdm.format_interval(left)} left')

    def validate(self) -> None:
        """Appends to the history."""
        history = self.history
        began = time.perf_counter()
        gap = rate = float('nan')
        if self.queries is not None:
            planner = Planner(self.model, self.data, VisitedGreedy())
            report = evaluate(planner, self.data, *self.queries)
            gap, rate = report.gap, report.success_rate
        gap, rate = self.processes.leaders_numbers([gap, rate])
        self.validation_seconds += time.perf_counter() - began
        mean = float('nan')
        if self.losses:
            mean = sum(self.losses) / len(self.losses)
        self.losses.clear()
        history.step.append(history.steps)
        history.seconds.append(self.seconds())
        history.loss.append(mean)
        history.gap.append(gap)
        history.success_rate.append(rate)
        self.show(mean)
        if self.callback is not None and self.processes.leads:
            metrics = {
                'loss': mean,
                'gap': gap,
                'success_rate': rate,
                'seconds': history.seconds[-1],
            }
            try:
                self.callback(history.steps, metrics)
            except KeyboardInterrupt:
                if self.processes.size == 1:
                    raise
                # The others wait for the next sum, and end there too.
                self.sum_gradients.interrupted = True

    def _validation_queries(self) -> tuple[Tensor, Tensor] | None:
        if self.config.validation_queries == 0 or not self.processes.leads:
            return None
        try:
            return sample_queries(
                self.data, self.config.validation_queries, self.config.seed
            )
        except BCMError:
            warnings.warn(
                'no two nodes of the graph can reach each other there and '
                'back, so training is not validated. Edges are directed: an '
                'undirected graph holds both directions',
                stacklevel=4,
            )
            return None

    def save(self) -> None:
        """Writes the checkpoint, if one is wanted."""
        if self.checkpoint is None or not self.processes.leads:
            return
        moments, counts = optimizer_state(self.optimizer)
        tensors = {
            **prefixed('model', self.model.state_dict()),
            **prefixed('optimizer', moments),
            **prefixed('targets', self.targets.state()),
            'generator': self.generator.get_state(),
        }
        facts = {
            **self._identity(),
            'optimizer': counts,
            'history': asdict(self.history),
            'losses': self.losses,
            'rows': self.rows,
            'validations': self.validations,
            'seconds': self.seconds(),
        }
        write_checkpoint(self.checkpoint, tensors, facts)

    def _resume(self) -> None:
        found = shared_checkpoint(self.processes, self.checkpoint)
        if found is None:
            return
        tensors, facts = found
        for name, here in self._identity().items():
            if name not in facts:
                raise BCMError(
                    f'{self.checkpoint} does not say of what {name} it is, as '
                    'those of older releases: remove it'
                )
            if facts[name] != here:
                raise BCMError(
                    f'{self.checkpoint} is of a run with another {name}'
                    f'{difference(facts[name], here)}: remove it, or give the '
                    'same one'
                )
        try:
            self._restore(tensors, facts)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise BCMError(
                f'{self.checkpoint} does not fit this map: {error!s:.500}'
            ) from None

    def _identity(self) -> dict[str, Any]:
        """What a run that is resumed must have in common with this one."""
        return {
            'config': asdict(self.config),
            'graph': fingerprint(self.data),
            'terminal': self.model.terminal,
            'encoder': describe_encoder(self.model.encoder),
        }

    def _restore(
        self, tensors: dict[str, Tensor], facts: dict[str, Any]
    ) -> None:
        """The caller's map comes last, when nothing can go wrong any more."""
        weights, moments, pool = (
            part(name, tensors) for name in ('model', 'optimizer', 'targets')
        )
        history = checked_progress(facts)
        check_tensors(weights, self.model.state_dict())
        # What the pool does not know is NaN: some values now, others then.
        check_tensors(pool, self.targets.state(), finite=False)
        check_tensors(
            {'generator': tensors['generator']},
            {'generator': self.generator.get_state()},
        )
        check_optimizer(self.optimizer, moments, facts['optimizer'])
        load_optimizer_state(self.optimizer, moments, facts['optimizer'])
        self.targets.load_state(pool)
        self.generator.set_state(tensors['generator'])
        self.history = history
        self.losses = facts['losses']
        self.rows, self.validations = facts['rows'], facts['validations']
        self.began = time.perf_counter() - facts['seconds']
        self.model.load_state_dict(weights)
        self.targets.rescale()

"""What is seen of a run: clock, bar, history, validation; and Ctrl-C."""

import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Self

from torch import Tensor
from torch_geometric.data import Data
from tqdm.auto import tqdm

from bcm_pyg.baselines import shortest_distances
from bcm_pyg.datasets import sample_queries
from bcm_pyg.errors import BCMError
from bcm_pyg.metrics import gap, success_rate
from bcm_pyg.nn import BCM
from bcm_pyg.planning import Planner, VisitedGreedy
from bcm_pyg.utils import Adjacency, counted

from .blocks import Run
from .config import FitConfig

Callback = Callable[[int, dict[str, float]], None]


@dataclass(repr=False)
class History:
    """What happened during :func:`~bcm_pyg.fit`, one entry per validation.

    Attributes:
        step: Steps made so far.
        seconds: Wall time so far.
        loss: Mean loss since the last entry.
        gap: Gap in percent on the validation queries (visited-aware greedy).
        success_rate: Success rate there.
        steps: Steps in all.
        rows_per_second: Pairs (node, goal) trained per second, over all.
        interrupted: Whether Ctrl-C ended the training.
    """

    step: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    success_rate: list[float] = field(default_factory=list)
    steps: int = 0
    rows_per_second: float = 0.0
    interrupted: bool = False

    def __repr__(self) -> str:
        last = {
            name: f', {name}={getattr(self, name)[-1]:.4g}'
            for name in ('loss', 'gap', 'success_rate')
            if getattr(self, name)
        }
        stopped = ', interrupted=True' if self.interrupted else ''
        values = f'steps={self.steps}{"".join(last.values())}{stopped}'
        return f'{type(self).__name__}({values})'

    def __str__(self) -> str:
        lines = [f'{"step":>7} {"s":>7} {"loss":>9} {"Gap %":>8} {"SR":>6}']
        columns = self.step, self.seconds, self.loss, self.gap
        for step, seconds, loss, excess, rate in zip(
            *columns, self.success_rate, strict=True
        ):
            line = f'{step:7d} {seconds:7.1f} {loss:9.4f} {excess:8.2f}'
            lines.append(f'{line} {rate:6.3f}')
        lines.append(
            f'{counted(self.steps, "step")}, '
            f'{self.rows_per_second:,.0f} pairs a second'
            + (', interrupted' if self.interrupted else '')
        )
        return '\n'.join(lines)


class Validation:
    """Plans some queries with the map as it is, against exact search."""

    def __init__(self, data: Data, config: FitConfig) -> None:
        self.data = data
        self.planner: Planner | None = None
        self.queries: tuple[Tensor, Tensor] | None = None
        num = config.validation_queries
        try:
            self.queries = sample_queries(data, num, config.seed)
        except BCMError:
            warnings.warn(
                'no two nodes of the graph can reach each other there and '
                'back, so training is not validated. Edges are directed: an '
                'undirected graph holds both directions',
                stacklevel=5,
            )
            return
        graph = Adjacency.from_data(data)
        self.optimal = shortest_distances(graph, *self.queries)

    def __call__(self, model: BCM) -> tuple[float, float]:
        """Gap in percent and success rate, NaN without queries."""
        if self.queries is None:
            return math.nan, math.nan
        if self.planner is None:
            self.planner = Planner(model, self.data, VisitedGreedy())
        else:
            self.planner.refresh(model)
        plan = self.planner(*self.queries).to('cpu')
        return gap(plan, self.optimal), success_rate(plan, self.optimal)


class Progress:
    """The clock, history and bar of a run.

    Of many processes the leader alone validates, shows and calls back, and its
    clock counts.
    """

    def __init__(
        self, run: Run, show: bool | None, callback: Callback | None
    ) -> None:
        self.began = time.perf_counter()
        self.model = run.model
        self.config = run.config
        self.processes = run.processes
        self.callback = callback
        self.history = History()
        self.losses: list[float] = []  # since the last validation
        self.pairs = 0  # of a node and a goal, trained so far
        self._validations = 0  # how many of those planned are past
        self._validation_seconds = 0.0
        self._shown = self.began  # when the bar moved last
        self._validation: Validation | None = None
        if self.processes.leads and run.config.validation_queries > 0:
            self._validation = Validation(run.data, run.config)
        if show is None:  # somebody is looking
            isatty = getattr(sys.stderr, 'isatty', bool)  # it may be None
            show = isatty() or 'ipykernel' in sys.modules
        self._hidden = not (show and self.processes.leads)

    def __enter__(self) -> Self:
        steps, seconds = self.config.steps, self.config.time_budget
        self.bar = tqdm(
            total=steps or seconds or 1,
            unit='step' if steps else 's',
            disable=self._hidden,
            bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} {unit}{postfix}',
        )
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def seconds(self) -> float:
        """Wall time of the run, without the time it was stopped."""
        return time.perf_counter() - self.began

    def done(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        config, share = self.config, 0.0
        if config.steps is not None:
            share = self.history.steps / config.steps if config.steps else 1.0
        if config.time_budget is not None:
            share = max(share, self.seconds() / max(config.time_budget, 1e-9))
        return min(share, 1.0)

    def agreed_done(self) -> float:
        """The same on all processes: clocks differ."""
        done = self.done()
        if self.config.time_budget is not None:
            done = self.processes.leaders_numbers([done])[0]
        return done

    def step(self, loss: float, pairs: int) -> None:
        """One more step was made."""
        self.history.steps += 1
        self.losses.append(loss)
        self.pairs += pairs
        if time.perf_counter() - self._shown > 0.5:
            self._show(_mean(self.losses))

    def validation_is_due(self, done: float) -> bool:
        """Whether the next of the evenly spaced validations has come.

        Missed ones are left out. They take at most a tenth of a time budget.
        """
        due = int(done * (self.config.validations + 1))
        if due <= self._validations:
            return False
        self._validations = due
        if self.config.time_budget is None:
            return True
        short = self._validation_seconds <= 0.1 * self.seconds()
        return bool(self.processes.leaders_numbers([short])[0])

    def validate(self) -> None:
        """Appends to the history, and calls back."""
        history, began = self.history, time.perf_counter()
        found = math.nan, math.nan
        if self._validation is not None:
            found = self._validation(self.model)
        percent, rate = self.processes.leaders_numbers(found)
        self._validation_seconds += time.perf_counter() - began
        metrics = {
            'loss': _mean(self.losses),
            'gap': percent,
            'success_rate': rate,
            'seconds': self.seconds(),
        }
        self.losses.clear()
        history.step.append(history.steps)
        for name, value in metrics.items():
            getattr(history, name).append(value)
        self._show(metrics['loss'])
        if self.callback is not None and self.processes.leads:
            self.callback(history.steps, metrics)

    def _show(self, loss: float) -> None:
        self._shown = time.perf_counter()
        spent = self.history.steps if self.config.steps else self.seconds()
        self.bar.n = min(spent, self.bar.total)
        left = self.seconds() * (1 / max(self.done(), 1e-9) - 1)
        text = f'loss {loss:.4f}'
        if self.history.gap:
            text += f', Gap {self.history.gap[-1]:.1f} %'
            text += f' at SR {self.history.success_rate[-1]:.2f}'
        self.bar.set_postfix_str(f'{text}, {tqdm.format_interval(left)} left')

    def end(self) -> None:
        """Once more at the end, unless nothing happened since."""
        self.history.rows_per_second = self.pairs / max(self.seconds(), 1e-9)
        if self.losses or not self.history.step:
            self.validate()

    def summary(self) -> dict[str, Any]:
        """What the record of the map tells, for JSON."""
        steps, seconds = self.history.steps, self.seconds()
        out: dict[str, Any] = {'steps': steps, 'seconds': seconds}
        for name in ('gap', 'success_rate'):
            last = (getattr(self.history, name) or [math.nan])[-1]
            out[f'validation_{name}'] = last if math.isfinite(last) else None
        return out

    def counts(self) -> list[float]:
        """What a checkpoint keeps beside the history and the losses."""
        steps = self.history.steps
        return [steps, self.pairs, self._validations, self.seconds()]

    def go_on(
        self, history: History, losses: list[float], counts: list[float]
    ) -> None:
        """Goes on from what a checkpoint kept."""
        self.history, self.losses = history, losses
        history.steps, self.pairs, self._validations = map(int, counts[:3])
        self.began = time.perf_counter() - counts[3]


def _mean(losses: list[float]) -> float:
    return sum(losses) / len(losses) if losses else math.nan


class Interrupt:
    """Keeps Ctrl-C until the end of a step: a half-done one cannot be saved.

    A second one comes at once, unless other processes share the run: all end at
    their next sum. In a thread, or with a handler of the user, it does nothing.
    """

    def __init__(self, alone: bool) -> None:
        self.alone = alone
        self.came = False
        self._before: Any = None

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        usual = before is signal.default_int_handler or not self.alone
        if usual and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._keep)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _keep(self, number: int, frame: FrameType | None) -> None:
        if self.came and self.alone:
            raise KeyboardInterrupt
        self.came = True

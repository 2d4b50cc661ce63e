"""What scores are regressed on: the settings, and values by them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency, check_float, check_int

from .blocks import Blocks, OneStepBlocks, PooledBlocks, Run
from .sampling import PairSampler
from .sweeps import backup_work

#: Backups of the default targets as a share of the hop diameter.
BACKUP_SHARE = 0.3
#: Bootstrap nodes over the root of the number of nodes. More make the minimum
#: over noisy values too low, fewer make the way over one of them a detour.
NODE_SHARE = 2.4
#: Bootstrap samples, and steps between refreshes, where they are cheap.
SAMPLES, REFRESH_EVERY = 4, 8
#: Edges that the backups of a step may look at: a third of the time of a step.
#: Beyond, on graphs of many thousand nodes, samples become fewer first. With a
#: quarter of it the values of long mazes stay far too low.
MAX_BACKED_UP = 2**24


class Targets(ABC):
    """Settings of what scores are regressed on, for :class:`FitConfig`.

    Targets of one's own subclass this and :class:`Blocks`; a frozen dataclass
    has its settings recorded with the map.
    """

    @abstractmethod
    def blocks(self, run: Run) -> Blocks:
        """What makes the blocks of a run."""

    def resolve(self, adjacency: Adjacency, hop_diameter: int) -> Self:
        """The same with what depends on the graph filled in."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Name and settings, for JSON."""
        names = {kind: name for name, kind in TARGETS.items()}
        name = names.get(type(self), qualified_name(type(self)))
        return {'name': name, **(asdict(self) if is_dataclass(self) else {})}


@dataclass(frozen=True, kw_only=True)
class OneStepTargets(Targets):
    """The paper's: one backup from the map's own values.

    Sources come in patches with goals of their own, so that the values of most
    heads are those of sources; transitions out of a patch are not trained at
    that step. On a connected graph the cost of a step does not depend on its
    size. Some of the goals of a patch are in it: all routes end near their
    goal, where uniform pairs are few. Goals by themselves are uniform.

    Values are those of a map whose weights are averaged over the last steps.
    The minimum over scores that jump from step to step leads a map away even
    from exact values.

    Attributes:
        patch: Sources of a patch, on average.
        own_goals: How many of its goals are in a patch, half of them at most.
        average: Steps that the average looks back at most; at first they are a
            small share of the steps so far, and in the last fifth of the budget
            they become more, as the learning rate falls. 1 means the map as it
            is.
    """

    patch: int = 16
    own_goals: int = 2
    average: int = 200

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            check_int(field.name, value, 0 if field.name == 'own_goals' else 1)
            object.__setattr__(self, field.name, int(value))

    def blocks(self, run: Run) -> Blocks:
        """What makes the blocks of a run."""
        return OneStepBlocks(self, run)


@dataclass(frozen=True, kw_only=True)
class PooledTargets(Targets):
    """Many backups, shared by many steps through a pool of goals.

    The pool keeps values, :obj:`[N, goal_pool]` floats. Every few steps some
    goals are redrawn. Settings are those of :class:`SweepTargets`.
    """

    goal_pool: int = 64
    refresh: int = 16
    refresh_every: int | None = None
    near_goal_fraction: float = 0.25

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == 'near_goal_fraction':
                check_float(field.name, value)
                value = float(value)
            elif value is not None or field.default is not None:
                check_int(field.name, value, 1)
                value = int(value)  # numpy's are welcome
            object.__setattr__(self, field.name, value)
        if self.near_goal_fraction > 1:
            got = self.near_goal_fraction
            raise BCMError(f'near_goal_fraction must be at most 1 (got {got})')

    @abstractmethod
    def values(self, blocks: PooledBlocks, goals: Tensor) -> Tensor:
        """The values of all nodes for some goals, :obj:`[N, G]`."""

    def blocks(self, run: Run) -> Blocks:
        """What makes the blocks of a run."""
        return PooledBlocks(self, run)

    def _refresh_every(self, work: int) -> int:
        """Steps between refreshes that look at so many edges each."""
        if self.refresh_every is not None:
            return self.refresh_every
        return max(REFRESH_EVERY, math.ceil(work / MAX_BACKED_UP))


@dataclass(frozen=True, kw_only=True)
class SweepTargets(PooledTargets):
    r"""The default: the map's values, backed up many times over the graph.

    The map gives its values on a few random nodes alone. From these (infinite
    elsewhere, 0 at the goal) the min-plus backup :math:`V_i \leftarrow \min_j
    c_{ij} + V_j` runs :math:`k - 1` times, which fills in the rest; the target
    is one more. The mean over several samples is the table of a goal. Few nodes
    make a goal cheap, and the minimum over few noisy values is less biased.

    Attributes:
        num_backups: How many times; by default three tenths of the hop
            diameter of the graph.
        bootstrap_samples: Independent samples of nodes for a goal; by default
            4, and fewer on graphs of more than some thousand nodes.
        bootstrap_nodes: Nodes of one sample; by default :math:`2.4 \sqrt{N}`.
        goal_pool: Goals whose values are kept ready.
        refresh: Goals of the pool redrawn at a time.
        refresh_every: Steps between two refreshes; by default 8, and more
            where the backups of so many goals would take most of the time.
        near_goal_fraction: Share of the sources that are drawn near to one of
            the goals, at all scales of distance; the others come from anywhere.
            All routes end near their goal, where uniform pairs are few.
    """

    num_backups: int | None = None
    bootstrap_samples: int | None = None
    bootstrap_nodes: int | None = None

    def resolve(self, adjacency: Adjacency, hop_diameter: int) -> Self:
        """The same with what depends on the graph filled in."""
        backups, nodes = self.num_backups, self.bootstrap_nodes
        if backups is None:
            backups = max(2, round(BACKUP_SHARE * hop_diameter))
        if nodes is None:
            sources = int((adjacency.degree() > 0).sum())
            nodes = max(1, round(NODE_SHARE * math.sqrt(sources)))
        one = max(1, self.refresh * backup_work(adjacency, backups - 1))
        samples = self.bootstrap_samples
        if samples is None:
            samples = min(SAMPLES, REFRESH_EVERY * MAX_BACKED_UP // one) or 1
        return replace(
            self,
            num_backups=backups,
            bootstrap_samples=samples,
            bootstrap_nodes=nodes,
            refresh_every=self._refresh_every(samples * one),
        )

    def values(self, blocks: PooledBlocks, goals: Tensor) -> Tensor:
        """The values of all nodes for some goals, :obj:`[N, G]`."""
        samples, backups = self.bootstrap_samples, self.num_backups
        assert samples is not None and backups is not None
        reach = blocks.sampler.reach(goals)
        nodes, position = self._draw(blocks.sampler, samples)
        value = blocks.map_values(nodes, goals, reach)
        start = blocks.unknown(samples * goals.numel())
        columns = start.split(goals.numel(), dim=1)  # views
        for column, chosen in zip(columns, position, strict=True):
            column[nodes[chosen]] = value[chosen]
        # The target itself is one more backup.
        swept = blocks.sweeper(start, goals.repeat(samples), backups - 1)
        return _mean_of_known(swept.view(-1, samples, goals.numel()), reach)

    def _draw(
        self, sampler: PairSampler, samples: int
    ) -> tuple[Tensor, Tensor]:
        """Bootstrap nodes, and the positions of each sample among them."""
        size = self.bootstrap_nodes
        assert size is not None
        nodes = sampler.bootstrap_nodes(samples * size)
        num = nodes.numel()
        if num == samples * size:
            position = torch.arange(num, device=nodes.device)
            return nodes, position.view(samples, size)
        # A small graph: samples overlap.
        order = [sampler.permutation(num)[:size] for _ in range(samples)]
        return nodes, torch.stack(order)


@dataclass(frozen=True, kw_only=True)
class ExactTargets(PooledTargets):
    """The backup until convergence: shortest-path labels, for comparison.

    Settings are those of the pool of goals (see :class:`SweepTargets`).
    """

    def resolve(self, adjacency: Adjacency, hop_diameter: int) -> Self:
        """The same with what depends on the graph filled in."""
        work = self.refresh * backup_work(adjacency, hop_diameter)
        return replace(self, refresh_every=self._refresh_every(work))

    def values(self, blocks: PooledBlocks, goals: Tensor) -> Tensor:
        """The values of all nodes for some goals, :obj:`[N, G]`."""
        start = blocks.unknown(goals.numel())
        return blocks.sweeper(start, goals, times=None)


def _mean_of_known(value: Tensor, reach: Tensor | None) -> Tensor:
    """The mean over samples :obj:`[N, samples, G]` that know a value.

    It is NaN where none does, infinite where the goal cannot be reached.
    """
    known = torch.isfinite(value)
    mean = value.masked_fill(~known, 0).sum(dim=1) / known.sum(dim=1)
    return mean if reach is None else mean.masked_fill(~reach, float('inf'))


#: Short names of targets.
TARGETS: dict[str, type[Targets]] = {
    'sweeps': SweepTargets,
    'paper': OneStepTargets,
    'exact': ExactTargets,
}


def qualified_name(thing: Any) -> str:
    """What a class or function is called, with the arguments of a partial."""
    if isinstance(thing, partial):
        given = [repr(value) for value in thing.args]
        given += [f'{key}={value!r}' for key, value in thing.keywords.items()]
        return f'{qualified_name(thing.func)}({", ".join(given)})'
    named = thing if hasattr(thing, '__qualname__') else type(thing)
    return f'{named.__module__}.{named.__qualname__}'

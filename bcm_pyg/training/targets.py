"""Blocks of sources and goals to train on, with what their scores should be."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.nn import BCM
from bcm_pyg.nn.values import block_values
from bcm_pyg.utils import Adjacency

from .config import FitConfig
from .sampling import PairSampler
from .sweeps import sweep


class Block(NamedTuple):
    """A step's worth of training.

    Attributes:
        sources: :obj:`[S]` nodes.
        goals: :obj:`[G]` nodes.
        edge: :obj:`[M]` ids of all edges that leave the sources.
        row: :obj:`[M]` the position in :obj:`sources` that each leaves.
        next_value: :obj:`[M, G]` the value of the head of each edge, in units
            of the map's cost scale; infinite where the goal cannot be reached.
    """

    sources: Tensor
    goals: Tensor
    edge: Tensor
    row: Tensor
    next_value: Tensor


class Targets(Protocol):
    """Makes the block of each step."""

    def block(self, step: int) -> Block:
        """The block of a step; steps come in order."""
        ...


def make_targets(
    model: BCM,
    data: Data,
    adjacency: Adjacency,
    sampler: PairSampler,
    config: FitConfig,
) -> Targets:
    """The targets that a configuration asks for."""
    kind = FreshTargets if config.targets == 'paper' else PooledTargets
    return kind(model, data, adjacency, sampler, config)


class FreshTargets:
    """The paper's: one backup from the map's values at this very step.

    Values are computed for the neighbours of the sources alone, so that the
    cost of a step does not depend on the size of the graph.
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        adjacency: Adjacency,
        sampler: PairSampler,
        config: FitConfig,
    ) -> None:
        self.model = model
        self.data = data
        self.adjacency = adjacency
        self.sampler = sampler
        self.config = config
        # Only the rows that a step needs are ever filled in.
        self._hidden = torch.zeros(
            adjacency.num_nodes,
            model.transition.hidden_channels,
            device=adjacency.device,
        )

    @torch.no_grad()
    def block(self, step: int) -> Block:
        """The block of a step."""
        pool = self.sampler.goals(self.config.goals)
        goals = pool[self.sampler.block(pool, self.config.goals)]
        reach = None
        if not self.sampler.connected:
            reach = self.sampler.reachability.to_goals(goals)
        sources = self.sampler.sources(reach, self.config.sources)
        edge, row = self.adjacency.out_edges(sources)
        heads, where = self.adjacency.dst[edge].unique(return_inverse=True)
        beyond, _ = self.adjacency.out_edges(heads)
        needed = torch.cat([heads, self.adjacency.dst[beyond], goals]).unique()
        self._hidden[needed] = self.model.hidden(self.data, needed)
        value = block_values(
            self.model, self._hidden, self.adjacency, heads, goals
        )
        if reach is not None:
            value = value.masked_fill(~reach[heads], float('inf'))
        return Block(sources, goals, edge, row, value[where])


class PooledTargets:
    """Several backups, shared by many steps through a pool of goals.

    The pool keeps a table of values, :obj:`[N, pool]` floats. A few of its
    goals are redrawn at a time; their values start from the map's own (or, for
    exact targets, from nothing) and are swept over the graph. A goal's values
    are never swept further later on.
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        adjacency: Adjacency,
        sampler: PairSampler,
        config: FitConfig,
    ) -> None:
        self.model = model
        self.data = data
        self.adjacency = adjacency
        self.sampler = sampler
        self.config = config
        size = min(config.pool, sampler.num_goals)
        self._cost = adjacency.cost / model.cost_scale
        self._nodes = torch.arange(adjacency.num_nodes, device=adjacency.device)
        self._goals = sampler.goals(size)
        self._next = 0  # the first column to redraw next time
        self._value = torch.cat(
            [self._values(part) for part in self._goals.split(config.renew)],
            dim=1,
        )

    @torch.no_grad()
    def _values(self, goals: Tensor) -> Tensor:
        infinite = float('inf')
        if self.config.targets == 'exact':
            value = self._cost.new_full(
                (self.adjacency.num_nodes, goals.numel()), infinite
            )
            times = None
        else:
            value = block_values(
                self.model,
                self.model.hidden(self.data),
                self.adjacency,
                self._nodes,
                goals,
            )
            if not self.sampler.connected:
                reach = self.sampler.reachability.to_goals(goals)
                value = value.masked_fill(~reach, infinite)
            times = self.config.sweeps - 1  # the target itself is one more
        return sweep(
            value,
            self.adjacency,
            self._cost,
            goals,
            self.model.terminal,
            times,
        )

    def _renew(self) -> None:
        num = min(self.config.renew, self._goals.numel())
        column = (
            torch.arange(
                self._next, self._next + num, device=self._goals.device
            )
            % self._goals.numel()
        )
        goals = self.sampler.goals(num)
        self._goals[column] = goals
        self._value[:, column] = self._values(goals)
        self._next = int(column[-1]) + 1

    @torch.no_grad()
    def block(self, step: int) -> Block:
        """The block of a step."""
        if step > 0 and step % self.config.renew_every == 0:
            self._renew()
        column = self.sampler.block(self._goals, self.config.goals)
        value = self._value[:, column]
        reach = None if self.sampler.connected else torch.isfinite(value)
        sources = self.sampler.sources(reach, self.config.sources)
        edge, row = self.adjacency.out_edges(sources)
        return Block(
            sources,
            self._goals[column],
            edge,
            row,
            value[self.adjacency.dst[edge]],
        )

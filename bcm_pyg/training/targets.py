"""Blocks of sources and goals to train on, with what their scores should be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM
from bcm_pyg.nn.values import block_values
from bcm_pyg.utils import Adjacency, Processes

from .config import FitConfig
from .sampling import PairSampler
from .sweeps import Sweeper


class Block(NamedTuple):
    """A step's worth of training.

    Attributes:
        sources: :obj:`[S]` nodes.
        goals: :obj:`[G]` nodes.
        edge: :obj:`[M]` ids of all edges that leave the sources.
        row: :obj:`[M]` the position in :obj:`sources` that each leaves.
        next_value: :obj:`[M, G]` the value of the head of each edge, in units
            of the map's cost scale; infinite where the goal cannot be reached,
            NaN where it is not known.
        trained_share: Where the block is part of a larger one, its share of
            that one's trained scores.
        decided_share: The same of its decisions to rank.
    """

    sources: Tensor
    goals: Tensor
    edge: Tensor
    row: Tensor
    next_value: Tensor
    trained_share: float = 1.0
    decided_share: float = 1.0


class Targets(ABC):
    """Makes the block of each step.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): Its canonical graph.
        adjacency (Adjacency): Its edges.
        sampler (PairSampler): Draws sources and goals.
        config (FitConfig): How to train, nothing left to default.
        processes (Processes, optional): Those that share the work, each for
            some of the goals; the blocks are the same on all. (default: this
            one alone)
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        adjacency: Adjacency,
        sampler: PairSampler,
        config: FitConfig,
        processes: Processes | None = None,
    ) -> None:
        self.model = model
        self.data = data
        self.adjacency = adjacency
        self.sampler = sampler
        self.config = config
        self.processes = processes or Processes(distributed=False)
        # Of these rows just those that a step needs are ever filled in.
        self._hidden = torch.zeros(
            adjacency.num_nodes,
            model.transition.hidden_channels,
            device=adjacency.device,
        )

    @abstractmethod
    def block(self, step: int) -> Block:
        """The block of a step; steps come in order."""

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must keep; by default nothing outlives a step."""
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:  # noqa: B027
        """Goes on from what a checkpoint kept."""

    def rescale(self) -> None:  # noqa: B027
        """To be called when the map has got another cost scale."""

    def _map_values(
        self, nodes: Tensor, goals: Tensor, reach: Tensor | None
    ) -> Tensor:
        """The map's values of some nodes for some goals, :obj:`[S, G]`.

        No node is encoded that is not needed.
        """
        edge, _ = self.adjacency.out_edges(nodes)
        needed = torch.cat([nodes, self.adjacency.dst[edge], goals]).unique()
        self._hidden[needed] = self.model.hidden(self.data, needed)
        return block_values(
            self.model, self._hidden, self.adjacency, nodes, goals, reach
        )


class FreshTargets(Targets):
    """The paper's: one backup from the map's values at this very step.

    Values are computed for the neighbours of the sources alone, so that the
    cost of a step does not depend on the size of the graph.
    """

    @torch.no_grad()
    def block(self, step: int) -> Block:
        """The block of a step."""
        pool = self.sampler.goals(self.config.goals)
        goals = pool[self.sampler.block(pool, self.config.goals)]
        reach = self.sampler.reach(goals)
        sources = self.sampler.sources(reach, self.config.sources)
        edge, row = self.adjacency.out_edges(sources)
        heads, where = self.adjacency.dst[edge].unique(return_inverse=True)

        def values(column: Tensor) -> Tensor:
            some = None if reach is None else reach[:, column]
            return self._map_values(heads, goals[column], some)

        column = torch.arange(goals.numel(), device=goals.device)
        value = self.processes.divided(values, column)
        return Block(sources, goals, edge, row, value[where])


class PooledTargets(Targets):
    r"""Many backups, shared by many steps through a pool of goals.

    The pool keeps a table of values, :obj:`[N, pool]` floats. Every few steps
    some of its goals are redrawn and their values made anew, never swept on
    from what they were:

    - :obj:`"sweeps"`: the map is asked for its values on a few random nodes
      alone; from these (infinite elsewhere, 0 at the goal) the backup runs
      :math:`k - 1` times, which fills in the rest. The mean over several such
      draws is the table. Few nodes make a goal cheap, so that goals can be
      many; and the minimum over few noisy values is less biased than over all.
    - :obj:`"exact"`: the backup runs from nothing until it converges.
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        adjacency: Adjacency,
        sampler: PairSampler,
        config: FitConfig,
        processes: Processes | None = None,
    ) -> None:
        super().__init__(model, data, adjacency, sampler, config, processes)
        self.rescale()
        self._goals = sampler.goals(config.pool)
        self._next = 0  # the first column to redraw next time
        self._value = torch.cat(
            [self._shared(part) for part in self._goals.split(config.renew)],
            dim=1,
        )

    def rescale(self) -> None:
        """Backups from now on are in units of the map's cost scale."""
        cost = self.adjacency.cost / self.model.cost_scale
        self._sweeper = Sweeper(self.adjacency, cost, self.model.terminal)

    def _shared(self, goals: Tensor) -> Tensor:
        # Seeds are drawn by all, whatever their goals.
        return self.processes.divided(self._values, goals)

    @torch.no_grad()
    def _values(self, goals: Tensor) -> Tensor:
        if self.config.targets == 'exact':
            start = self._unknown(goals.numel())
            return self._sweeper(start, goals, times=None)
        reach = self.sampler.reach(goals)
        draws = self.config.draws
        assert draws is not None and self.config.sweeps is not None
        nodes, place = self._seeds()
        value = self._map_values(nodes, goals, reach)
        start = self._unknown(draws * goals.numel())
        for draw in range(draws):
            columns = slice(draw * goals.numel(), (draw + 1) * goals.numel())
            start[nodes[place[draw]], columns] = value[place[draw]]
        # The target itself is one more backup.
        swept = self._sweeper(
            start, goals.repeat(draws), self.config.sweeps - 1
        )
        return _mean_of_known(swept.view(-1, draws, goals.numel()), reach)

    def _seeds(self) -> tuple[Tensor, Tensor]:
        """Nodes to ask the map on, and the positions of each draw in them."""
        draws, seeds = self.config.draws, self.config.seeds
        assert draws is not None and seeds is not None
        nodes = self.sampler.seeds(draws * seeds)
        if nodes.numel() == draws * seeds:
            place = torch.arange(draws * seeds, device=nodes.device)
            return nodes, place.view(draws, seeds)
        # A small graph: draws overlap.
        num = nodes.numel()
        order = [self.sampler.permutation(num)[:seeds] for _ in range(draws)]
        return nodes, torch.stack(order)

    def _unknown(self, columns: int) -> Tensor:
        size = (self.adjacency.num_nodes, columns)
        return self.adjacency.cost.new_full(size, float('inf'))

    def _renew(self) -> None:
        num = min(self.config.renew, self._goals.numel())
        column = torch.arange(num, device=self._goals.device) + self._next
        column = column % self._goals.numel()
        goals = self.sampler.goals(num)
        self._goals[column] = goals
        self._value[:, column] = self._shared(goals)
        self._next = int(column[-1]) + 1

    @torch.no_grad()
    def block(self, step: int) -> Block:
        """The block of a step."""
        every = self.config.renew_every
        assert every is not None
        if step > 0 and step % every == 0:
            self._renew()
        column = self.sampler.block(self._goals, self.config.goals)
        reach = None
        if not self.sampler.connected:
            reach = ~torch.isinf(self._value[:, column])
        sources = self._sources(column, reach)
        edge, row = self.adjacency.out_edges(sources)
        head = self.adjacency.dst[edge]
        return Block(
            sources,
            self._goals[column],
            edge,
            row,
            self._value[head[:, None], column],
        )

    def _sources(self, column: Tensor, reach: Tensor | None) -> Tensor:
        """Some from anywhere, some near to the goals."""
        num = self.config.sources
        num_near = round(self.config.near * num)
        parts = []
        if num_near < num:
            parts.append(self.sampler.sources(reach, num - num_near))
        if num_near > 0:
            parts.append(
                self.sampler.near_sources(self._value, column, reach, num_near)
            )
        return torch.cat(parts)

    def state(self) -> dict[str, Tensor]:
        """The pool."""
        return {
            'goals': self._goals,
            'value': self._value,
            'next': torch.tensor(self._next),
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Goes on with another pool."""
        goals, begin = state['goals'], int(state['next'])
        num_nodes = self.adjacency.num_nodes
        if not bool(((goals >= 0) & (goals < num_nodes)).all()):
            raise BCMError('the pool has goals that are no nodes')
        if not 0 <= begin <= goals.numel():
            raise BCMError(f'the pool begins at {begin}')
        if bool((state['value'] < 0).any()):
            raise BCMError('the pool has values below 0')
        self._goals.copy_(state['goals'])
        self._value.copy_(state['value'])
        self._next = int(state['next'])


def _mean_of_known(value: Tensor, reach: Tensor | None) -> Tensor:
    """The mean over draws :obj:`[N, draws, G]` that know a value.

    Where none does the value is NaN, unless the goal cannot be reached at all:
    then it is infinite.
    """
    known = torch.isfinite(value)
    total = value.masked_fill(~known, 0).sum(dim=1)
    mean = total / known.sum(dim=1)  # 0 / 0 is NaN
    if reach is not None:
        mean = mean.masked_fill(~reach, float('inf'))
    return mean


def make_targets(
    model: BCM,
    data: Data,
    adjacency: Adjacency,
    sampler: PairSampler,
    config: FitConfig,
    processes: Processes | None = None,
) -> Targets:
    """The targets that a configuration asks for."""
    kind = FreshTargets if config.targets == 'paper' else PooledTargets
    return kind(model, data, adjacency, sampler, config, processes)

"""The blocks that a run trains on, one a step, as its targets make them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM
from bcm_pyg.nn.scoring import block_values
from bcm_pyg.utils import Processes

from .sampling import PairSampler, Patches
from .sweeps import Sweeper

if TYPE_CHECKING:
    from .config import FitConfig
    from .targets import OneStepTargets, PooledTargets


class Block(NamedTuple):
    """A step's worth of training.

    Attributes:
        sources: :obj:`[S]` nodes.
        goals: :obj:`[G]` nodes.
        edge: :obj:`[M]` ids of all edges that leave the sources.
        source: :obj:`[M]` the position in :obj:`sources` that each leaves.
        next_value: :obj:`[M, G]` the value of the head of each edge, in units
            of the map's cost scale; infinite where the goal cannot be reached,
            NaN where it is not known.
        inner: :obj:`[M]` for values of the map at this very step, which the
            scores of the block give: the position in :obj:`sources` of the head
            of each edge. They are added to :obj:`next_value`, which is then 0
            where they are wanted.
    """

    sources: Tensor
    goals: Tensor
    edge: Tensor
    source: Tensor
    next_value: Tensor
    inner: Tensor | None = None

    def part(self, columns: slice) -> Block:
        """The same with some of the goals."""
        goals, value = self.goals[columns], self.next_value[:, columns]
        return self._replace(goals=goals, next_value=value)


class Run(NamedTuple):
    """What a run of :func:`~bcm_pyg.fit` is made of.

    Attributes:
        model: The map.
        data: Its canonical graph.
        sampler: Draws sources and goals, and knows the edges.
        config: How to train, nothing left to default.
        processes: Those that share the goals; blocks are the same on all.
    """

    model: BCM
    data: Data
    sampler: PairSampler
    config: FitConfig
    processes: Processes


class Blocks(ABC):
    """Makes the block of each step of a run."""

    def __init__(self, run: Run) -> None:
        self.model = run.model
        self.data = run.data
        self.sampler = run.sampler
        self.adjacency = run.sampler.adjacency
        self.config = run.config
        self.processes = run.processes

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


class OneStepBlocks(Blocks):
    """Makes the blocks of :class:`OneStepTargets`."""

    def __init__(self, settings: OneStepTargets, run: Run) -> None:
        super().__init__(run)
        self.patches = Patches(run.sampler, settings.patch)
        # Of each node among the sources of a step, at other times -1.
        self._position = torch.full_like(self.adjacency.rowptr[1:], -1)

    def block(self, step: int) -> Block:
        """The block of a step."""
        sources = self.patches.take(self.config.sources)
        goals = self.sampler.goals_of(sources, self.config.goals)
        edge, source = self.adjacency.out_edges(sources)
        head = self.adjacency.dst[edge]
        row = torch.arange(sources.numel(), device=head.device)
        self._position[sources] = row
        inner = self._position[head]
        self._position[sources] = -1
        value = self.adjacency.cost.new_zeros(head.numel(), goals.numel())
        value[inner < 0] = float('nan')
        reach = self.sampler.reach(goals)
        if reach is not None:
            value.masked_fill_(~reach[head], float('inf'))
        return Block(sources, goals, edge, source, value, inner.clamp(min=0))

    def state(self) -> dict[str, Tensor]:
        """The patches of this round."""
        order, taken = self.patches.order, self.patches.taken
        return {'order': order, 'taken': torch.tensor(taken)}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Goes on with another round."""
        order, taken = state['order'], int(state['taken'])
        if not torch.equal(
            order.sort().values, self.patches.order.sort().values
        ):
            raise BCMError('the patches have other nodes than the graph')
        if not 0 <= taken <= order.numel():
            raise BCMError(f'of the patches {taken} nodes are taken')
        self.patches.order.copy_(order)
        self.patches.taken = taken


class PooledBlocks(Blocks):
    """Makes blocks of a pool of goals."""

    def __init__(self, settings: PooledTargets, run: Run) -> None:
        super().__init__(run)
        self.settings = settings
        # Only the nodes that a step needs are ever filled in.
        size = self.adjacency.num_nodes, run.model.transition.hidden_channels
        self._hidden = torch.zeros(size, device=self.adjacency.device)
        self.rescale()
        self._goals = self.sampler.goals(settings.goal_pool)
        self._next = 0  # the first column to redraw next time
        parts = self._goals.split(settings.refresh)
        self._value = torch.cat([self._shared(part) for part in parts], dim=1)

    def rescale(self) -> None:
        """Backups from now on are in units of the map's cost scale."""
        cost = self.adjacency.cost / self.model.cost_scale
        self.sweeper = Sweeper(self.adjacency, cost, self.model.terminal)

    @torch.no_grad()
    def _shared(self, goals: Tensor) -> Tensor:
        # Random numbers are drawn by all processes, whatever their goals.
        return self.processes.divided(
            partial(self.settings.values, self), goals
        )

    def map_values(
        self, nodes: Tensor, goals: Tensor, reach: Tensor | None
    ) -> Tensor:
        """The map's values of some nodes for some goals, :obj:`[S, G]`."""
        edge, _ = self.adjacency.out_edges(nodes)
        needed = torch.cat([nodes, self.adjacency.dst[edge], goals]).unique()
        self._hidden[needed] = self.model.project_nodes(self.data, needed)
        return block_values(
            self.model, self._hidden, self.adjacency, nodes, goals, reach
        )

    def unknown(self, columns: int) -> Tensor:
        """A table of values before anything is known, :obj:`[N, columns]`."""
        size = (self.adjacency.num_nodes, columns)
        return self.adjacency.cost.new_full(size, float('inf'))

    def _refresh(self) -> None:
        num = min(self.settings.refresh, self._goals.numel())
        column = torch.arange(num, device=self._goals.device) + self._next
        column %= self._goals.numel()
        self._goals[column] = goals = self.sampler.goals(num)
        self._value[:, column] = self._shared(goals)
        self._next = int(column[-1]) + 1

    @torch.no_grad()
    def block(self, step: int) -> Block:
        """The block of a step."""
        every = self.settings.refresh_every
        assert every is not None
        if step > 0 and step % every == 0:
            self._refresh()
        column = self.sampler.block(self._goals, self.config.goals)
        connected = self.sampler.connected
        reach = None if connected else ~torch.isinf(self._value[:, column])
        sources = self._sources(column, reach)
        edge, source = self.adjacency.out_edges(sources)
        head = self.adjacency.dst[edge]
        value = self._value[head[:, None], column]
        return Block(sources, self._goals[column], edge, source, value)

    def _sources(self, column: Tensor, reach: Tensor | None) -> Tensor:
        """Some from anywhere, some near to the goals."""
        num = self.config.sources
        num_near = round(self.settings.near_goal_fraction * num)
        parts = []
        if num_near < num:
            parts.append(self.sampler.sources(reach, num - num_near))
        if num_near > 0:
            near = self.sampler.near_sources
            parts.append(near(self._value, column, reach, num_near))
        return torch.cat(parts)

    def state(self) -> dict[str, Tensor]:
        """The pool."""
        begin = torch.tensor(self._next)
        return {'goals': self._goals, 'value': self._value, 'next': begin}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Goes on with another pool."""
        goals, begin = state['goals'], int(state['next'])
        if goals.min() < 0 or goals.max() >= self.adjacency.num_nodes:
            raise BCMError('the pool has goals that are no nodes')
        if not 0 <= begin <= goals.numel():
            raise BCMError(f'the pool begins at {begin}')
        if bool((state['value'] < 0).any()):
            raise BCMError('the pool has values below 0')
        self._goals.copy_(goals)
        self._value.copy_(state['value'])
        self._next = begin

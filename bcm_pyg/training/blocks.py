"""The blocks that a run trains on, one a step, as its targets make them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM
from bcm_pyg.nn.scoring import block_values, with_terminal
from bcm_pyg.utils import Processes, scatter_amin

from .sampling import PairSampler, Patches
from .sweeps import Sweeper

if TYPE_CHECKING:
    from .config import FitConfig
    from .targets import OneStepTargets, PooledTargets

#: Share of the steps so far that an average of the weights looks back.
AVERAGE_SHARE = 0.007
#: Of the peak of the learning rate: below, an average looks back farther.
LOW_RATE = 0.2


class Block(NamedTuple):
    """A step's worth of training.

    Attributes:
        sources: :obj:`[S]` nodes.
        goals: :obj:`[G]` nodes, or those of each source, :obj:`[S, G]`.
        edge: :obj:`[M]` ids of all edges that leave the sources.
        source: :obj:`[M]` the position in :obj:`sources` that each leaves.
        next_value: :obj:`[M, G]` the value of the head of each edge, in units
            of the map's cost scale; infinite where the goal cannot be reached,
            NaN where it is not known.
    """

    sources: Tensor
    goals: Tensor
    edge: Tensor
    source: Tensor
    next_value: Tensor

    @property
    def edge_goals(self) -> Tensor:
        """The goals :obj:`[G]`, or those of each edge, :obj:`[M, G]`."""
        return self.goals if self.goals.dim() == 1 else self.goals[self.source]

    def part(self, columns: slice) -> Block:
        """The same with some of the goals."""
        goals, value = self.goals[..., columns], self.next_value[:, columns]
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
    """Makes the block of each step of a run.

    Attributes:
        done: The share of the budget that is spent, as the run has it.
    """

    done: float = 0.0

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
        self.own_goals = settings.own_goals
        self.longest = settings.average
        try:
            self.average = AveragedModel(run.model).eval()
        except (RuntimeError, TypeError) as error:
            raise BCMError(
                'one-step targets need a copy of the map for its averaged '
                f'weights, but it cannot be copied: {error}'
            ) from error
        # Of each node among the sources of a step, at other times -1.
        self._position = torch.full_like(self.adjacency.rowptr[1:], -1)

    @torch.no_grad()
    def block(self, step: int) -> Block:
        """The block of a step."""
        self._follow()
        sources, patch = self.patches.take(self.config.sources)
        _, patch, size = patch.unique_consecutive(
            return_inverse=True, return_counts=True
        )
        goals = self._goals(sources, size)[patch]
        edge, source = self.adjacency.out_edges(sources)
        head = self.adjacency.dst[edge]
        dead = self._dead_ends(head, goals[source])
        block = Block(sources, goals, edge, source, dead)
        columns = torch.arange(goals.size(1), device=goals.device)
        value = self.processes.divided(partial(self._values, block), columns)
        self._position[sources] = torch.arange(len(sources), device=head.device)
        inner = self._position[head]
        self._position[sources] = -1
        left = (inner < 0) | (patch[inner] != patch[source])
        value = value[inner].masked_fill(left[:, None], float('nan'))
        value = torch.where(dead.isinf(), dead, value)
        return block._replace(next_value=value)

    def _goals(self, sources: Tensor, size: Tensor) -> Tensor:
        """Goals of each patch, :obj:`[P, G]`; the first are among its own."""
        first, num = size.cumsum(0) - size, self.config.goals
        own = self.sampler.within(first, size, min(num // 2, self.own_goals))
        far = self.sampler.goals_of(sources[first], num - own.size(1))
        return torch.cat([sources[own], far], dim=1)

    def _dead_ends(self, head: Tensor, goals: Tensor) -> Tensor:
        """Infinite where a head does not reach a goal, 0 elsewhere."""
        out = self.adjacency.cost.new_zeros(goals.shape)
        if not self.sampler.connected:
            heads = head[:, None].expand_as(goals).flatten()
            pairs = self.sampler.reachability.pairs(heads, goals.flatten())
            out.masked_fill_(~pairs.view_as(goals), float('inf'))
        return out

    def _values(self, block: Block, columns: Tensor) -> Tensor:
        """Values of the sources for some of their goals, by the average."""
        head = self.adjacency.dst[block.edge]
        cost = self.adjacency.cost[block.edge, None] / self.model.cost_scale
        goals = block.goals[:, columns]
        scores = self.average(
            self.data, block.sources, head, goals, block.source
        )
        at_goal = head[:, None] == goals[block.source]
        scores = with_terminal(scores, at_goal, cost, self.model.terminal)
        # Ways that do not lead to a goal do not count.
        scores = scores + block.next_value[:, columns]
        value = scatter_amin(scores, block.source, 0, block.sources.numel())
        return value.masked_fill(block.sources[:, None] == goals, 0)

    def _follow(self) -> None:
        """Makes the average one over some of the last steps, more at first.

        As the learning rate falls, weights move less and less. An average that
        lags behind by as much as before keeps values from drifting in the end.
        """
        average, count = self.average, self.average.n_averaged
        steps = min(self.longest, 1 + AVERAGE_SHARE * int(count))
        if steps > 1:
            steps *= max(1.0, LOW_RATE / max(1 - self.done, 1e-6))
        now, buffers = self.model.parameters(), self.model.buffers()
        torch._foreach_lerp_(list(average.parameters()), list(now), 1 / steps)
        torch._foreach_copy_(list(average.module.buffers()), list(buffers))
        count += 1

    def state(self) -> dict[str, Tensor]:
        """The patches of this round, and the average."""
        patches = self.patches
        return {
            'order': patches.order,
            'patch': patches.patch,
            'taken': torch.tensor(patches.taken),
            **self.average.state_dict(),
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Goes on with another round."""
        state, patches = dict(state), self.patches
        order, patch = state.pop('order'), state.pop('patch')
        taken = int(state.pop('taken'))
        if not torch.equal(order.sort().values, patches.order.sort().values):
            raise BCMError('the patches have other nodes than the graph')
        if not 0 <= taken <= order.numel():
            raise BCMError(f'of the patches {taken} nodes are taken')
        if int(state['n_averaged']) < 0:
            raise BCMError('the averaged map has a negative number of steps')
        if not all(bool(x.isfinite().all()) for x in state.values()):
            raise BCMError('the averaged map is not finite')
        self.average.load_state_dict(state)
        patches.order.copy_(order)
        patches.patch.copy_(patch)
        patches.taken = taken


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

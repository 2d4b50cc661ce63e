"""Scorers, readouts, and the base class of planners."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import (
    FullRoutes,
    SimplifiedGraph,
    fingerprint,
    planning_graph,
)
from bcm_pyg.graph.full_routes import Candidates
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Adjacency, Reachability, as_queries

from .plan import Plan


class EdgeScores(NamedTuple):
    """The edges that leave a batch of nodes, scored.

    Attributes:
        edge: :obj:`[M]` ids of all edges, ascending for each node.
        source: :obj:`[M]` position of their node in the batch, ascending.
        score: :obj:`[M]` estimated cost to the goal by each edge.
    """

    edge: Tensor
    source: Tensor
    score: Tensor


class Scorer(Protocol):
    """Scores the edges that leave nodes :obj:`[B]` for goals :obj:`[B]`.

    Any callable works (for a module, pass a method). Its attribute
    :obj:`cost_scale`, if it has one, is the cost of a score of 1.
    """

    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """All edges of each node, scored for its goal."""
        ...


def cost_scale(scorer: Scorer) -> float:
    """The cost that a score of 1 stands for."""
    return float(getattr(scorer, 'cost_scale', 1.0))


class CheckedScorer:
    """A scorer whose answers are checked: it must score all edges."""

    def __init__(self, scorer: Scorer, adjacency: Adjacency) -> None:
        self.scorer = scorer
        self.adjacency = adjacency
        self.cost_scale = cost_scale(scorer)

    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """All edges of each node, scored for its goal."""
        out = self.scorer(nodes, goals)
        parts = out if isinstance(out, tuple) else ()
        if len(parts) != 3 or not all(isinstance(x, Tensor) for x in parts):
            raise BCMError(
                'a scorer must return EdgeScores(edge, source, score), three '
                f'tensors (got {type(out).__name__})'
            )
        edge, source = self.adjacency.out_edges(nodes)
        if not (torch.equal(parts[0], edge) and torch.equal(parts[1], source)):
            raise BCMError(
                'a scorer must score all edges that leave the nodes, in the '
                'order of adjacency.out_edges(nodes): is it one of this graph?'
            )
        if parts[2].shape != edge.shape:
            raise BCMError(
                f'a scorer must give {edge.numel()} edges a score each (got '
                f'shape {tuple(parts[2].shape)})'
            )
        return EdgeScores(*parts)


class Readout(Protocol):
    """Turns local scores into routes.

    A readout is a small frozen dataclass whose fields are its settings. It gets
    valid, connected queries on one device, at least one. Some routes may be
    missing: a complete :class:`~bcm_pyg.Planner` finds them.
    """

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        ...


class BasePlanner(ABC):
    """Answers start to goal queries in batches.

    It checks ids, answers queries whose goal cannot be reached, cuts batches,
    and maps routes on a simplified graph back to the full one. A subclass
    plans connected queries.

    Args:
        data (torch_geometric.data.Data or SimplifiedGraph): The graph. If
            it is simplified, queries and routes are on the full graph.
        device (torch.device, optional): Where to plan. (default: that of the
            graph)

    Attributes:
        data: The canonical graph to plan on.
        adjacency: Its edges.
        graph: Fingerprint of the graph that routes are on.
    """

    #: Queries at a time.
    batch_size = 4096

    def __init__(
        self, data: Data | SimplifiedGraph, device: torch.device | None = None
    ) -> None:
        self._full: FullRoutes | None = None
        full = None
        if isinstance(data, SimplifiedGraph):
            self._full, full, data = FullRoutes(data), data.full, data.data
        self.data = planning_graph(data)
        if device is not None:
            self.data = self.data.to(device)
        self.adjacency = Adjacency.from_data(self.data)
        self._fingerprint = fingerprint(self.data)
        self.graph = self._fingerprint if full is None else fingerprint(full)

    @property
    def full_adjacency(self) -> Adjacency:
        """The edges of the graph that queries are on."""
        return self.adjacency if self._full is None else self._full.full

    @property
    def num_nodes(self) -> int:
        """Nodes of the graph that queries are on."""
        return self.full_adjacency.num_nodes

    @property
    def reachability(self) -> Reachability:
        """Which nodes of :attr:`data` can reach which."""
        return self.adjacency.reachability

    def __call__(self, starts: Ids, goals: Ids) -> Plan:
        """Routes for queries given as ints, lists, arrays or tensors.

        Start equal to goal is a success of cost 0. Where the goal cannot be
        reached, :obj:`success` is False, the cost and its lower bound infinite.
        """
        start, goal = as_queries(starts, goals, self.num_nodes)
        if self._full is None:
            plan = self._answer(start, goal)
        else:
            answer = partial(self._answer_full, self._full)
            plan = self._in_batches(start.cpu(), goal.cpu(), answer)
        known = ('graph', self.graph), ('starts', start), ('goals', goal)
        for name, value in known:  # much quicker than another plan
            object.__setattr__(plan, name, value)
        return plan

    def _answer(self, starts: Tensor, goals: Tensor) -> Plan:
        """Plans in batches; queries without an answer are marked as such."""
        device = self.adjacency.device
        starts, goals = starts.to(device), goals.to(device)
        if starts.numel() == 0:
            return Plan.empty(device)
        if self.reachability.surely(starts, goals):
            return self._in_batches(starts, goals)
        connected = self.reachability.pairs(starts, goals)
        # A query without an answer is asked as start to start, then marked.
        asked = torch.where(connected, goals, starts)
        return self._in_batches(starts, asked).without(~connected)

    def _answer_full(
        self, full: FullRoutes, starts: Tensor, goals: Tensor
    ) -> Plan:
        """Routes on the full graph: the best of all candidates and of the way
        inside a segment. So an exact planner stays exact, and a bound a bound.
        Expansions are those on the simplified graph.
        """
        start, goal = starts.numpy(), goals.numpy()
        cost, nodes = full.inside(start, goal)
        candidates = full.candidates(start, goal)
        query, beside = candidates.query, candidates.cost
        plan = self._answer_candidates(candidates).to('cpu')
        total, least = plan.cost.numpy() + beside, np.full(cost.shape, np.inf)
        np.minimum.at(least, query, total)
        chosen = plan.success.numpy() & (total == least[query])
        chosen = np.flatnonzero(chosen)
        chosen = chosen[np.diff(query[chosen], prepend=-1) > 0]  # one of each
        walked = cost.copy()
        if chosen.size > 0:
            row = query[chosen]
            ends = start[row], goal[row]
            core = plan.nodes.numpy()[chosen]
            found = full.unpack(core, *ends, candidates.which[chosen])
            better = found[0] < cost[row]
            row, wide = row[better], found[1].shape[1]
            more = np.full((starts.numel(), max(nodes.shape[1], wide)), -1)
            more[:, : nodes.shape[1]] = nodes
            more[row] = -1
            more[row, :wide] = found[1][better]
            nodes = more
            cost[row] = found[0][better]
            way = plan.walked_cost.numpy()[chosen] + beside[chosen]
            walked[row] = np.maximum(way[better], cost[row])
        # A hair less: costs were added up in another order.
        bound = cost.copy()
        low = (plan.lower_bound.numpy() + beside) * (1 - 2**-45)
        np.minimum.at(bound, query, low)
        expansions = np.zeros_like(start)
        np.add.at(expansions, query, plan.expansions.numpy())
        parts = cost, nodes, expansions, bound, walked
        return Plan.from_routes(*map(torch.from_numpy, parts))

    def _answer_candidates(self, candidates: Candidates) -> Plan:
        """Routes of all candidates (see :class:`FullRoutes`)."""
        ends = candidates.exit, candidates.entry
        return self._answer(*map(torch.from_numpy, ends))

    def _in_batches(
        self,
        starts: Tensor,
        goals: Tensor,
        plan: Callable[..., Plan] | None = None,
    ) -> Plan:
        plan = plan or self._plan
        size = self.batch_size
        if starts.numel() <= size:
            return plan(starts, goals)
        parts = zip(starts.split(size), goals.split(size), strict=True)
        return Plan.cat([plan(*part) for part in parts])

    @abstractmethod
    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        """Routes of connected queries on :attr:`data`, at least one."""

    @abstractmethod
    def storage_bytes(self) -> int:
        """Bytes of what the planner keeps besides the graph."""

    def __repr__(self) -> str:
        return f'{type(self).__name__}(num_nodes={self.num_nodes})'

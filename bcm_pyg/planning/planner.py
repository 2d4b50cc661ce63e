import copy
import warnings
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.graph.full_routes import Candidates, Ends
from bcm_pyg.kernels import load_kernels
from bcm_pyg.nn.bcm import not_compiled
from bcm_pyg.typing import Ids
from bcm_pyg.utils import (
    as_ids,
    as_queries,
    check_float,
    check_int,
    scatter_amin,
)

from ._engine import compiled_map, values_of
from ._landmarks import LandmarkBounds, certified, with_bounds
from ._map_scorer import MapScorer, is_map
from ._near import near_bounds
from ._plain import HUGE
from .base import BasePlanner, CheckedScorer, Readout, Scorer, cost_scale
from .plan import Plan
from .readouts import (
    BestFirst,
    Corridor,
    Greedy,
    VisitedGreedy,
    resolve_readout,
)

#: Landmarks of a planner that proves its routes.
LANDMARKS = 16
#: Distances that are estimated at a time where each is a query.
MAX_PAIRS = 2**16


class Planner(BasePlanner):
    r"""Answers start to goal queries in batches by reading a map.

    The planner copies what it needs of the map: build a new one after further
    training, or :meth:`refresh` it. Maps are read by compiled code on as many
    threads as torch uses, with 112 bytes a node and thread. On another device
    than the CPU, greedy walks are made there, and all else by a copy of the map
    on the CPU. Routes do not depend on batches or threads.

    A map that was trained on another graph or on other costs may find poor
    routes, with a warning. Goals that can be reached are reached if
    :obj:`complete`: :class:`~bcm_pyg.planning.BestFirst` searches where the
    readout finds no route.

    Args:
        model (BCM or Scorer): The map, compiled or not, or anything that scores
            edges (see :class:`~bcm_pyg.planning.Scorer`).
        data (torch_geometric.data.Data or SimplifiedGraph): Its graph. If
            it is simplified, queries and routes are on the full graph.
        readout (Readout or str, optional): How to turn scores into routes, or
            its name. (default: :class:`~bcm_pyg.planning.Corridor`)
        complete (bool, optional): Whether to find a route for every query that
            has one. By default all readouts do but those of the paper,
            :class:`~bcm_pyg.planning.Greedy` and
            :class:`~bcm_pyg.planning.VisitedGreedy`. (default: :obj:`None`)
        epsilon (float, optional): If given, every route is proven to cost at
            most :math:`1 + \epsilon` times the best one, by searching on where
            the landmarks do not prove it. (default: :obj:`None`)
        landmarks (int, optional): Landmarks for :obj:`Plan.lower_bound`; 0 for
            none. Distances are raised to their bounds, too, and searches of
            :obj:`exact_within` guided. They are found when first needed, by two
            exact searches each, and keep 4 bytes a node each, or 2 where costs
            are the same in both directions. (default: 16 with :obj:`epsilon`,
            else 0)

    Example:
        >>> from bcm_pyg import BCM, Planner
        >>> from bcm_pyg.datasets import weighted_grid
        >>> data = weighted_grid('open', side=4, costs='uniform', seed=42)
        >>> planner = Planner(BCM.from_data(data), data)
        >>> plan = planner([0, 0], [1, 0])
        >>> plan.success.tolist(), plan.path(1)
        ([True, True], [0])
    """

    def __init__(
        self,
        model: object,
        data: Data | SimplifiedGraph,
        readout: Readout | str | None = None,
        *,
        complete: bool | None = None,
        epsilon: float | None = None,
        landmarks: int | None = None,
    ) -> None:
        self.readout = resolve_readout(readout)
        self.complete, self.epsilon, self.landmarks = _guarantees(
            self.readout, complete, epsilon, landmarks
        )
        model = not_compiled(model)
        if is_map(model):
            load_kernels()  # compiled at the first time
            super().__init__(data, model.device)
            info, known = model.info, (None, self._fingerprint)
            if model.is_untrained():
                warnings.warn(
                    'the map is untrained, so its routes are poor: call '
                    'fit(model, data) first, or CognitiveMap.learn with a '
                    'budget above 0',
                    stacklevel=2,
                )
            if info.training and info.fingerprint not in known:
                warnings.warn(
                    'the map was trained on another graph or on other costs, '
                    'so its routes may be poor: plan on its own graph (of a '
                    'simplified one, that: simplified= of CognitiveMap), or '
                    'continue training with fit(model, data)',
                    stacklevel=2,
                )
            self.scorer: Scorer = MapScorer(model, self.data, self.adjacency)
        elif isinstance(model, (type, torch.nn.Module)) or not callable(model):
            raise BCMError(
                'model must be a BCM, or a scorer: a callable of nodes and '
                'goals, a function around it if it is a module (got '
                f'{type(model).__name__})'
            )
        else:
            super().__init__(data)
            self.scorer = CheckedScorer(model, self.adjacency)

    def refresh(self, model: object) -> None:
        """Reads a map that was trained further, on the same graph."""
        model = not_compiled(model)
        if not is_map(model):
            raise BCMError(f'model must be a BCM (got {type(model).__name__})')
        self.scorer = MapScorer(model, self.data, self.adjacency)

    def with_readout(
        self, readout: Readout | str, *, epsilon: float | None = None
    ) -> Self:
        """A planner that reads the same map in another way; what is kept of
        the map is shared. It is complete by the same defaults.
        """
        out, readout = copy.copy(self), resolve_readout(readout)
        settings = _guarantees(readout, None, epsilon, self.landmarks or None)
        out.readout = readout
        out.complete, out.epsilon, out.landmarks = settings
        if out.landmarks != self.landmarks:
            vars(out).pop('bounds', None)
        return out

    def on_subgraph(self, data: Data | SimplifiedGraph) -> Self:
        """A planner that reads the same map on a graph with the same nodes of
        which some edges are gone, or cost more.

        Nodes keep their embeddings, nothing is trained. It is complete, and
        shares the landmarks: bounds of the whole graph stay bounds. If an edge
        is new or costs less, it finds its own.
        """
        if not isinstance(self.scorer, MapScorer):
            raise BCMError('only a planner that reads a BCM can change edges')
        out, known = copy.copy(self), self.adjacency.num_nodes
        BasePlanner.__init__(out, data, self.adjacency.device)
        if out.adjacency.num_nodes != known:
            raise BCMError(
                f'the graph must have the same {known} nodes (got '
                f'{out.adjacency.num_nodes})'
            )
        out.scorer, out.complete = self.scorer.on(out.adjacency), True
        vars(out).pop('bounds', None)
        if self.landmarks > 0 and out.adjacency.is_part_of(self.adjacency):
            vars(out)['bounds'] = self.bounds.on(out.adjacency)
        return out

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        plan = self.readout(self.scorer, self.adjacency, starts, goals)
        if self.complete and not bool(plan.success.all()):
            failed = (~plan.success).nonzero().squeeze(1)
            ends = starts[failed], goals[failed]
            found = BestFirst()(self.scorer, self.adjacency, *ends)
            plan = plan.cheaper(failed, found)
        if self.epsilon is not None:
            return certified(plan, self.bounds, starts, goals, self.epsilon)
        if self.landmarks > 0:
            return with_bounds(plan, self.bounds, starts, goals)
        return plan

    def _answer_candidates(self, candidates: Candidates) -> Plan:
        """Of each query the most promising candidate draws a corridor, and all
        of them are searched there: their portals are close to each other.
        """
        readout = self.readout
        if (
            not isinstance(readout, Corridor)
            or not isinstance(readout.guide, BestFirst)
            or self.epsilon is not None
            or candidates.query.size == 0
        ):
            return super()._answer_candidates(candidates)
        device = self.adjacency.device
        ends = candidates.exit, candidates.entry
        exits, entries = (torch.from_numpy(end).to(device) for end in ends)
        connected = None  # all of them
        if not self.reachability.surely(exits, entries):
            connected = self.reachability.pairs(exits, entries)
            entries = torch.where(connected, entries, exits)
        value = candidates.cost + self._values(exits, entries).cpu().numpy()
        value = np.minimum(value, HUGE)
        if connected is not None:
            value[~connected.cpu().numpy()] = np.inf
        leader = _least_of_each(value, candidates.query)
        leads = torch.from_numpy(leader == np.arange(leader.size)).to(device)
        lead = torch.from_numpy(leader).to(device)
        drawn = exits[lead], entries[lead]
        plan = readout.along(
            self.scorer, self.adjacency, exits, entries, *drawn
        )
        plan = replace(plan, expansions=plan.expansions * leads)
        if self.landmarks > 0:
            plan = with_bounds(plan, self.bounds, exits, entries)
        return plan if connected is None else plan.without(~connected)

    @cached_property
    def bounds(self) -> LandmarkBounds:
        """Lower bounds of costs, by landmarks found when first needed."""
        return LandmarkBounds(self.adjacency, max(1, self.landmarks))

    def distance(
        self, starts: Ids, goals: Ids, *, exact_within: int = 0
    ) -> Tensor:
        """Estimated cost of each query in the graph's units, float32
        :obj:`[B]`; infinite where the scores are no number.

        Relative errors are largest between near nodes, which a short search
        settles. With :obj:`landmarks` no estimate is below their bound.

        Args:
            starts (Ids): :obj:`[B]` nodes.
            goals (Ids): :obj:`[B]` nodes.
            exact_within (int, optional): First a search expands so many nodes
                at most, guided by the landmarks if there are any. Costs that it
                settles are exact, other estimates within what it has proven, to
                float32. (default: :obj:`0`, no search)
        """
        check_int('exact_within', exact_within, 0)
        start, goal = as_queries(starts, goals, self.num_nodes)
        if self._full is None and exact_within == 0:
            return self._values(start, goal)
        parts = [end.cpu().split(MAX_PAIRS) for end in (start, goal)]
        found = [
            self._estimates(one.numpy(), two.numpy(), int(exact_within))
            for one, two in zip(*parts, strict=True)
        ]
        cost = torch.from_numpy(np.concatenate(found)).float()
        return cost.to(self.adjacency.device)

    def _estimates(
        self, starts: np.ndarray, goals: np.ndarray, exact_within: int
    ) -> np.ndarray:
        """Costs by the map, between what landmarks and a search prove."""
        full = self._full
        ends_of = Ends.of_nodes if full is None else full.ends
        ends = ends_of(starts, goals)
        lower, upper = np.zeros(starts.size), np.full(starts.size, np.inf)
        if exact_within > 0:
            bounds = self.bounds if self.landmarks > 0 else None
            proven = near_bounds(self.adjacency, ends, exact_within, bounds)
            lower, upper = proven
        cost, left = upper.copy(), np.flatnonzero(lower < upper)
        if left.size > 0:
            value = self._least_values(Ends(*(end[left] for end in ends)))
            cost[left] = value.clip(lower[left], upper[left])
        if full is not None:
            near = full.may_stay(starts, goals)
            inside, _ = full.inside(starts[near], goals[near])
            cost[near] = np.minimum(cost[near], inside)
        return cost

    def _least_values(self, ends: Ends) -> np.ndarray:
        """What the map says of the best exit and entry of each query."""
        beside = ends.leaving[:, :, None] + ends.entering[:, None]
        query, leaves, enters = np.isfinite(beside).nonzero()
        pair = ends.exits[query, leaves], ends.entries[query, enters]
        value = self._values(*map(torch.from_numpy, pair)).cpu().numpy()
        best = np.full(len(beside), np.inf)
        np.minimum.at(best, query, beside[query, leaves, enters] + value)
        return best

    def distance_matrix(self, starts: Ids, goals: Ids) -> Tensor:
        """Estimated costs from each start to each goal, :obj:`[S, G]`, as by
        :meth:`distance`.
        """
        start = as_ids(starts, self.num_nodes, 'starts')
        goal = as_ids(goals, self.num_nodes, 'goals')
        if self._full is None:
            return self._value_matrix(start, goal)

        def values(exits: np.ndarray, entries: np.ndarray) -> np.ndarray:
            ends = torch.from_numpy(exits), torch.from_numpy(entries)
            return self._value_matrix(*ends).cpu().numpy()

        ends = start.cpu().numpy(), goal.cpu().numpy()
        return torch.from_numpy(self._full.matrix(*ends, values))

    def _value_matrix(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Values on :attr:`data` of each start for each goal."""
        device = self.adjacency.device
        starts, goals = starts.to(device), goals.to(device)
        num = goals.numel()
        if not isinstance(self.scorer, MapScorer) or self._is_compiled:
            parts = [
                self._values(
                    part.repeat_interleave(num), goals.repeat(part.numel())
                )
                for part in starts.split(max(1, MAX_PAIRS // max(1, num)))
            ]
            return torch.cat(parts).view(starts.numel(), num)
        out = self.adjacency.cost.new_empty(starts.numel(), goals.numel())
        for first in range(0, goals.numel(), 64):
            part = slice(first, first + 64)
            value = self.scorer.value_matrix(starts, goals[part])
            out[:, part] = self._raised(value, starts[:, None], goals[part])
        return out

    @property
    def _is_compiled(self) -> bool:
        """Whether kernels know the values: no edge is dead for some goals."""
        is_here = self.adjacency.device.type == 'cpu'
        is_known = is_here and self.reachability.symmetric
        return is_known and compiled_map(self.scorer) is not None

    def _values(self, starts: Tensor, goals: Tensor) -> Tensor:
        """What the map says of each query, at least what landmarks prove."""
        device = self.adjacency.device
        starts, goals = starts.to(device), goals.to(device)
        return self._raised(self._map_values(starts, goals), starts, goals)

    def _raised(self, value: Tensor, starts: Tensor, goals: Tensor) -> Tensor:
        """Values, raised to the bounds by landmarks; all of one shape."""
        if self.landmarks == 0 or value.numel() == 0:
            return value
        starts, goals = starts.expand_as(value), goals.expand_as(value)
        bound = self.bounds(starts.flatten(), goals.flatten())
        return torch.maximum(value, bound.view_as(value).float())

    def _map_values(self, starts: Tensor, goals: Tensor) -> Tensor:
        """The lowest score of each start, float32 :obj:`[B]`, edges that lead
        nowhere left out.
        """
        reach = self.reachability
        if self._is_compiled:
            value = values_of(self.scorer, self.adjacency, starts, goals)
            if reach.surely(starts, goals):
                return value
            apart = reach.weak[starts] != reach.weak[goals]
            return value.masked_fill(apart, float('inf'))
        if isinstance(self.scorer, MapScorer):
            return self.scorer.values(starts, goals)
        with torch.no_grad():
            edge, source, score = self.scorer(starts, goals)
        score = (score * cost_scale(self.scorer)).float()
        dead = ~reach.pairs(self.adjacency.dst[edge], goals[source])
        score = score.masked_fill(dead | score.isnan(), float('inf'))
        value = scatter_amin(score, source, 0, starts.numel())
        return value.masked_fill(starts == goals, 0)

    def cache_bytes(self) -> int:
        """Bytes that the planner keeps besides map and graph."""
        num_bytes = 0
        if isinstance(self.scorer, MapScorer):
            num_bytes += self.scorer.cache_bytes()
        if self._full is not None:
            num_bytes += self._full.num_bytes()
        if 'bounds' in vars(self):
            num_bytes += self.bounds.num_bytes()
        return num_bytes

    storage_bytes = cache_bytes

    def __repr__(self) -> str:
        name = type(self).__name__
        return f'{name}({self.readout}, num_nodes={self.num_nodes})'


def _guarantees(
    readout: Readout,
    complete: bool | None,
    epsilon: float | None,
    landmarks: int | None,
) -> tuple[bool, float | None, int]:
    """The settings of a planner, checked and with defaults filled in."""
    if complete is not None and not isinstance(complete, bool):
        raise BCMError(f'complete must be True or False (got {complete!r})')
    if epsilon is not None:
        check_float('epsilon', epsilon)
        epsilon = float(epsilon)
        if complete is False:
            raise BCMError('epsilon needs complete routes: drop complete=False')
    if landmarks is None:
        landmarks = 0 if epsilon is None else LANDMARKS
    check_int('landmarks', landmarks, 0 if epsilon is None else 1)
    if complete is None:
        is_of_paper = isinstance(readout, (Greedy, VisitedGreedy))
        complete = epsilon is not None or not is_of_paper
    return complete, epsilon, int(landmarks)


def _least_of_each(value: np.ndarray, query: np.ndarray) -> np.ndarray:
    """For each entry the first one of the same query that has its least value;
    queries are ascending.
    """
    first = np.flatnonzero(np.diff(query, prepend=-1))
    count = np.diff(first, append=query.size)
    least = np.minimum.reduceat(value, first).repeat(count)
    among = np.where(value == least, np.arange(query.size), query.size)
    return np.minimum.reduceat(among, first).repeat(count)

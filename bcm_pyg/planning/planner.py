from __future__ import annotations

import warnings
from functools import cached_property

from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph
from bcm_pyg.nn import BCM
from bcm_pyg.typing import Ids
from bcm_pyg.utils import (
    Adjacency,
    Reachability,
    as_ids,
    as_queries,
    check_float,
    check_int,
    keep_freed_memory,
)

from .certificate import certified, with_bounds
from .completed import completed
from .connected import plan_connected
from .greedy import Greedy
from .landmarks import LandmarkBounds
from .plan import Plan
from .readout import Readout
from .scorer import MapScorer
from .visited_greedy import VisitedGreedy

#: Landmarks of a planner that proves its routes.
LANDMARKS = 16


class Planner:
    r"""Answers start to goal queries in batches by reading a map.

    The planner copies what it needs of the map when it is built: build a new
    one after further training. Queries run in chunks of :obj:`batch_size`; a
    chunk needs about :math:`6 (2^{15} + d)` rows of 256 floats for scores (200
    MB), where :math:`d` is the largest degree, and 50 bytes per query and step
    of its longest walk.

    Routes are always routes of :obj:`data`, at its costs. A map that was
    trained on another graph or on other costs may find poor ones: there is a
    warning.

    A goal that cannot be reached is known beforehand and costs no step. One
    that can be is always reached if :obj:`complete`: where the readout found no
    route, :class:`~bcm_pyg.planning.BestFirst` does.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): Its graph.
        readout (Readout, optional): How to turn scores into routes. (default:
            :class:`~bcm_pyg.planning.VisitedGreedy`)
        complete (bool, optional): Whether to find a route for every query that
            has one. By default all readouts do but those of the paper,
            :class:`~bcm_pyg.planning.Greedy` and
            :class:`~bcm_pyg.planning.VisitedGreedy`. (default: :obj:`None`)
        epsilon (float, optional): If given, every route is proven to cost at
            most :math:`1 + \epsilon` times the best one, by searching on where
            the landmarks do not prove it. (default: :obj:`None`)
        landmarks (int, optional): Landmarks for :obj:`Plan.lower_bound`; 0 for
            none. They are found at the first query, by two exact searches each,
            and keep 8 bytes a node each. (default: 16 with :obj:`epsilon`, else
            0)
        batch_size (int, optional): Queries at a time. (default: :obj:`4096`)
        cache (bool, optional): Whether to keep what the edges contribute to
            scores, about 1 kB an edge, filled in as nodes are visited. Without
            it a planner keeps 1 kB a node and takes about five times as long.
            (default: :obj:`True` up to one million edges, which take 1 GiB)

    Example:
        >>> from bcm_pyg import BCM, Planner
        >>> from bcm_pyg.datasets import weighted_grid
        >>> data = weighted_grid('open', side=4, costs='uniform', seed=42)
        >>> planner = Planner(BCM.from_data(data), data, complete=True)
        >>> plan = planner([0, 0], [1, 0])
        >>> plan.success.tolist(), plan.path(1)
        ([True, True], [0])
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        readout: Readout | None = None,
        *,
        complete: bool | None = None,
        epsilon: float | None = None,
        landmarks: int | None = None,
        batch_size: int = 4096,
        cache: bool | None = None,
    ) -> None:
        if not isinstance(model, BCM):
            raise BCMError(f'model must be a BCM (got {type(model).__name__})')
        if readout is not None and (
            isinstance(readout, type) or not callable(readout)
        ):
            raise BCMError(
                f'readout must be a readout such as VisitedGreedy() (got '
                f'{readout!r})'
            )
        check_int('batch_size', batch_size, 1)
        keep_freed_memory()
        self.readout: Readout = VisitedGreedy() if readout is None else readout
        self.complete, self.epsilon, self.landmarks = _guarantees(
            self.readout, complete, epsilon, landmarks
        )
        self.batch_size = int(batch_size)
        data = planning_graph(data).to(model.device)
        if model.record and model.graph not in (None, fingerprint(data)):
            warnings.warn(
                'the map was trained on another graph or on other costs, so '
                'its routes may be poor: plan on its own graph, or train it on '
                'with fit(model, data)',
                stacklevel=2,
            )
        self.adjacency = Adjacency.from_data(data)
        self._reachability = Reachability(self.adjacency)
        self.scorer = MapScorer(
            model, data, self.adjacency, self._reachability, cache
        )

    def __call__(self, starts: Ids, goals: Ids) -> Plan:
        """Routes for queries given as ints, lists, arrays or tensors.

        Start equal to goal is a success of cost 0. Where the goal cannot be
        reached, :obj:`success` is False, the cost and its lower bound infinite.
        """
        start, goal = self._queries(starts, goals)
        return plan_connected(
            self._plan, self._reachability, start, goal, self.batch_size
        )

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        """Routes of connected queries, with what is promised of them."""
        scorer, adjacency = self.scorer, self.adjacency
        plan = self.readout(scorer, adjacency, starts, goals)
        if self.complete:
            plan = completed(plan, scorer, adjacency, starts, goals)
        if self.epsilon is not None:
            return certified(
                plan, self.bounds, adjacency, starts, goals, self.epsilon
            )
        if self.landmarks > 0:
            return with_bounds(plan, self.bounds, starts, goals)
        return plan

    @cached_property
    def bounds(self) -> LandmarkBounds:
        """Lower bounds of costs, by landmarks found when first needed."""
        return LandmarkBounds(self.adjacency, max(1, self.landmarks))

    def distance(self, starts: Ids, goals: Ids) -> Tensor:
        """Estimated cost of each query in the graph's units, :obj:`[B]`."""
        start, goal = self._queries(starts, goals)
        return self.scorer.values(start, goal)

    def distance_matrix(self, starts: Ids, goals: Ids) -> Tensor:
        """Estimated costs from each start to each goal, :obj:`[S, G]`."""
        num_nodes, device = self.adjacency.num_nodes, self.adjacency.device
        start = as_ids(starts, num_nodes, 'starts').to(device)
        goal = as_ids(goals, num_nodes, 'goals').to(device)
        out = self.scorer.hidden.new_empty(start.numel(), goal.numel())
        for first in range(0, goal.numel(), 64):
            part = goal[first : first + 64]
            out[:, first : first + 64] = self.scorer.value_matrix(start, part)
        return out

    def cache_bytes(self) -> int:
        """Bytes that the planner keeps beside map and graph."""
        num_bytes = self.scorer.cache_bytes()
        if 'bounds' in vars(self):
            num_bytes += self.bounds.num_bytes()
        return num_bytes

    def _queries(self, starts: Ids, goals: Ids) -> tuple[Tensor, Tensor]:
        start, goal = as_queries(starts, goals, self.adjacency.num_nodes)
        device = self.adjacency.device
        return start.to(device), goal.to(device)

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.readout}, '
            f'num_nodes={self.adjacency.num_nodes})'
        )


def _guarantees(
    readout: Readout,
    complete: bool | None,
    epsilon: float | None,
    landmarks: int | None,
) -> tuple[bool, float | None, int]:
    """What a planner promises, checked and with defaults filled in."""
    if complete is not None and not isinstance(complete, bool):
        raise BCMError(f'complete must be True or False (got {complete!r})')
    if epsilon is not None:
        check_float('epsilon', epsilon)
        epsilon = float(epsilon)
        if complete is False:
            raise BCMError('a proof needs a route: epsilon implies complete')
    if landmarks is None:
        landmarks = 0 if epsilon is None else LANDMARKS
    check_int('landmarks', landmarks, 0 if epsilon is None else 1)
    if complete is None:
        is_of_paper = isinstance(readout, (Greedy, VisitedGreedy))
        complete = epsilon is not None or not is_of_paper
    return complete, epsilon, int(landmarks)

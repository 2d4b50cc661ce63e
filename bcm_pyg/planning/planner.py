from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.nn import BCM
from bcm_pyg.typing import Ids
from bcm_pyg.utils import (
    Adjacency,
    Reachability,
    as_ids,
    as_queries,
    check_int,
)

from .connected import plan_connected
from .plan import Plan
from .readout import Readout
from .scorer import MapScorer
from .visited_greedy import VisitedGreedy


class Planner:
    r"""Answers start to goal queries in batches by reading a map.

    The planner copies what it needs of the map when it is built: build a new
    one after further training. Queries run in chunks of :obj:`batch_size`; a
    chunk needs about :math:`6 (2^{15} + d)` rows of 256 floats for scores (200
    MB), where :math:`d` is the largest degree, and 50 bytes per query and step
    of its longest walk. On directed graphs the two greedy readouts may walk
    into a way from which the goal cannot be reached.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): Its graph.
        readout (Readout, optional): How to turn scores into routes. (default:
            :class:`~bcm_pyg.planning.VisitedGreedy`)
        batch_size (int, optional): Queries at a time. (default: :obj:`4096`)
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        readout: Readout | None = None,
        *,
        batch_size: int = 4096,
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
        self.readout: Readout = VisitedGreedy() if readout is None else readout
        self.batch_size = int(batch_size)
        data = planning_graph(data).to(model.device)
        self.adjacency = Adjacency.from_data(data)
        self._reachability = Reachability(self.adjacency)
        self.scorer = MapScorer(model, data, self.adjacency, self._reachability)

    def __call__(self, starts: Ids, goals: Ids) -> Plan:
        """Routes for queries given as ints, lists, arrays or tensors.

        Start equal to goal is a success of cost 0. Where the goal cannot be
        reached, :obj:`success` is False, the cost and its lower bound infinite.
        """
        start, goal = self._queries(starts, goals)
        return plan_connected(
            lambda *part: self.readout(self.scorer, self.adjacency, *part),
            self._reachability,
            start,
            goal,
            self.batch_size,
        )

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
        return self.scorer.cache_bytes()

    def _queries(self, starts: Ids, goals: Ids) -> tuple[Tensor, Tensor]:
        start, goal = as_queries(starts, goals, self.adjacency.num_nodes)
        device = self.adjacency.device
        return start.to(device), goal.to(device)

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.readout}, '
            f'num_nodes={self.adjacency.num_nodes})'
        )

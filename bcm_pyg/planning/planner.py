from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.nn import BCM
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Adjacency, Reachability, as_ids, as_queries

from .plan import Plan
from .readout import Readout
from .scorer import MapScorer
from .visited_greedy import VisitedGreedy


class Planner:
    r"""Answers start to goal queries in batches by reading a map.

    The planner reads the map once, when it is built: build a new one after
    further training. Queries run in chunks of :obj:`batch_size`; a chunk needs
    at most about :math:`3 \cdot 2^{15}` rows of 256 floats (100 MB) for scores
    and 50 bytes per query and step of its longest walk.

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
        if (
            isinstance(batch_size, bool)
            or not isinstance(batch_size, int)
            or batch_size < 1
        ):
            raise BCMError(
                f'batch_size must be a positive int (got {batch_size!r})'
            )
        self.readout: Readout = readout or VisitedGreedy()
        self.batch_size = batch_size
        data = planning_graph(data).to(model.device)
        self.adjacency = Adjacency.from_data(data)
        self.scorer = MapScorer(model, data, self.adjacency)
        self._reachability = Reachability(self.adjacency)

    def __call__(self, starts: Ids, goals: Ids) -> Plan:
        """Routes for queries given as ints, lists, arrays or tensors.

        Start equal to goal is a success of cost 0. Where the goal cannot be
        reached, :obj:`success` is False, the cost and its lower bound infinite.
        """
        start, goal = self._queries(starts, goals)
        if start.numel() == 0:
            return _empty_plan(start)
        plans = [
            self._plan(*part)
            for part in zip(
                start.split(self.batch_size),
                goal.split(self.batch_size),
                strict=True,
            )
        ]
        return Plan.cat(plans)

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        connected = self._reachability.pairs(starts, goals)
        # A query without an answer is asked as start to start, then marked.
        plan = self.readout(
            self.scorer,
            self.adjacency,
            starts,
            torch.where(connected, goals, starts),
        )
        if bool(connected.all()):
            return plan
        infinite = float('inf')
        return replace(
            plan,
            success=plan.success & connected,
            cost=plan.cost.masked_fill(~connected, infinite),
            nodes=plan.nodes.masked_fill(~connected[:, None], -1),
            lower_bound=plan.lower_bound.masked_fill(~connected, infinite),
        )

    def distance(self, starts: Ids, goals: Ids) -> Tensor:
        """Estimated cost of each query in the graph's units, :obj:`[B]`."""
        start, goal = self._queries(starts, goals)
        value = self.scorer.values(start, goal)
        connected = self._reachability.pairs(start, goal)
        return value.masked_fill(~connected, float('inf'))

    def distance_matrix(self, starts: Ids, goals: Ids) -> Tensor:
        """Estimated costs from each start to each goal, :obj:`[S, G]`."""
        num_nodes, device = self.adjacency.num_nodes, self.adjacency.device
        start = as_ids(starts, num_nodes, 'starts').to(device)
        goal = as_ids(goals, num_nodes, 'goals').to(device)
        out = self.scorer.hidden.new_empty(start.numel(), goal.numel())
        for first in range(0, goal.numel(), 64):
            part = goal[first : first + 64]
            value = self.scorer.value_matrix(start, part)
            connected = self._reachability.to_goals(part)[start]
            value = value.masked_fill(~connected, float('inf'))
            out[:, first : first + 64] = value
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


def _empty_plan(ids: Tensor) -> Plan:
    return Plan(
        success=ids.new_zeros(0, dtype=torch.bool),
        cost=ids.new_zeros(0, dtype=torch.float64),
        hops=ids.new_zeros(0),
        nodes=ids.new_zeros(0, 0),
        expansions=ids.new_zeros(0),
        lower_bound=ids.new_zeros(0, dtype=torch.float64),
    )

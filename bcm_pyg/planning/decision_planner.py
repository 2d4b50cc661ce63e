from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.graph.decision_graph import DecisionGraph
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Adjacency, as_queries, check_int

from ._forced_moves import Ways, unpack, ways_of
from ._inside_pieces import InsidePieces, join_rows
from ._route_edges import RouteEdges
from .plan import Plan

INF = float('inf')


class DecisionPlanner:
    r"""Answers queries on a full graph by planning between decision nodes.

    A query that starts or ends at a forced node has up to two gates to leave
    its piece by and two to enter the other, hence up to four ways. They are
    compared by what the inner planner estimates, and the most promising ones
    are planned. With :obj:`tries=4` all are: then an exact planner stays exact
    and a bound stays a bound, as the :obj:`epsilon` of a planner that has one.
    Start and goal inside one piece are also connected there, by exact search
    among its few nodes.

    :obj:`expansions` are those of the inner planner: decision nodes.

    Args:
        planner (Callable): Plans on :obj:`graph.data`: a
            :class:`~bcm_pyg.Planner` or a baseline. Without a method
            :obj:`distance` all ways are planned.
        graph (DecisionGraph): The graph.
        tries (int, optional): How many of the ways to plan, 1 to 4; further
            ones only for queries that found no route. (default: 4 where the
            planner has an :obj:`epsilon`, which would not hold with fewer, else
            1)
    """

    def __init__(
        self,
        planner: Callable[[Tensor, Tensor], Plan],
        graph: DecisionGraph,
        tries: int | None = None,
    ) -> None:
        if not isinstance(graph, DecisionGraph):
            raise BCMError(
                f'graph must be a DecisionGraph (got {type(graph).__name__}): '
                'pass decision_graph(data)'
            )
        if not callable(planner):
            raise BCMError(
                'planner must turn starts and goals into a Plan (got '
                f'{type(planner).__name__})'
            )
        is_proven = getattr(planner, 'epsilon', None) is not None
        if tries is None:
            tries = 4 if is_proven else 1
        check_int('tries', tries, 1, 4)
        if is_proven and tries < 4:
            raise BCMError(
                'the epsilon of the planner holds for routes on the full graph '
                f'only if all ways are planned: tries must be 4 (got {tries})'
            )
        self.planner = planner
        self.graph = graph
        self._estimate: Any = getattr(planner, 'distance', None)
        self.tries = 4 if self._estimate is None else int(tries)
        self.adjacency = Adjacency.from_data(graph.full)
        self._full_edges = RouteEdges(self.adjacency)
        self._core_edges = RouteEdges(Adjacency.from_data(graph.data))
        self._inside = InsidePieces(graph, self._full_edges)
        _check_graph(planner, self._core_edges.adjacency)

    def __call__(self, starts: Ids, goals: Ids) -> Plan:
        """Routes on the full graph, in its own nodes."""
        start, goal = as_queries(starts, goals, self.adjacency.num_nodes)
        best = self._inside(start, goal)
        ways = ways_of(self.graph, start, goal)
        estimate = self._estimates(ways).masked_fill(
            (start == goal)[:, None], INF
        )
        bound = best.lower_bound
        expansions = torch.zeros_like(start)
        order = estimate.argsort(dim=1, stable=True)
        planned = torch.zeros_like(start)
        for rank in range(4):
            way = order[:, rank]
            there = torch.isfinite(estimate[torch.arange(way.numel()), way])
            wanted = there & ((rank < self.tries) | ~best.success)
            query = wanted.nonzero().squeeze(1)
            if query.numel() == 0:
                break
            way = way[query]
            plan = self.planner(ways.exit[query, way], ways.entry[query, way])
            planned[query] += 1
            expansions[query] += plan.expansions
            low = plan.lower_bound + ways.cost[query, way]
            bound[query] = torch.minimum(bound[query], low)
            found = unpack(
                self.graph,
                self._core_edges,
                self._full_edges,
                plan,
                start[query],
                goal[query],
                way,
            )
            best = _with_better(best, query, found)
        # Of a way that was not planned nothing is known.
        open_ways = torch.isfinite(estimate).sum(dim=1) > planned
        bound = bound.masked_fill(open_ways, 0)
        longest = 1 + int(best.hops.max()) if len(best) else 1
        return replace(
            best,
            nodes=best.nodes[:, :longest],
            expansions=expansions,
            lower_bound=torch.minimum(bound, best.cost),
        )

    def distance(self, starts: Ids, goals: Ids) -> Tensor:
        """Estimated cost of each query in the graph's units, :obj:`[B]`."""
        if self._estimate is None:
            raise BCMError(
                f'{type(self.planner).__name__} has no method distance'
            )
        start, goal = as_queries(starts, goals, self.adjacency.num_nodes)
        estimate = self._estimates(ways_of(self.graph, start, goal))
        inside = self._inside(start, goal).cost
        return torch.minimum(estimate.min(dim=1).values, inside).float()

    def _estimates(self, ways: Ways) -> Tensor:
        """What each way is expected to cost, float64 :obj:`[B, 4]`."""
        estimate = ways.cost.clone()
        if self._estimate is not None:
            there = torch.isfinite(estimate)
            between = self._estimate(ways.exit[there], ways.entry[there])
            estimate[there] += between.double().cpu()
        return estimate

    def cache_bytes(self) -> int:
        """Bytes kept beside the map and the two graphs.

        They are the tables of the decision graph and what the inner planner
        says of itself (:meth:`cache_bytes`, or :meth:`storage_bytes` of a
        baseline).
        """
        num_bytes = self._inside.num_bytes()
        for edges in (self._core_edges, self._full_edges):
            num_bytes += edges.num_bytes()
        for field in fields(self.graph):
            table = getattr(self.graph, field.name)
            if isinstance(table, Tensor):
                num_bytes += table.numel() * table.element_size()
        for name in ('cache_bytes', 'storage_bytes'):
            if hasattr(self.planner, name):
                return num_bytes + int(getattr(self.planner, name)())
        return num_bytes

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.planner}, {self.graph})'


def _check_graph(planner: object, core: Adjacency) -> None:
    """Refuses a planner that is known to plan on another graph."""
    own = getattr(planner, 'adjacency', None)
    if not isinstance(own, Adjacency):
        return
    if not (
        own.num_nodes == core.num_nodes
        and torch.equal(own.src.cpu(), core.src)
        and torch.equal(own.dst.cpu(), core.dst)
    ):
        raise BCMError(
            f'the planner plans on another graph: it has {own.num_nodes} nodes '
            f'and {own.num_edges} edges, the decision graph {core.num_nodes} '
            f'and {core.num_edges}; build it for graph.data'
        )
    if not torch.equal(own.cost.cpu(), core.cost):
        raise BCMError(
            'the planner plans with other costs than those of the decision '
            'graph: build it for graph.data'
        )


def _with_better(best: Plan, query: Tensor, found: Plan) -> Plan:
    """The plan with the routes of some queries replaced where cheaper."""
    better = found.cost < best.cost[query]
    query = query[better]
    success, cost, hops = best.success, best.cost, best.hops
    success[query], cost[query] = True, found.cost[better]
    hops[query] = found.hops[better]
    nodes = join_rows(best.nodes, query, found.nodes[better])
    return replace(best, success=success, cost=cost, hops=hops, nodes=nodes)

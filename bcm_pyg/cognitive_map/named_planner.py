"""A planner that is asked, and answers, in names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch_geometric.data import Data

from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries
from bcm_pyg.errors import BCMError
from bcm_pyg.export import to_geojson
from bcm_pyg.graph import planning_graph
from bcm_pyg.graph.names import Names
from bcm_pyg.metrics import NUM_QUERIES, Report, evaluate
from bcm_pyg.planning import Plan, Planner, Route
from bcm_pyg.planning.alternatives import alternative_routes
from bcm_pyg.plotting import plot_route
from bcm_pyg.utils import Adjacency, check_float, check_int

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Bytes of exact distances held at a time.
MAX_BYTES = 2**27


class NamedPlanner:
    """Everything that can be asked of a graph and a planner, in names.

    Args:
        data (torch_geometric.data.Data): The graph that routes are on.
        planner (Planner or Dijkstra): Answers queries on it.
    """

    def __init__(self, data: Data, planner: Planner | Dijkstra) -> None:
        self.data = planning_graph(data)
        self.planner = planner
        self._names = Names(self.data)

    @property
    def names(self) -> list[Any]:
        """What the nodes of :attr:`data` are called, in their order."""
        return list(self._names.of)

    def _queries(
        self, starts: Any, goals: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of starts and goals; one name goes with all of the others."""
        ends = self._names.nodes(starts), self._names.nodes(goals)
        if self._names.is_one(starts):
            return ends[0].repeat(ends[1].size), ends[1]
        if self._names.is_one(goals):
            return ends[0], ends[1].repeat(ends[0].size)
        if ends[0].size != ends[1].size:
            raise BCMError(
                'starts and goals must have the same length (got '
                f'{ends[0].size} and {ends[1].size})'
            )
        return ends

    def route(self, start: Any, goal: Any) -> Route:
        """The route from start to goal, in names.

        Where there is none, :obj:`success` is False and the cost infinite.
        """
        plan = self.planner(self._names.node(start), self._names.node(goal))
        return self._named(plan)[0]

    def routes(self, starts: Any, goals: Any) -> Plan:
        """Routes of many queries at once.

        :obj:`plan[b]` and iteration give routes in names; the tensors of the
        plan hold positions in :attr:`data`.
        """
        return self._named(self.planner(*self._queries(starts, goals)))

    def _named(self, plan: Plan) -> Plan:
        object.__setattr__(plan, 'names', self._names.of)
        return plan

    def alternatives(
        self,
        start: Any,
        goal: Any,
        k: int = 3,
        *,
        share: float = 0.5,
        factor: float = 1.4,
    ) -> list[Route]:
        """Up to :obj:`k` good routes that differ, by exact search.

        Args:
            start (Any): The start.
            goal (Any): The goal.
            k (int, optional): How many, at most. (default: :obj:`3`)
            share (float, optional): Of any two routes, at least this share of
                the cost of either is on edges that the other does not use.
                (default: :obj:`0.5`)
            factor (float, optional): The largest cost of a route, as a multiple
                of the best one. (default: :obj:`1.4`)

        Returns:
            The routes, the best one first; none if the goal cannot be reached.
        """
        check_int('k', k, 1)
        check_float('share', share)
        check_float('factor', factor)
        if share >= 1 or factor < 1:
            raise BCMError(
                'share must be below 1 and factor at least 1 (got '
                f'{share!r}, {factor!r})'
            )
        ends = self._names.node(start), self._names.node(goal)
        routes = alternative_routes(self._adjacency, *ends, k, share, factor)
        if not routes:
            return []
        nodes = pad_sequence(list(map(torch.tensor, routes)), True, -1)
        cost = self._adjacency.route_costs(nodes)
        none = torch.zeros(len(routes), dtype=torch.long)
        plan = Plan.from_routes(cost, nodes, none)
        bound = cost[:1].expand_as(cost)
        return list(self._named(replace(plan, lower_bound=bound)))

    def distance(
        self, starts: Any, goals: Any, *, exact_within: int = 0
    ) -> Tensor | float:
        """Estimated cost of each query, :obj:`[B]`; a number for one.

        No estimate is below the bound of 16 landmarks, which also guide a
        search of at most :obj:`exact_within` expansions: costs that it proves
        are exact (see :meth:`bcm_pyg.Planner.distance`), as all are without a
        map.
        """
        check_int('exact_within', exact_within, 0)
        queries = self._queries(starts, goals)
        if isinstance(self.planner, Planner):
            out = self.planner.distance(*queries, exact_within=exact_within)
        else:
            out = self.planner(*queries).cost.float()
        is_one = self._names.is_one(starts) and self._names.is_one(goals)
        return float(out[0]) if is_one else out

    def distance_matrix(self, starts: Any, goals: Any) -> Tensor:
        """Estimated costs from each start to each goal, :obj:`[S, G]`, none
        below the bound of the landmarks; exact without a map.
        """
        ends = self._names.nodes(starts), self._names.nodes(goals)
        if isinstance(self.planner, Planner):
            return self.planner.distance_matrix(*ends)
        return torch.from_numpy(self._exact_matrix(*ends)).float()

    def isochrone(
        self, start: Any, limit: float, exact: bool = False
    ) -> dict[Any, float]:
        """All nodes within a cost of the start, nearest first, and their costs.

        Args:
            start (Any): The start.
            limit (float): The most it may cost to get there.
            exact (bool, optional): Whether to search instead of estimating,
                which is also faster here. (default: :obj:`False`)
        """
        check_float('limit', limit)
        everywhere = np.arange(len(self._names))
        cost = self._costs(start, everywhere, exact)
        order = np.argsort(cost, kind='stable')
        order = order[cost[order] <= limit]
        return {self._names.of[node]: float(cost[node]) for node in order}

    def nearest(
        self, start: Any, among: Any, k: int = 3, exact: bool = False
    ) -> list[tuple[Any, float]]:
        """The nodes among some that cost least to get to, with their costs.

        Those that cannot be reached are left out.

        Args:
            start (Any): The start.
            among (Any): Names of the nodes to choose from.
            k (int, optional): How many. (default: :obj:`3`)
            exact (bool, optional): Whether to search instead of estimating,
                which is also faster among many nodes or on small graphs.
                (default: :obj:`False`)
        """
        check_int('k', k, 1)
        nodes = np.unique(self._names.nodes(among))
        cost = self._costs(start, nodes, exact)
        order = np.argsort(cost, kind='stable')[:k]
        order = order[np.isfinite(cost[order])]
        return [(self._names.of[nodes[i]], float(cost[i])) for i in order]

    def _costs(self, start: Any, goals: np.ndarray, exact: bool) -> np.ndarray:
        """From one start to nodes, estimated or exact."""
        node = np.array([self._names.node(start)])
        if exact or not isinstance(self.planner, Planner):
            return self._exact_matrix(node, goals).ravel()
        return self.planner.distance_matrix(node, goals)[0].cpu().numpy()

    def _exact_matrix(
        self, starts: np.ndarray, goals: np.ndarray
    ) -> np.ndarray:
        graph = self._adjacency.to_scipy()
        out = np.empty((starts.size, goals.size))
        size = max(1, MAX_BYTES // (8 * graph.shape[0]))
        for first in range(0, starts.size, size):
            part = slice(first, first + size)
            out[part] = dijkstra(graph, indices=starts[part])[:, goals]
        return out

    @property
    def _adjacency(self) -> Adjacency:
        return Adjacency.from_data(self.data)

    def evaluate(
        self, queries: Any = None, goals: Any = None, *, seed: int = 42
    ) -> Report:
        """Compares routes with exact search.

        Args:
            queries (Any, optional): How many queries to draw; or, with
                :obj:`goals`, the starts. (default: :obj:`1000`)
            goals (Any, optional): The goals. (default: :obj:`None`)
            seed (int, optional): Of the draw. (default: :obj:`42`)
        """
        if goals is None:
            queries = NUM_QUERIES if queries is None else queries
            check_int('queries', queries, 1)
            drawn = sample_queries(self.data, queries, seed)
            return evaluate(self.planner, self.data, *drawn)
        if queries is None:
            raise BCMError('goals need starts: evaluate(starts, goals)')
        given = self._queries(queries, goals)
        return evaluate(self.planner, self.data, *given)

    def plot(
        self,
        routes: Route | Plan | Sequence[Route] | None = None,
        **kwargs: Any,
    ) -> Axes:
        """Draws the graph, with one or several routes on it.

        Args:
            routes (Route or Plan or Sequence[Route], optional): The routes; of
                a :class:`~bcm_pyg.Plan`, the one that :obj:`query` names.
                (default: none)
            **kwargs (optional): See :func:`bcm_pyg.plotting.plot_route`.
        """
        if routes is None:
            return plot_route(self.data, {}, **kwargs)
        if isinstance(routes, Plan):
            return plot_route(self.data, routes, **kwargs)
        if isinstance(routes, Route):
            return plot_route(self.data, self._plan_of([routes]), **kwargs)
        plans = {
            f'route {number}': self._plan_of([route])
            for number, route in enumerate(_listed(routes), start=1)
        }
        return plot_route(self.data, plans, **kwargs)

    def to_geojson(
        self,
        routes: Route | Plan | Sequence[Route],
        path: str | PathLike[str] | None = None,
    ) -> dict[str, Any]:
        """One or several routes as GeoJSON, and a file of it.

        Args:
            routes (Route or Plan or Sequence[Route]): The routes.
            path (str or os.PathLike, optional): The file to write. (default:
                :obj:`None`)

        Returns:
            See :func:`bcm_pyg.export.to_geojson`.
        """
        plan = routes
        if not isinstance(plan, Plan):
            one = isinstance(routes, Route)
            plan = self._plan_of([routes] if one else _listed(routes))
        return to_geojson(plan, self.data, path)

    def _plan_of(self, routes: Sequence[Any]) -> Plan:
        for route in routes:
            if not isinstance(route, Route):
                kind = type(route).__name__
                raise BCMError(f'routes must be of this map (got {kind})')
        try:
            found = [self._names.nodes(route.nodes) for route in routes]
        except BCMError as error:
            raise BCMError(f'routes must be of this map: {error}') from None
        none = np.array([-1])
        nodes = pad_sequence(
            [torch.from_numpy(x if x.size > 0 else none) for x in found],
            batch_first=True,
            padding_value=-1,
        )
        cost = torch.tensor(
            [route.cost for route in routes], dtype=torch.float64
        )
        expansions = torch.tensor([route.expansions for route in routes])
        return Plan.from_routes(cost, nodes, expansions)


def _listed(routes: Any) -> list[Any]:
    if not isinstance(routes, Iterable) or isinstance(routes, str):
        kind = type(routes).__name__
        raise BCMError(f'routes must be a Route, a Plan or a list (got {kind})')
    listed = list(routes)
    if not listed:
        raise BCMError('there are no routes in the list')
    return listed

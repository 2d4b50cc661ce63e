from __future__ import annotations

from itertools import chain

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan

from ._elimination import EliminationTree
from ._integer_costs import CUT_WEIGHT, integer_costs


class CCH(BasePlanner):
    r"""`"Customizable Contraction Hierarchies"
    <https://doi.org/10.1145/2886843>`_ of RoutingKit, the exact search of road
    planners. Needs the package :obj:`routingkit-cch` (extra :obj:`peers`).

    Nodes are ordered by recursive cuts (inertial flow along the coordinates,
    the two that spread most), shortcuts bridge every node in this order, and a
    query looks only upwards from both ends. :obj:`expansions` counts the
    distinct nodes that it relaxes.

    RoutingKit adds up 32-bit integers. Costs are rounded down to multiples of
    :obj:`resolution`, a power of two as small as the longest route allows, and
    the cost of a route is the sum of its true costs. So :obj:`lower_bound` is
    the rounded cost, no more than the optimum and no less than :math:`1 -
    \varepsilon` times the cost of the route. This :obj:`relative_error`
    :math:`\varepsilon` is below :math:`10^{-6}` on the paper's grids, and 0 for
    integers and the like. Routes are simple even where edges cost nothing.

    The package answers queries one by one, so this does not gain from large
    batches.

    Args:
        data (torch_geometric.data.Data): The graph.

    Attributes:
        order: :obj:`[N]` array of nodes, lowest in the hierarchy first.
        resolution: The cost of an integer unit.
        relative_error: What rounding takes off an edge at most, relatively. It
            is 1 if a cost is below :obj:`resolution`: then short routes may be
            far from optimal.
    """

    def __init__(self, data: Data | SimplifiedGraph) -> None:
        try:
            import routingkit_cch
        except ImportError:
            raise BCMError(
                "CCH needs routingkit-cch: run 'pip install bcm_pyg[peers]'"
            ) from None
        self._package = routingkit_cch
        super().__init__(data, torch.device('cpu'))
        ends = self.adjacency.src.tolist(), self.adjacency.dst.tolist()
        order = routingkit_cch.compute_order_inertial(
            self.adjacency.num_nodes, *ends, *_plane(self.data.pos)
        )
        weight, self.resolution = integer_costs(self.adjacency)
        self.relative_error = _relative_error(
            self.adjacency.cost.double().numpy(), weight, self.resolution
        )
        self.order = np.array(order, dtype=np.uint32)
        self._metric = routingkit_cch.CCHMetric(
            routingkit_cch.CCH(order, *ends, False), weight.tolist()
        )
        self._may_circle = bool((weight == 0).any())
        self._tree = EliminationTree(self.adjacency, self.order)

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        start, goal = starts.numpy(), goals.numpy()
        weight, found = self._search(start, goal)
        length = np.array([len(route) for route in found], dtype=np.int64)
        flat = np.fromiter(chain.from_iterable(found), np.int64, length.sum())
        query = np.arange(start.size).repeat(length)
        place = np.arange(flat.size) - (length.cumsum() - length)[query]
        nodes = np.full((start.size, max(1, length.max(initial=0))), -1)
        nodes[query, place] = flat

        routes = torch.from_numpy(nodes)
        success = length > 0
        cost = self.adjacency.route_costs(routes).numpy()
        expansions = self._tree.search_sizes(start, goal)
        expansions[start == goal] = 0
        cost[~success] = np.inf
        bound = np.where(success, weight * self.resolution, np.inf)
        return Plan(
            success=torch.from_numpy(success),
            cost=torch.from_numpy(cost),
            hops=torch.from_numpy(np.maximum(length - 1, 0)),
            nodes=routes,
            expansions=torch.from_numpy(expansions),
            lower_bound=torch.from_numpy(np.minimum(bound, cost)),
        )

    def storage_bytes(self) -> int:
        """Bytes of what RoutingKit keeps on disk, not what is resident.

        That is tail and head of each edge and order and rank of each node, 4
        bytes each. Costs are the graph's. Shortcuts are made anew when it is
        loaded: with them, one that runs holds about a kilobyte a node on grids.
        """
        return 8 * (self.adjacency.num_edges + self.adjacency.num_nodes)

    def _search(
        self, start: np.ndarray, goal: np.ndarray
    ) -> tuple[np.ndarray, list[list[int]]]:
        """Integer costs and nodes of each route, the latter empty if none."""
        # A query object belongs to the thread that made it.
        search = self._package.CCHQuery(self._metric)
        weight = np.zeros(start.size)
        routes = []
        for query, ends in enumerate(
            zip(start.tolist(), goal.tolist(), strict=True)
        ):
            result = search.run(*ends)
            weight[query] = result.distance or 0
            route = result.node_path
            del result  # or the next search is refused
            # RoutingKit seems to take simple routes, but does not promise to.
            if self._may_circle and len(set(route)) < len(route):
                route = _without_circles(route)
            routes.append(route)
        return weight, routes

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(num_nodes={self.num_nodes}, '
            f'relative_error={self.relative_error:.1e})'
        )


def _plane(pos: Tensor) -> tuple[list[float], list[float]]:
    """The two coordinates with the largest spread, 0 for a missing one."""
    if pos.size(1) == 1:
        return pos[:, 0].tolist(), [0.0] * pos.size(0)
    spread = pos.max(dim=0).values - pos.min(dim=0).values
    one, two = spread.topk(2).indices.sort().values.tolist()
    return pos[:, one].tolist(), pos[:, two].tolist()


def _relative_error(
    cost: np.ndarray, weight: np.ndarray, resolution: float
) -> float:
    # Edges that were cut are on no shortest route.
    used = (cost > 0) & (weight < CUT_WEIGHT)
    error = 1 - weight[used] * resolution / cost[used]
    return float(error.max(initial=0.0))


def _without_circles(route: list[int]) -> list[int]:
    """The same way, without what lies between two visits of a node."""
    last = {node: place for place, node in enumerate(route)}
    out, place = [], 0
    while place < len(route):
        out.append(route[place])
        place = last[route[place]] + 1
    return out

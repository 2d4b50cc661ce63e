import math
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.graph.planning_graph import check_pos
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import Adjacency, cut_loops

from .dijkstra import pad_routes

#: Edges too dear for any shortest route get this weight, one less than what
#: RoutingKit takes for infinite.
CUT_WEIGHT = 2**31 - 2


class CCH(BasePlanner):
    r"""`"Customizable Contraction Hierarchies"
    <https://doi.org/10.1145/2886843>`_ of RoutingKit, the exact search of road
    planners. Needs the package :obj:`routingkit-cch` (extra :obj:`peers`).

    Nodes are ordered by recursive cuts (inertial flow along the two coordinates
    of largest spread), shortcuts bridge every node in this order, and a query
    searches only upwards from both ends. :obj:`expansions` counts the distinct
    nodes that it relaxes.

    RoutingKit adds up 32-bit integers. Costs are rounded down to multiples of
    :obj:`resolution`, a power of two as small as the longest route allows. The
    cost of a route is the sum of its true costs; :obj:`lower_bound` is the
    rounded cost, at most the optimum and at least :math:`1 - \varepsilon` times
    the cost of the route. This :obj:`relative_error` :math:`\varepsilon` is
    below :math:`10^{-6}` on the paper's grids, and 0 for integers.

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
        package = _routingkit()
        super().__init__(data, torch.device('cpu'))
        check_pos(self.data, 'CCH')
        ends = self.adjacency.src.tolist(), self.adjacency.dst.tolist()
        order = package.compute_order_inertial(
            self.adjacency.num_nodes, *ends, *_plane(self.data.pos)
        )
        weight, self.resolution = integer_costs(self.adjacency)
        cost = self.adjacency.exact_cost.numpy()
        # Edges that were cut are on no shortest route.
        used = (cost > 0) & (weight < CUT_WEIGHT)
        error = 1 - weight[used] * self.resolution / cost[used]
        self.relative_error = float(error.max(initial=0.0))
        self.order = np.array(order, dtype=np.uint32)
        self._weight = weight
        self._metric = self._customized()
        self._has_free_edges = bool((weight == 0).any())
        self._tree = EliminationTree(self.adjacency, self.order)

    def _customized(self) -> Any:
        """The hierarchy of RoutingKit, an object of its own in C++."""
        package = _routingkit()
        ends = self.adjacency.src.tolist(), self.adjacency.dst.tolist()
        hierarchy = package.CCH(self.order.tolist(), *ends, False)
        return package.CCHMetric(hierarchy, self._weight.tolist())

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), '_metric': None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._metric = self._customized()

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        # A query object belongs to the thread that made it.
        search = _routingkit().CCHQuery(self._metric)
        weight = np.zeros(starts.numel())
        routes = []
        ends = zip(starts.tolist(), goals.tolist(), strict=True)
        for query, pair in enumerate(ends):
            result = search.run(*pair)
            weight[query] = result.distance
            routes.append(result.node_path)
            del result  # or the next search is refused
        nodes = pad_routes(routes)
        if self._has_free_edges:
            # RoutingKit seems to take simple routes, but does not promise to.
            nodes = cut_loops(nodes)
        cost = self.adjacency.route_costs(nodes)
        sizes = self._tree.search_sizes(starts.numpy(), goals.numpy())
        expansions = torch.from_numpy(sizes)
        expansions[starts == goals] = 0
        bound = torch.from_numpy(weight * self.resolution)
        bound = torch.minimum(bound, cost)
        return Plan.from_routes(cost, nodes, expansions, bound)

    def storage_bytes(self) -> int:
        """Bytes of what RoutingKit keeps on disk.

        That is tail and head of each edge and order and rank of each node, 4
        bytes each. Shortcuts are rebuilt when it is loaded: with them, it takes
        about a kilobyte per node in memory on grids.
        """
        return 8 * (self.adjacency.num_edges + self.adjacency.num_nodes)

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(num_nodes={self.num_nodes}, '
            f'relative_error={self.relative_error:.1e})'
        )


def _routingkit() -> Any:
    try:
        import routingkit_cch
    except ImportError:
        raise BCMError(
            "CCH needs routingkit-cch: run 'pip install bcm_pyg[peers]'"
        ) from None
    return routingkit_cch


def _plane(pos: Tensor) -> tuple[list[float], list[float]]:
    """The two coordinates with the largest spread, 0 for a missing one."""
    if pos.size(1) == 1:
        return pos[:, 0].tolist(), [0.0] * pos.size(0)
    spread = pos.max(dim=0).values - pos.min(dim=0).values
    one, two = spread.topk(2).indices.sort().values.tolist()
    return pos[:, one].tolist(), pos[:, two].tolist()


def integer_costs(adjacency: Adjacency) -> tuple[np.ndarray, float]:
    r"""Costs as integers that 32-bit searches can add up.

    They are :math:`\lfloor c / r \rfloor`, uint32 :obj:`[E]`, for the smallest
    power of two :math:`r` that keeps every shortest route below the limit.
    Edges that reach the limit are cut to it. Also returns :math:`r`.
    """
    cost = adjacency.exact_cost.numpy()
    longest = _longest_route(adjacency)
    room = (CUT_WEIGHT - 1) / longest if longest > 0 else 1.0
    resolution = math.ldexp(1.0, -math.floor(math.log2(room)))
    weight = np.minimum(np.floor(cost / resolution), CUT_WEIGHT)
    return weight.astype(np.uint32), resolution


def _longest_route(adjacency: Adjacency) -> float:
    """No shortest route costs more than this."""
    # Inside a strong component it costs no more than by way of a fixed node,
    # and it leaves each component at most once.
    src, dst = adjacency.src.numpy(), adjacency.dst.numpy()
    cost = adjacency.exact_cost.numpy()
    size = (adjacency.num_nodes, adjacency.num_nodes)
    strong = adjacency.reachability.strong.numpy()
    weak = adjacency.reachability.weak.numpy()
    _, middle = np.unique(strong, return_index=True)

    leaves = strong[src] != strong[dst]
    total = np.zeros(middle.size)
    np.maximum.at(total, strong[src[leaves]], cost[leaves])
    stays = ~leaves
    inner = csr_array((cost[stays], (src[stays], dst[stays])), shape=size)
    for graph in (inner, inner.T.tocsr()):
        # Components do not reach each other: one search serves all of them.
        distance = dijkstra(graph, indices=middle, min_only=True)
        farthest = np.zeros(middle.size)
        np.maximum.at(farthest, strong, distance)
        total += farthest
    return float(np.bincount(weak[middle], total).max())


class EliminationTree:
    r"""Which nodes a search in a contraction hierarchy looks at.

    Nodes are eliminated in :obj:`order`, each of them leaving its later
    neighbours connected to each other; the parent of a node is the first of
    these. A search goes up from the start and from the goal to the root and
    relaxes all that it passes.
    """

    def __init__(self, adjacency: Adjacency, order: np.ndarray) -> None:
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        ends = rank[adjacency.src.numpy()], rank[adjacency.dst.numpy()]
        parent = _parents(*ends, num_nodes=order.size)
        depth = [0] * len(parent)  # of the node above all roots, the last: 0
        for node in range(order.size - 1, -1, -1):
            depth[node] = depth[parent[node]] + 1
        self._rank = rank
        self._depth = np.array(depth)
        # Where 1, 2, 4, ... steps up lead.
        self._above = [np.array(parent, dtype=np.int32)]
        for _ in range(max(depth).bit_length()):
            self._above.append(self._above[-1][self._above[-1]])

    def search_sizes(self, starts: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Distinct nodes above each start or goal, itself included."""
        one, two = self._rank[starts], self._rank[goals]
        depth = self._depth
        total = depth[one] + depth[two]
        swap = depth[one] < depth[two]
        one, two = np.where(swap, two, one), np.where(swap, one, two)
        lead = depth[one] - depth[two]
        for bit, above in enumerate(self._above):
            one = np.where((lead >> bit) & 1, above[one], one)
        for above in reversed(self._above):
            apart = above[one] != above[two]
            one = np.where(apart, above[one], one)
            two = np.where(apart, above[two], two)
        common = np.where(one == two, one, self._above[0][one])
        sizes: np.ndarray = total - depth[common]
        return sizes


def _parents(one: np.ndarray, two: np.ndarray, num_nodes: int) -> list[int]:
    """Parents by rank; a root's is :obj:`num_nodes` (Liu's algorithm)."""
    early, late = np.minimum(one, two), np.maximum(one, two)
    by_late = np.argsort(late, kind='stable')
    parent = [num_nodes] * (num_nodes + 1)
    top = parent.copy()
    ends = np.stack([early, late], axis=1)[by_late]
    for node, last in ends.tolist():
        while node < last:
            above, top[node] = top[node], last
            if above == num_nodes:
                parent[node] = last
            node = above
    return parent

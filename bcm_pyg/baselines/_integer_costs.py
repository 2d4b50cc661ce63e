from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from bcm_pyg.utils import Adjacency

#: Edges too dear for any shortest route get this weight, one less than what
#: RoutingKit takes for infinite.
CUT_WEIGHT = 2**31 - 2


def integer_costs(adjacency: Adjacency) -> tuple[np.ndarray, float]:
    r"""Costs as integers that 32-bit searches can add up.

    They are :math:`\lfloor c / r \rfloor` for the smallest power of two
    :math:`r` that keeps every shortest route below the limit. So a sum of
    integers, times :math:`r`, never exceeds the cost, and costs that are
    multiples of :math:`r` (integers, halves, ...) lose nothing. Edges that
    reach the limit are cut to it.

    Args:
        adjacency (Adjacency): The graph, on the CPU.

    Returns:
        The integers, uint32 :obj:`[E]`, and :math:`r`.
    """
    cost = adjacency.cost.double().numpy()
    longest = _longest_route(adjacency)
    room = (CUT_WEIGHT - 1) / longest if longest > 0 else 1.0
    resolution = math.ldexp(1.0, -math.floor(math.log2(room)))
    weight = np.minimum(np.floor(cost / resolution), CUT_WEIGHT)
    return weight.astype(np.uint32), resolution


def _longest_route(adjacency: Adjacency) -> float:
    """No shortest route costs more than this.

    Within a strong component, no route costs more than one by way of a fixed
    node, there and back out. A route leaves each component at most once, by an
    edge no dearer than the dearest.
    """
    src, dst = adjacency.src.numpy(), adjacency.dst.numpy()
    cost = adjacency.cost.double().numpy()
    size = (adjacency.num_nodes, adjacency.num_nodes)
    # A cost of 0 is an edge too, so that components are those of ones.
    unit = csr_array((np.ones_like(cost), (src, dst)), shape=size)
    num_strong, strong = connected_components(unit, connection='strong')
    _, weak = connected_components(unit, connection='weak')
    _, middle = np.unique(strong, return_index=True)

    leaves = strong[src] != strong[dst]
    total = np.zeros(num_strong)
    np.maximum.at(total, strong[src[leaves]], cost[leaves])
    stays = ~leaves
    inner = csr_array((cost[stays], (src[stays], dst[stays])), shape=size)
    for graph in (inner, inner.T.tocsr()):
        # Components do not reach each other: one search serves all of them.
        distance = dijkstra(graph, indices=middle, min_only=True)
        farthest = np.zeros(num_strong)
        np.maximum.at(farthest, strong, distance)
        total += farthest
    return float(np.bincount(weak[middle], total).max())

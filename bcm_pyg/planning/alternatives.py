"""Several good routes that differ."""

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from bcm_pyg.utils import Adjacency


def alternative_routes(
    adjacency: Adjacency,
    start: int,
    goal: int,
    k: int,
    share: float,
    factor: float,
) -> list[list[int]]:
    r"""The best route and up to :math:`k - 1` others, the best first.

    Two exact searches, from the start and to the goal, give two trees of best
    routes. A *plateau* is a chain of edges of both trees; the best route over
    each is a candidate, longer plateaus first. A candidate is taken if it
    visits no node twice, costs at most :obj:`factor` times the best one, and
    differs from each that was taken: of the cost of either, at least the
    :obj:`share` is on edges that the other does not use.

    These are the nodes of each route; none if there is no route at all.
    """
    graph, reverse = adjacency.to_scipy(), adjacency.to_scipy(reverse=True)
    ahead, parent = dijkstra(graph, indices=start, return_predecessors=True)
    behind, child = dijkstra(reverse, indices=goal, return_predecessors=True)
    if not np.isfinite(ahead[goal]):
        return []
    cost = adjacency.cost.cpu().double().numpy()
    limit = factor * ahead[goal] * (1 + 1e-12)
    searched = ahead, behind, parent, child
    plateau, length, total = _plateaus(adjacency, *searched)
    # A long plateau is good over a long way; a detour takes from that.
    value = length - (total - ahead[goal])
    order = np.argsort(-value, kind='stable')
    order = order[total[order] <= limit]
    via = np.full(total.size, -1)
    via[plateau] = np.arange(plateau.size)  # any node of each

    found: list[tuple[float, list[int], np.ndarray]] = []
    for node in [goal, *via[order].tolist()]:
        route = _route(parent, child, node)
        is_known = any(route == other for _, other, _ in found)
        if len(found) == k or is_known or len(set(route)) < len(route):
            continue
        step = adjacency.route_edges(torch.tensor([route]))[0, :-1]
        edges = step.cpu().numpy()
        whole = float(cost[edges].sum())
        common = [
            cost[np.intersect1d(edges, other)].sum() / (1 - share) / least
            for total_cost, _, other in found
            if (least := min(whole, total_cost)) > 0
        ]
        if whole <= limit and max(common, default=0.0) <= 1:
            found.append((whole, route, edges))
    return [route for _, route, _ in sorted(found, key=lambda x: x[0])]


def _plateaus(
    adjacency: Adjacency,
    ahead: np.ndarray,
    behind: np.ndarray,
    parent: np.ndarray,
    child: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The plateau of each node, [N]; of each the length and the total cost."""
    src, dst = adjacency.src.cpu().numpy(), adjacency.dst.cpu().numpy()
    both = (parent[dst] == src) & (child[src] == dst)
    size = (ahead.size, ahead.size)
    edges = csr_array((np.ones(both.sum()), (src[both], dst[both])), shape=size)
    num, plateau = connected_components(edges, directed=False)
    low, high = np.full(num, np.inf), np.full(num, -np.inf)
    total = np.full(num, np.inf)
    found = np.isfinite(ahead) & np.isfinite(behind)
    np.minimum.at(low, plateau[found], ahead[found])
    np.maximum.at(high, plateau[found], ahead[found])
    np.minimum.at(total, plateau[found], (ahead + behind)[found])
    length = np.where(np.isfinite(total), high - low, 0.0)
    return plateau, length, total


def _route(parent: np.ndarray, child: np.ndarray, via: int) -> list[int]:
    """The best route over a node."""
    nodes = [via]
    while parent[nodes[-1]] >= 0:
        nodes.append(int(parent[nodes[-1]]))
    nodes.reverse()
    while child[nodes[-1]] >= 0:
        nodes.append(int(child[nodes[-1]]))
    return nodes

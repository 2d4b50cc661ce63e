"""Exact distances to and from a few nodes that are far from each other."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from bcm_pyg.utils import Adjacency


class Landmarks(NamedTuple):
    """Landmarks and exact costs, infinite if there is no route."""

    nodes: np.ndarray  # [L]
    outward: np.ndarray  # [N, L], from each landmark to each node
    inward: np.ndarray  # [N, L], from each node to each landmark


def find_landmarks(adjacency: Adjacency, num_landmarks: int) -> Landmarks:
    r"""Picks landmarks of a graph, one after the other.

    The first is the node farthest from some node of the largest component,
    every other the node farthest from all landmarks so far, there and back. A
    component gets a landmark only if it holds one in :obj:`num_landmarks` of
    the nodes, so there may be fewer landmarks, but at least one. Takes two
    exact searches from each landmark, and two more per component with one.
    """
    graphs = adjacency.to_scipy(), adjacency.to_scipy(reverse=True)
    part = adjacency.reachability.weak.cpu().numpy()
    size = np.bincount(part)[part]
    nodes: list[int] = []
    costs: list[np.ndarray] = []
    away = np.full(adjacency.num_nodes, np.inf)  # from the nearest landmark
    while len(nodes) < num_landmarks:
        rest = np.isinf(away)
        share = size >= adjacency.num_nodes / num_landmarks
        if not nodes or bool((rest & share).any()):
            begin = int(np.argmax(np.where(rest, size, -1)))
            node = _farthest(_there_and_back(_search(graphs, begin)))
        else:
            node = _farthest(away)
            if away[node] == 0:
                break
        nodes.append(node)
        costs.append(_search(graphs, node))
        away = np.minimum(away, _there_and_back(costs[-1]))
    outward, inward = np.stack(costs, axis=2)
    return Landmarks(np.array(nodes), outward, inward)


def _search(graphs: tuple[csr_array, csr_array], node: int) -> np.ndarray:
    """Costs from a node and to it, [2, N]."""
    return np.stack([dijkstra(graph, indices=node) for graph in graphs])


def _there_and_back(cost: np.ndarray) -> np.ndarray:
    """The cost of both directions; of one, doubled, if there is only one."""
    both: np.ndarray
    both = np.where(np.isinf(cost), cost[::-1], cost).sum(axis=0)
    return both


def _farthest(away: np.ndarray) -> int:
    return int(np.argmax(np.where(np.isinf(away), -1, away)))

"""Exact distances to and from a few nodes that are far from each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from torch_geometric.data import Data

from bcm_pyg.utils import Adjacency


class Landmarks(NamedTuple):
    """Landmarks of a graph.

    Attributes:
        nodes: :obj:`[L]` their ids.
        outward: :obj:`[N, L]` exact cost from each landmark to each node,
            infinite if there is no route.
        inward: :obj:`[N, L]` exact cost from each node to each landmark.
    """

    nodes: np.ndarray
    outward: np.ndarray
    inward: np.ndarray


def find_landmarks(data: Data, num_landmarks: int) -> Landmarks:
    r"""Picks landmarks of a canonical graph, one after the other.

    The first is the node farthest from some node of the largest component,
    every other the node farthest from all landmarks so far, there and back. A
    component gets a landmark only if it holds one in :obj:`num_landmarks` of
    the nodes, so there may be fewer landmarks than asked for, but at least one.
    Takes two exact searches from each landmark, and two more.
    """
    adjacency = Adjacency.from_data(data)
    graphs = adjacency.to_scipy(), adjacency.to_scipy(reverse=True)
    part = _components(graphs[0])
    size = np.bincount(part)[part]
    nodes: list[int] = []
    columns: list[tuple[np.ndarray, np.ndarray]] = []
    away = np.full(adjacency.num_nodes, np.inf)  # from the nearest landmark
    while len(nodes) < num_landmarks:
        rest = np.isinf(away)
        share = size >= adjacency.num_nodes / num_landmarks
        if not nodes or bool((rest & share).any()):
            begin = int(np.argmax(np.where(rest, size, -1)))
            node = _farthest(_there_and_back(*_search(graphs, begin)))
        else:
            node = _farthest(away)
            if away[node] == 0:
                break
        pair = _search(graphs, node)
        nodes.append(node)
        columns.append(pair)
        away = np.minimum(away, _there_and_back(*pair))
    return Landmarks(
        np.array(nodes),
        np.stack([outward for outward, _ in columns], axis=1),
        np.stack([inward for _, inward in columns], axis=1),
    )


def _components(graph: csr_array) -> np.ndarray:
    links = graph.copy()
    links.data = np.ones_like(links.data)  # a cost of 0 is an edge too
    return connected_components(links, connection='weak')[1]


def _search(
    graphs: tuple[csr_array, csr_array], node: int
) -> tuple[np.ndarray, np.ndarray]:
    outward, inward = (dijkstra(graph, indices=node) for graph in graphs)
    return outward, inward


def _there_and_back(outward: np.ndarray, inward: np.ndarray) -> np.ndarray:
    """The cost of both directions; of one, doubled, if there is only one."""
    outward, inward = (
        np.where(np.isinf(outward), inward, outward),
        np.where(np.isinf(inward), outward, inward),
    )
    return outward + inward


def _farthest(away: np.ndarray) -> int:
    return int(np.argmax(np.where(np.isinf(away), -1, away)))

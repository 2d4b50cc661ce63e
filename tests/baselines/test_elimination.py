from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
from helpers import random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.baselines._elimination import EliminationTree
from bcm_pyg.utils import Adjacency


def slow_search_spaces(graph: nx.Graph, order: list[int]) -> list[set[int]]:
    """All that can be reached upwards, by eliminating node after node."""
    graph = graph.copy()
    up: dict[int, list[int]] = {}
    for node in order:
        up[node] = list(graph[node])
        graph.remove_node(node)
        graph.add_edges_from(combinations(up[node], 2))
    spaces: dict[int, set[int]] = {}
    for node in reversed(order):
        spaces[node] = {node}.union(*(spaces[head] for head in up[node]))
    return [spaces[node] for node in range(len(order))]


@given(random_graphs(max_nodes=20), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_search_sizes(data: Data, seed: int) -> None:
    data = planning_graph(data)
    order = np.random.default_rng(seed).permutation(data.num_nodes)
    spaces = slow_search_spaces(to_nx(data).to_undirected(), order.tolist())
    nodes = np.arange(data.num_nodes)
    starts, goals = nodes.repeat(nodes.size), np.tile(nodes, nodes.size)
    tree = EliminationTree(Adjacency.from_data(data), order)
    assert tree.search_sizes(starts, goals).tolist() == [
        len(spaces[start] | spaces[goal])
        for start, goal in zip(starts, goals, strict=True)
    ]
    assert tree.search_sizes(nodes[:0], nodes[:0]).shape == (0,)

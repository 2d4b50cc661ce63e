from __future__ import annotations

import networkx as nx
import torch
from helpers import random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.planning.pairs import (
    counted,
    numbered,
    place_of,
    regrouped,
    united,
    widened,
)
from bcm_pyg.utils import Adjacency


def test_pairs() -> None:
    nodes = torch.tensor([[3, 1, 3], [-1, -1, -1], [2, -1, -1]])
    pairs = numbered(nodes, num_nodes=10)
    assert pairs.tolist() == [1, 3, 22]
    assert counted(pairs, 4, 10).tolist() == [2, 0, 1, 0]
    wanted = torch.tensor([22, 0, 3, 99])
    assert place_of(pairs, wanted).tolist() == [2, -1, 1, -1]
    assert place_of(pairs[:0], wanted).tolist() == [-1, -1, -1, -1]
    assert united(pairs, torch.tensor([3, 0])).tolist() == [0, 1, 3, 22]
    query = torch.tensor([5, 6, 2])
    assert regrouped(pairs, query, 10).tolist() == [51, 53, 22]


@settings(deadline=None, max_examples=30)
@given(graph=random_graphs(), radius=st.integers(0, 4), seed=st.integers(0, 99))
def test_widened(graph: Data, radius: int, seed: int) -> None:
    data = planning_graph(graph)
    num_nodes = data.num_nodes
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.rand(3, num_nodes, generator=generator) < 0.2
    pairs = chosen.flatten().nonzero().squeeze(1)
    wide = widened(pairs, Adjacency.from_data(data), radius)
    graph_nx = to_nx(data)
    expected = {
        query * num_nodes + node
        for query, start in chosen.nonzero().tolist()
        for node in nx.single_source_shortest_path_length(
            graph_nx, start, cutoff=radius
        )
    }
    assert wide.tolist() == sorted(expected)

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.nn.encoders.parts.landmark_distances import (
    Landmarks,
    find_landmarks,
)
from bcm_pyg.utils import Adjacency


def landmarks_of(data: Data, num: int) -> Landmarks:
    return find_landmarks(Adjacency.from_data(data), num)


def chain(costs: list[float], both_ways: bool = True) -> Data:
    """Nodes in a row, with these costs between them."""
    tail = torch.arange(len(costs))
    forward = torch.stack([tail, tail + 1])
    edges = [forward, forward.flip(0)] if both_ways else [forward]
    return planning_graph(
        Data(
            pos=torch.arange(len(costs) + 1.0)[:, None] ** 1.5,
            edge_index=torch.cat(edges, dim=1),
            edge_cost=torch.tensor(costs).repeat(len(edges)),
        )
    )


def test_landmarks_are_far_from_each_other() -> None:
    found = landmarks_of(chain([1.0, 1.0, 1.0, 1.0, 5.0]), 3)
    assert found.nodes.tolist() == [5, 0, 4]
    assert found.outward[:, 0].tolist() == [9, 8, 7, 6, 5, 0]
    assert np.array_equal(found.outward, found.inward)


def test_landmarks_of_one_way_streets() -> None:
    found = landmarks_of(chain([1.0, 2.0, 3.0], both_ways=False), 2)
    assert found.nodes.tolist() == [3, 0]
    inf = float('inf')
    assert found.inward[:, 0].tolist() == [6, 5, 3, 0]
    assert found.outward[:, 0].tolist() == [inf, inf, inf, 0]
    assert found.outward[:, 1].tolist() == [0, 1, 3, 6]


def test_components_get_landmarks_by_their_size(grid: Data) -> None:
    isolated = torch.bincount(grid.edge_index.flatten(), minlength=100) == 0
    found = landmarks_of(grid, 6)
    assert not isolated[found.nodes].any()
    tail, head = grid.edge_index
    twice = Data(
        pos=torch.cat([grid.pos, grid.pos + 100]),
        edge_index=torch.cat([grid.edge_index, grid.edge_index + 100], dim=1),
        edge_cost=grid.edge_cost.repeat(2),
    )
    found = landmarks_of(planning_graph(twice), 6)
    second = int((found.nodes >= 100).sum())
    assert 1 <= second <= 5
    both = np.stack([found.outward, found.inward])
    covered = np.isfinite(both).any(axis=(0, 2))
    assert (covered == ~isolated.repeat(2).numpy()).all()


def test_no_more_landmarks_than_places() -> None:
    assert landmarks_of(chain([1.0, 1.0]), 9).nodes.size == 3
    assert landmarks_of(chain([0.0, 0.0]), 9).nodes.size == 1


@settings(deadline=None, max_examples=40)
@given(random_graphs(), st.integers(1, 5))
def test_landmarks_against_networkx(data: Data, num_landmarks: int) -> None:
    data = planning_graph(data)
    graph = to_nx(data)
    found = landmarks_of(data, num_landmarks)
    assert 1 <= found.nodes.size <= num_landmarks
    assert len(set(found.nodes.tolist())) == found.nodes.size
    for column, landmark in enumerate(found.nodes.tolist()):
        for table, view in (
            (found.outward, graph),
            (found.inward, graph.reverse()),
        ):
            exact = nx.single_source_dijkstra_path_length(
                view, landmark, weight='cost'
            )
            expected = [exact.get(node, float('inf')) for node in graph]
            assert table[:, column].tolist() == pytest.approx(expected)

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers import random_graphs
from hypothesis import given, settings
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.baselines._integer_costs import CUT_WEIGHT, integer_costs
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.utils import Adjacency


@given(random_graphs())
@settings(max_examples=60, deadline=None)
def test_all_routes_stay_below_the_limit(data: Data) -> None:
    data.edge_attr = 10.0 ** (4.5 * data.edge_attr - 9)
    adjacency = Adjacency.from_data(planning_graph(data))
    weight, resolution = integer_costs(adjacency)
    assert weight.dtype == np.uint32
    assert weight.max() <= CUT_WEIGHT
    cost = adjacency.cost.double().numpy()
    assert (weight * resolution <= cost).all()
    whole = weight < CUT_WEIGHT
    assert (cost < (weight + 1.0) * resolution)[whole].all()
    distance = dijkstra(adjacency.to_scipy()) / resolution
    assert distance[np.isfinite(distance)].max() < CUT_WEIGHT


def test_undirected_costs_keep_their_bits() -> None:
    # The longest route costs a few hundred, not 1536 times 10.
    data = weighted_grid('ushape', side=40, costs='wide', seed=42)
    weight, resolution = integer_costs(Adjacency.from_data(data))
    assert resolution <= 2**-20
    assert weight.min() > 2**20


@pytest.mark.parametrize('costs', [[3.0, 8.0], [0.5, 0.25], [0.0, 0.0]])
def test_nothing_is_lost_of(costs: list[float]) -> None:
    data = Data(
        pos=torch.zeros(3, 2),
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        edge_cost=torch.tensor(costs),
    )
    weight, resolution = integer_costs(
        Adjacency.from_data(planning_graph(data))
    )
    assert (weight * resolution).tolist() == costs


def test_dear_edges_are_cut() -> None:
    """An edge that is never worth it does not cost others their bits."""
    data = Data(
        pos=torch.zeros(3, 2),
        edge_index=torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]]),
        edge_cost=torch.tensor([1.1, 1.1, 1.3, 1.3, 1e30, 1e30]),
    )
    weight, resolution = integer_costs(
        Adjacency.from_data(planning_graph(data))
    )
    assert weight.tolist().count(CUT_WEIGHT) == 2
    assert resolution <= 2**-27


@pytest.mark.parametrize('cost', [1e-44, 1e-20, 3e38])
def test_extreme_costs(cost: float) -> None:
    data = Data(
        pos=torch.zeros(2, 1),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_cost=torch.full((2,), cost),
    )
    adjacency = Adjacency.from_data(planning_graph(data))
    weight, resolution = integer_costs(adjacency)
    assert 2**28 <= weight.min() <= weight.max() < CUT_WEIGHT
    assert np.allclose(weight * resolution, adjacency.cost.double().numpy())

from __future__ import annotations

import pytest
import torch
from helpers import random_graph
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.nn import LandmarkEncoder, check_encoder
from bcm_pyg.nn.encoders.base import select_nodes
from bcm_pyg.nn.encoders.parts.landmark_distances import find_landmarks
from bcm_pyg.utils import Adjacency


def test_landmark_of_one_way_streets(diamond: Data) -> None:
    encoder = LandmarkEncoder.from_data(diamond, num_landmarks=2, channels=3)
    assert str(encoder) == (
        'LandmarkEncoder(num_nodes=5, num_landmarks=2, both_ways=True, '
        'channels=3)'
    )
    assert encoder.per_node
    assert encoder.out_channels == 4 + 3
    assert encoder(diamond).shape == (5, 7)
    check_encoder(encoder, diamond)


def test_distances_are_exact_up_to_half_a_unit(diamond: Data) -> None:
    encoder = LandmarkEncoder.from_data(diamond, num_landmarks=2, channels=0)
    found = find_landmarks(Adjacency.from_data(diamond), 2)
    exact = torch.cat(
        [torch.from_numpy(found.outward), torch.from_numpy(found.inward)], dim=1
    )
    known = torch.isfinite(exact)
    assert known[:4].all() and not known[4].any()  # node 4 is isolated
    expected = (exact / exact[known].mean()).float()
    unit = expected[:4].amax(0) / 255
    torch.testing.assert_close(encoder.units, unit)
    out = encoder(diamond)
    assert bool(((out - expected)[:4].abs() <= 0.501 * unit).all())
    assert out[4].tolist() == [0.0] * 4
    with torch.no_grad():
        encoder.no_way.fill_(7.0)
    assert encoder(diamond)[4].tolist() == [7.0] * 4
    assert torch.equal(encoder(diamond)[:4], out[:4])


def test_codes_bound_distances() -> None:
    """The differences of codes, less one, are lower bounds."""
    data = planning_graph(random_graph(40, 120, seed=7))
    encoder = LandmarkEncoder.from_data(data, num_landmarks=4)
    assert encoder.both_ways
    exact = torch.from_numpy(
        dijkstra(Adjacency.from_data(data).to_scipy())
    )  # [start, goal]
    mean = float(data.edge_cost.sum())  # any unit will do for 0 and inf
    code = encoder.codes.double()[:, :4]  # from the landmarks
    found = find_landmarks(Adjacency.from_data(data), 4)
    scale = torch.from_numpy(found.outward)
    scale = scale.masked_fill(scale.isinf(), 0).amax(0) / 255
    bound = (code[None] - code[:, None] - 1) * scale
    lost = (encoder.codes[:, :4] == 255).any(1)
    bound[lost], bound[:, lost] = -mean, -mean
    assert bool((bound.amax(2) <= exact + 1e-9).all())
    assert bool((bound.amax(2) > 0).any())


def test_one_table_serves_both_ways_where_it_can(grid: Data) -> None:
    encoder = LandmarkEncoder.from_data(grid, num_landmarks=3)
    assert not encoder.both_ways
    assert encoder.codes.shape == (100, 3)
    assert encoder.codes.dtype == torch.uint8
    assert encoder.out_channels == 3 + 32
    check_encoder(encoder, grid)
    slower = grid.clone()
    slower.edge_cost = grid.edge_cost + (grid.edge_index[0] % 2)
    assert LandmarkEncoder.from_data(slower, num_landmarks=3).both_ways


def test_the_table_counts_as_storage(diamond: Data) -> None:
    model = BCM.from_data(diamond, 'landmark', num_landmarks=2)
    weights = sum(p.numel() for p in model.parameters())
    assert model.num_parameters() == weights
    assert model.storage_bytes() == 4 * weights + 5 * 2 * 2 + 4 * 2 * 2


def test_rows_agree_with_all() -> None:
    data = planning_graph(random_graph(30, 60, seed=4))
    encoder = LandmarkEncoder.from_data(data)
    nodes = torch.tensor([29, 3, 3, 0])
    assert torch.equal(encoder(select_nodes(data, nodes)), encoder(data)[nodes])


def test_the_same_graph_gives_the_same_table() -> None:
    data = planning_graph(random_graph(30, 60, seed=4))
    one, two = (LandmarkEncoder.from_data(data).codes for _ in range(2))
    assert torch.equal(one, two)


def test_free_edges_everywhere(diamond: Data) -> None:
    diamond.edge_cost = torch.zeros(5)
    encoder = LandmarkEncoder.from_data(diamond)
    assert encoder.num_landmarks == 2  # the isolated node is one
    check_encoder(encoder, diamond)


def test_reset_parameters_keeps_the_codes(diamond: Data) -> None:
    encoder = LandmarkEncoder.from_data(diamond)
    assert encoder.lin is not None
    table, weight = encoder.codes.clone(), encoder.lin.weight.clone()
    encoder.reset_parameters()
    assert torch.equal(encoder.codes, table)
    assert not torch.equal(encoder.lin.weight, weight)


@pytest.mark.parametrize(
    ('arguments', 'name'),
    [
        ((0, 3), 'num_nodes'),
        ((4, 0), 'num_landmarks'),
        ((4, 2.5), 'num_landmarks'),
        ((4, 3, True, -1), 'channels'),
    ],
)
def test_landmark_errors(arguments: tuple, name: str) -> None:
    with pytest.raises(BCMError, match=f'{name} must be an int'):
        LandmarkEncoder(*arguments)


def test_landmark_refuses_another_graph(grid: Data, diamond: Data) -> None:
    for number in (0, 2.5, '3'):
        with pytest.raises(BCMError, match='num_landmarks must be an int'):
            LandmarkEncoder.from_data(diamond, num_landmarks=number)
    with pytest.raises(BCMError, match='built for 5 nodes .got a graph of 100'):
        LandmarkEncoder.from_data(diamond)(grid)

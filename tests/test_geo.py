from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.geo import local_metres, nearest_nodes
from bcm_pyg.graph import from_arrays, from_networkx, largest_component


def ring(pos: Any, **extras: Any) -> Data:
    ids = torch.arange(len(pos))
    edge_index = torch.stack([ids, ids.roll(1)])
    return from_arrays(pos, edge_index, torch.ones(len(pos)), **extras)


def test_on_a_grid() -> None:
    data = weighted_grid('open', side=4)
    assert nearest_nodes(data, [[0.2, -3], [2.6, 1.4]]).tolist() == [0, 13]
    assert nearest_nodes(data, data.pos).tolist() == list(range(16))
    assert nearest_nodes(data, (3, 3)).tolist() == [15]
    assert nearest_nodes(data, np.zeros((0, 2))).tolist() == []
    assert nearest_nodes(data, [0, 0]).dtype == torch.long


@pytest.mark.parametrize('axes', [1, 2, 3])
def test_in_the_coordinates_of_the_source(axes: int) -> None:
    rng = np.random.default_rng(axes)
    pos = 500_000 + rng.uniform(0, 100, (50, axes))  # centred in the graph
    points = 500_000 + rng.uniform(0, 100, (30, axes))
    far = np.linalg.norm(points[:, None] - pos, axis=2)
    assert nearest_nodes(ring(pos), points).tolist() == far.argmin(1).tolist()
    plain = Data(pos=torch.from_numpy(pos), edge_index=ring(pos).edge_index)
    assert nearest_nodes(plain, points).tolist() == far.argmin(1).tolist()
    plain.edge_cost = torch.ones(50)
    named = planning_graph(planning_graph(plain), pos='pos')
    given = planning_graph(named, pos=named.pos)
    for data in (planning_graph(plain), largest_component(plain), named, given):
        assert nearest_nodes(data, points).tolist() == far.argmin(1).tolist()


def test_in_degrees() -> None:
    """A degree of longitude is short up north, and 180 is -180."""
    graph = nx.cycle_graph(4)
    places = [(10.0, 70.0), (12.0, 71.0), (179.9, 70.0), (0.0, 90.0)]
    for node, (lon, lat) in enumerate(places):
        graph.add_node(node, lat=lat, lon=lon)
    data = from_networkx(graph, 'length', project=True)
    points = [(12.0, 70.4), (-179.9, 70.0), (90.0, 89.9)]
    assert nearest_nodes(data, points).tolist() == [1, 2, 3]
    assert nearest_nodes(largest_component(data), points[0]).tolist() == [1]


@pytest.mark.parametrize(
    ('points', 'message'),
    [
        ([1, 2, 3], r'shape \[num_points, 2\] .got .3,'),
        ([[[1, 2]]], r'shape \[num_points, 2\]'),
        (3, r'shape \[num_points, 2\] .got ..'),
        ([[1, 2], [3]], 'points must hold numbers'),
        ('here', 'points must hold numbers'),
        ([0, float('nan')], 'points must be finite'),
    ],
)
def test_bad_points(points: Any, message: str) -> None:
    with pytest.raises(BCMError, match=message):
        nearest_nodes(weighted_grid('open', side=4), points)


def test_bad_graphs() -> None:
    with pytest.raises(BCMError, match='expected a torch_geometric'):
        nearest_nodes(None, [0, 0])  # type: ignore[arg-type]
    with pytest.raises(BCMError, match='data.pos must be a'):
        nearest_nodes(Data(edge_index=torch.zeros(2, 1).long()), [0, 0])


def test_bad_degrees() -> None:
    lonlat = np.array([[1.5, 42.5], [1.6, 42.6]])
    data = ring(np.eye(2), lonlat=lonlat)
    with pytest.raises(BCMError, match='points must be longitudes.*entry 1'):
        nearest_nodes(data, [[1.5, 42.5], [42.5, 101.5]])
    data.lonlat = data.lonlat * float('nan')
    with pytest.raises(BCMError, match='data.lonlat must be longitudes'):
        nearest_nodes(data, [1.5, 42.5])
    data.lonlat = data.lonlat[:1]
    with pytest.raises(BCMError, match='data.lonlat must have shape'):
        nearest_nodes(data, [1.5, 42.5])


# Projection ---------------------------------------------------------------


def great_circle(one: np.ndarray, two: np.ndarray) -> float:
    """Haversine, from its definition."""
    (lon1, lat1), (lon2, lat2) = np.radians(one), np.radians(two)
    a = (
        np.sin((lat2 - lat1) / 2) ** 2
        + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * 6_371_008.8 * np.arcsin(np.sqrt(a))


@settings(max_examples=60, deadline=None)
@given(
    lon=st.floats(-180, 180),
    lat=st.floats(-60, 60),
    seed=st.integers(0, 99),
)
def test_lengths_of_a_town_are_true(lon, lat, seed):
    """Within ten kilometres, wherever it lies; the 180th meridian too."""
    shift = np.random.default_rng(seed).uniform(-0.05, 0.05, size=(5, 2))
    degrees = np.array([lon, lat]) + shift
    degrees[:, 0] = (degrees[:, 0] + 180) % 360 - 180
    metres = local_metres(degrees)
    for i in range(5):
        for j in range(i):
            want = great_circle(degrees[i], degrees[j])
            got = np.linalg.norm(metres[i] - metres[j])
            assert got == pytest.approx(want, rel=5e-3, abs=0.1)


def test_east_and_north():
    metres = local_metres([[10.0, 0.0], [11.0, 0.0], [10.0, 1.0]])
    step = metres - metres[0]
    assert step[1].tolist() == pytest.approx([111195, 0], rel=1e-4)
    assert step[2].tolist() == pytest.approx([0, 111195], rel=1e-4)


@pytest.mark.parametrize(
    ('lonlat', 'message'),
    [
        ([[0.0, 0.0], [0.0, 91.0]], r'entry 1 is \[0.0, 91.0\]'),
        ([[0.0, 0.0], [np.nan, 1.0]], 'entry 1'),
        ([[450_000.0, 4_700_000.0]], 'entry 0'),
        ([1.0, 2.0], r'shape \[num_nodes, 2\]'),
        (np.zeros((0, 2)), r'shape \[num_nodes, 2\]'),
        (np.zeros((2, 3)), r'shape \[num_nodes, 2\]'),
    ],
)
def test_bad_lonlat(lonlat, message):
    with pytest.raises(BCMError, match=message):
        local_metres(lonlat)


def town(cost: str, turned: bool = False) -> Data:
    """Streets at 60 degrees north, with plain degrees as coordinates."""
    rng = np.random.default_rng(0)
    graph = nx.grid_2d_graph(6, 6)
    ends = np.array(graph.edges) @ (6, 1)
    ends = np.concatenate([ends, ends[:, ::-1]]).T
    lonlat = np.array(list(graph)) * 0.01 + (10, 60) + rng.normal(size=(36, 2))
    metres = local_metres(lonlat)
    length = np.linalg.norm(metres[ends[0]] - metres[ends[1]], axis=1)
    length *= rng.uniform(1, 1.4, length.size)
    costs = {'metres': length, 'km': length / 1000, 'minutes': length / 600}
    costs['unit'] = np.ones(length.size)
    pos = lonlat[:, ::-1].copy() if turned else lonlat
    return Data(
        pos=torch.from_numpy(pos),
        edge_index=torch.from_numpy(ends.copy()),
        edge_cost=torch.from_numpy(costs[cost]),
    )


@pytest.mark.parametrize('turned', [False, True])
@pytest.mark.parametrize('cost', ['metres', 'km'])
def test_plain_degrees_are_warned_of(cost: str, turned: bool) -> None:
    data = town(cost, turned)
    with pytest.warns(UserWarning, match='pos looks like degrees.*local_metr'):
        planning_graph(data)
    data.lonlat, data.pos = (
        data.pos,
        torch.from_numpy(
            local_metres(data.pos.flip(1) if turned else data.pos)
        ),
    )
    planning_graph(data)  # as the warning says


@pytest.mark.parametrize('cost', ['minutes', 'unit'])
def test_costs_that_are_no_lengths_are_not_warned_of(cost: str) -> None:
    planning_graph(town(cost))
    data = town(cost)
    planning_graph(Data(pos=data.pos, edge_index=data.edge_index), 'length')

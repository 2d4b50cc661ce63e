from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.nn import (
    ContinuousInteractionEncoder,
    InteractionEncoder,
    check_encoder,
    encoder_resolver,
)
from bcm_pyg.nn.encoders import encoder_name


def slow_level(
    tables: list[list[list[float]]], place: list[float]
) -> list[float]:
    """One node, one level: interpolate on each axis, then multiply."""
    parts = []
    for table, x in zip(tables, place, strict=True):
        at = x * (len(table) - 1)
        low = min(int(at), len(table) - 2)
        share = at - low
        parts.append(
            [
                (1 - share) * a + share * b
                for a, b in zip(table[low], table[low + 1], strict=True)
            ]
        )
    out = [value for part in parts for value in part]
    if len(parts) > 1:
        for column in zip(*parts, strict=True):
            product = 1.0
            for value in column:
                product *= value
            out.append(product)
    return out


@pytest.mark.parametrize('num_axes', [1, 2, 3, 5])
def test_levels_against_a_loop(num_axes: int) -> None:
    data = planning_graph(random_graph(20, 60, seed=1, axes=num_axes))
    encoder = ContinuousInteractionEncoder.from_data(
        data, bins=20, levels=3, knots=7, grids=[4, 8], channels=4
    )
    sizes = [axes.sizes for axes in encoder.levels]
    assert sizes == [(20,) * num_axes, (5,) * num_axes, (2,) * num_axes]
    blocks = 1 if num_axes == 1 else num_axes + 1
    assert encoder.out_channels == 3 * blocks * 4 + 2 * 4
    tables = [table.tolist() for table in encoder.tables]
    assert encoder.warp is not None
    assert encoder.grid is not None
    place = encoder.warp(data.pos).tolist()
    out = encoder(data)
    assert torch.equal(out[:, -8:], encoder.grid(encoder.warp(data.pos)))
    for node in range(20):
        expected: list[float] = []
        for level in range(3):
            here = tables[level * num_axes : (level + 1) * num_axes]
            expected += slow_level(here, place[node])
        assert out[node, :-8].tolist() == pytest.approx(expected, abs=1e-4)
    check_encoder(encoder, data)


def test_one_level_without_knots_is_the_plain_encoder() -> None:
    data = planning_graph(random_graph(20, 60, seed=1))
    encoder = ContinuousInteractionEncoder.from_data(
        data, bins=9, levels=1, knots=0, grids=()
    )
    assert list(encoder.state_dict()) == ['tables.0', 'tables.1']
    assert encoder.config() == {
        'axis_sizes': [9, 9],
        'bounds': [list(bound) for bound in encoder.axes.bounds or ()],
        'channels': 64,
        'init': 'smooth',
    }


@settings(deadline=None, max_examples=50)
@given(st.floats(-4, 4, width=32), st.floats(2**-12, 2**-4, width=32))
def test_levels_are_continuous(x: float, step: float) -> None:
    torch.manual_seed(0)
    data = Data(pos=torch.randn(50, 1))
    encoder = ContinuousInteractionEncoder.from_data(
        data, bins=16, levels=2, channels=4
    )
    assert encoder.warp is not None
    steepest = 1 / (63 * float(encoder.warp.knots.diff().min()))
    out = encoder(Data(pos=torch.tensor([[x], [x + step]]))).detach()
    slope = max(
        float(table.detach().diff(dim=0).abs().max()) * (len(table) - 1)
        for table in encoder.tables
    )
    jump = float((out[1] - out[0]).abs().max())
    assert jump <= slope * steepest * step + 1e-3


@pytest.mark.parametrize(
    ('num_nodes', 'num_axes', 'sizes', 'grids'),
    [
        (5, 2, [27, 7], []),
        (20, 2, [54, 14], [8]),
        (400, 2, [240, 60, 15], [16, 32]),
        (1700, 2, [495, 124, 31, 8], [32, 64]),
        (9000, 2, [512, 128, 32, 8], [32, 64]),
        (9000, 3, [250, 63, 16], [8, 16]),
        (9000, 5, [74, 19], []),
        (9000, 1, [512, 128, 32, 8], []),
    ],
)
def test_default_resolution(
    num_nodes: int, num_axes: int, sizes: list[int], grids: list[int]
) -> None:
    data = Data(pos=torch.randn(num_nodes, num_axes))
    encoder = ContinuousInteractionEncoder.from_data(data)
    assert [axes.sizes for axes in encoder.levels] == [
        (size,) * num_axes for size in sizes
    ]
    assert encoder.channels == max(16, 64 // len(sizes))
    assert encoder.config().get('grids', []) == grids
    assert encoder.warp is not None


def test_the_name_chooses_by_the_graph(grid: Data) -> None:
    paper = encoder_resolver('interaction', grid)
    assert type(paper) is InteractionEncoder
    assert list(paper.state_dict()) == ['tables.0', 'tables.1']
    with pytest.raises(BCMError, match='levels is for real coordinates'):
        encoder_resolver('interaction', grid, levels=2)
    with pytest.raises(BCMError, match='knots is for real coordinates'):
        encoder_resolver('interaction', grid, knots=8)
    with pytest.raises(BCMError, match='grids is for real coordinates'):
        encoder_resolver('interaction', grid, grids=[8])
    with pytest.raises(BCMError, match='levels must be an int from 1 to 16'):
        ContinuousInteractionEncoder([4, 4], [(0, 1), (0, 1)], levels=0)
    binned = encoder_resolver('interaction', grid, bins=64)
    assert isinstance(binned, ContinuousInteractionEncoder)
    assert binned.levels[1].sizes == (16, 16)
    data = planning_graph(random_graph(20, 60, seed=1))
    real = encoder_resolver('interaction', data, bins=None)
    assert type(real) is ContinuousInteractionEncoder
    assert encoder_name(real) == 'continuous_interaction'
    named = encoder_resolver('continuous_interaction', grid)
    assert type(named) is ContinuousInteractionEncoder
    check_encoder(named, grid)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'levels': 0}, r'levels must be an int from 1 to 16 \(got 0\)'),
        ({'levels': 2.5}, 'levels must be an int'),
        ({'grids': 8}, r'grids must be a sequence of ints \(got 8\)'),
        ({'grids': [2.5]}, 'grids must be an int from 2 to 65536'),
        ({'bins': 'a'}, 'bins must be an int of at least 2'),
        ({'bins': 2.5}, 'bins must be an int of at least 2'),
        ({'bins': 1}, 'bins must be an int of at least 2'),
        ({'knots': -3}, 'knots must be an int'),
        ({'channels': 2.5}, 'channels must be an int'),
    ],
)
def test_bad_resolutions(arguments: dict, message: str) -> None:
    data = planning_graph(random_graph(20, 60, seed=1))
    with pytest.raises(BCMError, match=message):
        ContinuousInteractionEncoder.from_data(data, **arguments)


def test_knots_start_between_the_bounds() -> None:
    bounds = [(-500.0, 500.0), (-500.0, 500.0)]
    torch.manual_seed(0)
    data = Data(pos=torch.rand(50, 2) * 1000 - 500)
    torch.manual_seed(0)
    encoder = ContinuousInteractionEncoder([32, 32], bounds=bounds, knots=8)
    torch.manual_seed(0)
    plain = ContinuousInteractionEncoder([32, 32], bounds=bounds)
    torch.testing.assert_close(encoder(data), plain(data), rtol=1e-3, atol=1e-3)


# Nodes at one place ---------------------------------------------------------


def crowded(num_axes: int = 2) -> Data:
    data = random_graph(20, 60, seed=3, axes=num_axes)
    data.pos[[3, 11, 7]] = data.pos[5].clone()
    data.pos[1] = data.pos[0]
    return data


@pytest.mark.parametrize('num_axes', [1, 2, 3, 5])
def test_nodes_at_one_place_differ(num_axes: int) -> None:
    data = planning_graph(crowded(num_axes))
    encoder = ContinuousInteractionEncoder.from_data(data)
    assert 'coincident=4' in str(encoder)
    assert encoder.coincident is not None
    assert encoder.coincident.nodes.tolist() == [1, 5, 7, 11]
    out = encoder(data)
    assert out.size(1) == encoder.out_channels
    assert out.unique(dim=0).size(0) == 20
    assert torch.equal(out[3, :-8], out[11, :-8])
    check_encoder(encoder, data)


@pytest.mark.parametrize('name', ['interaction', 'k_hot', 'grid', 'gnn'])
def test_maps_tell_nodes_at_one_place_apart(name: str, tmp_path: Path) -> None:
    data = crowded()
    model = BCM.from_data(data, name)
    hidden = model.project_nodes(planning_graph(data))
    assert hidden.unique(dim=0).size(0) == 20
    nodes = torch.tensor([11, 3, 0, 11])
    torch.testing.assert_close(
        model.project_nodes(planning_graph(data), nodes), hidden[nodes]
    )
    model.save(tmp_path)
    other = BCM.load(tmp_path, data)
    assert str(other) == str(model)
    assert torch.equal(other.project_nodes(planning_graph(data)), hidden)
    assert other.storage_bytes() == model.storage_bytes()
    check_encoder(model.encoder, data)


def test_bytes_of_what_is_kept(tmp_path: Path) -> None:
    data = crowded()
    model = BCM.from_data(data, bins=16, channels=4, grids=())
    assert model.num_parameters() == (
        2 * 16 * 4
        + 4 * 8
        + sum(p.numel() for p in model.transition.parameters())
    )
    kept = 2 * 64 * 4 + 4 * 8  # knots, and ids of the four nodes with a row
    assert model.storage_bytes() == 4 * model.num_parameters() + kept


def test_real_coincident_nodes(data_dir: Path) -> None:
    import numpy as np

    file = np.load(data_dir / 'other' / 'scigrid_de.npz')
    data = Data(
        pos=torch.from_numpy(file['pos']),
        edge_index=torch.from_numpy(file['edge_index']),
        edge_attr=torch.from_numpy(file['edge_cost']),
    )
    model = BCM.from_data(data, 'interaction')
    out = model.encode(data)
    assert model.encoder.config()['coincident'] == 96
    assert out.unique(dim=0).size(0) == 585


def test_the_default_map_of_a_road_network(
    andorra: Data, tmp_path: Path
) -> None:
    model = BCM.from_data(andorra)
    assert model.storage_bytes() < 1e6
    model.save(tmp_path)
    other = BCM.load(tmp_path, andorra)
    assert torch.equal(other.encode(andorra), model.encode(andorra))


@pytest.mark.parametrize('name', ['interaction', 'k_hot', 'grid'])
def test_nodes_a_millimetre_apart_differ(name: str) -> None:
    torch.manual_seed(0)
    data = random_graph(200, 800, seed=0)
    data.pos = (torch.rand(200, 2, dtype=torch.float64) - 0.5) * 1e5
    data.pos[:4] = torch.tensor([[10, 10], [10, 10], [-5e4, -5e4], [5e4, 5e4]])
    data.pos[1] += 1e-3
    data = planning_graph(data)
    assert not torch.equal(data.pos[0], data.pos[1])
    out = BCM.from_data(data, name).encode(data).detach()
    out = out.to_dense() if out.is_sparse else out
    assert out.unique(dim=0).size(0) == 200
    assert float((out[0] - out[1]).abs().max()) > 1e-3


# One level -----------------------------------------------------------------


def test_float_coordinates_exact_at_bins() -> None:
    encoder = ContinuousInteractionEncoder([5, 5], [(0, 4), (0, 8)], 3)
    assert (
        str(encoder) == 'ContinuousInteractionEncoder(bins=[5, 5], channels=3)'
    )
    pos = torch.tensor([[b * 1.0, (4 - b) * 2.0] for b in range(5)])
    r, c = encoder.tables[0], encoder.tables[1].flip(0)
    expected = torch.cat([r, c, r * c], dim=1)
    torch.testing.assert_close(encoder(Data(pos=pos)), expected)


def test_float_coordinates_interpolate_and_clamp() -> None:
    encoder = ContinuousInteractionEncoder([3], [(0, 2)], 2)
    with torch.no_grad():
        encoder.tables[0].copy_(
            torch.tensor([[0.0, 0.0], [1.0, 10.0], [3.0, 0.0]])
        )
    pos = torch.tensor([[0.5], [1.25], [-7.0], [99.0]])
    assert encoder(Data(pos=pos)).tolist() == [
        [0.5, 5.0],
        [1.5, 7.5],
        [0.0, 0.0],
        [3.0, 0.0],
    ]


@settings(deadline=None, max_examples=50)
@given(st.floats(-1, 5, width=32), st.floats(2**-10, 0.25, width=32))
def test_float_coordinates_are_continuous(x: float, step: float) -> None:
    encoder = ContinuousInteractionEncoder([9], [(0, 4)], 4)
    out = encoder(Data(pos=torch.tensor([[x], [x + step]])))
    slope = float(encoder.tables[0].detach().diff(dim=0).abs().max()) * 8 / 4
    jump = (out[1] - out[0]).detach().abs().max()
    assert float(jump) <= slope * step + 1e-4


def test_degenerate_axis() -> None:
    data = planning_graph(
        Data(
            pos=torch.tensor([[0.5, 7.25], [1.0, 7.25], [2.5, 7.25]]),
            edge_index=torch.tensor([[0, 1], [1, 2]]),
            edge_cost=torch.ones(2),
        )
    )
    encoder = ContinuousInteractionEncoder.from_data(data)
    out = encoder(data)
    assert torch.isfinite(out).all()
    assert torch.equal(out[0, 64:128], out[2, 64:128])
    assert not torch.equal(out[0, :64], out[2, :64])


@pytest.mark.parametrize('num_axes', [1, 2, 3])
def test_any_number_of_axes(num_axes: int) -> None:
    data = planning_graph(random_graph(30, 90, seed=3, axes=num_axes))
    encoder = ContinuousInteractionEncoder.from_data(
        data, channels=5, bins=7, grids=()
    )
    assert encoder.axes.sizes == (7,) * num_axes
    assert encoder.out_channels == {1: 5, 2: 15, 3: 20}[num_axes]
    check_encoder(encoder, data)


def test_config_rebuilds() -> None:
    encoder = ContinuousInteractionEncoder(
        [4, 5], [(0, 1), (-2, 2)], 3, 'random'
    )
    assert encoder.config() == {
        'axis_sizes': [4, 5],
        'bounds': [[0.0, 1.0], [-2.0, 2.0]],
        'channels': 3,
        'init': 'random',
    }
    twin = ContinuousInteractionEncoder.from_config(encoder.config())
    assert twin.config() == encoder.config()
    assert str(twin) == str(encoder)

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from helpers import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.nn import GridEncoder, check_encoder
from bcm_pyg.nn.encoders.parts.feature_grid import PRIMES


def slow_features(encoder: GridEncoder, place: list[float]) -> list[float]:
    """One node: every corner of every cell by itself."""
    out = [2 * x - 1 for x in place]
    first = 0
    for size in encoder.grid.resolutions:
        rows = min(size ** len(place), encoder.max_rows)
        total = [0.0] * encoder.channels
        cell = [min(int(x * (size - 1)), size - 2) for x in place]
        for sides in itertools.product((0, 1), repeat=len(place)):
            share, dense, scattered = 1.0, 0, 0
            for axis, side in enumerate(sides):
                part = place[axis] * (size - 1) - cell[axis]
                share *= part if side else 1 - part
                dense += (cell[axis] + side) * size**axis
                scattered ^= (cell[axis] + side) * PRIMES[axis]
            row = dense if size ** len(place) <= rows else scattered % rows
            features = encoder.grid.table[first + row].tolist()
            for channel, feature in enumerate(features):
                total[channel] += share * feature
        out += total
        first += rows
    return out


@pytest.mark.parametrize('num_axes', [1, 2, 3, 5])
@pytest.mark.parametrize('max_rows', [4096, 7])
def test_grid_against_a_loop(num_axes: int, max_rows: int) -> None:
    data = planning_graph(random_graph(15, 40, seed=1, axes=num_axes))
    encoder = GridEncoder.from_data(
        data, resolutions=(2, 5), channels=3, max_rows=max_rows
    )
    assert encoder.grid.table.size(0) == sum(
        min(size**num_axes, max_rows) for size in (2, 5)
    )
    out = encoder(data)
    assert out.shape == (15, num_axes + 6) == (15, encoder.out_channels)
    place = encoder.warp(data.pos).tolist()
    for node in range(15):
        expected = slow_features(encoder, place[node])
        assert out[node].tolist() == pytest.approx(expected, abs=1e-5)
    check_encoder(encoder, data)


def test_grid(diamond: Data) -> None:
    encoder = GridEncoder.from_data(diamond)
    assert str(encoder) == (
        'GridEncoder(num_axes=2, resolutions=[8, 16, 32, 64], channels=8)'
    )
    assert encoder.per_node
    assert encoder.grid.table.shape == (64 + 256 + 1024 + 4096, 8)
    assert encoder.out_channels == 2 + 4 * 8


@settings(deadline=None, max_examples=30)
@given(st.floats(-1, 2, width=32), st.floats(2**-12, 2**-6, width=32))
def test_grid_is_continuous(x: float, step: float) -> None:
    torch.manual_seed(0)
    encoder = GridEncoder(2, resolutions=(4, 16), channels=2, max_rows=50)
    pos = torch.tensor([[x, 0.3], [x + step, 0.3]])
    out = encoder(Data(pos=pos)).detach()
    most = 2 * float(encoder.grid.table.detach().abs().max()) * 15 + 2
    assert float((out[1] - out[0]).abs().max()) <= most * step + 1e-4


def test_nodes_at_one_place_differ() -> None:
    data = planning_graph(random_graph(12, 40, seed=2))
    data.pos[[3, 7]] = data.pos[5].clone()
    encoder = GridEncoder.from_data(data)
    assert encoder.config()['coincident'] == 2
    out = encoder(data)
    assert out.size(1) == encoder.out_channels == 2 + 4 * 8 + 8
    assert torch.equal(out[5, :-8], out[7, :-8])
    assert out[[3, 5, 7]].unique(dim=0).size(0) == 3
    check_encoder(encoder, data)


def test_round_trip(tmp_path: Path) -> None:
    data = random_graph(12, 40, seed=2)
    data.pos[4] = data.pos[5]
    model = BCM.from_data(data, 'grid', resolutions=[3, 9], max_rows=20)
    model.save(tmp_path)
    other = BCM.load(tmp_path, data)
    assert str(other) == str(model)
    assert torch.equal(model.encode(data), other.encode(data))


def test_reset_parameters() -> None:
    encoder = GridEncoder(2, coincident=3)
    before = encoder.grid.table.detach().clone()
    assert encoder.coincident is not None
    rows = encoder.coincident.rows.detach().clone()
    encoder.reset_parameters()
    assert not torch.equal(encoder.grid.table, before)
    assert not torch.equal(encoder.coincident.rows, rows)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'num_axes': 0}, r'num_axes must be an int from 1 to 8 \(got 0\)'),
        ({'num_axes': 9}, 'num_axes'),
        ({'resolutions': []}, r'at least one \(got \(\)\)'),
        ({'resolutions': [4, 1]}, 'an int from 2 to 65536'),
        ({'resolutions': [10**9]}, 'resolutions must be an int'),
        ({'resolutions': [4.5]}, 'resolutions must be an int'),
        ({'resolutions': 8}, r'a sequence of ints \(got 8\)'),
        ({'channels': 0}, 'channels must be an int of at least 1'),
        ({'max_rows': 0}, 'max_rows must be an int of at least 1'),
        ({'knots': 1}, 'two knots'),
    ],
)
def test_grid_errors(arguments: dict, message: str) -> None:
    with pytest.raises(BCMError, match=message):
        GridEncoder(**{'num_axes': 2, **arguments})

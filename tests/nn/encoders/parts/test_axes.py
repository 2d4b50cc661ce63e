from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.nn.encoders.parts.axes import Axes


def at(*positions: float) -> Data:
    return Data(pos=torch.tensor(positions)[:, None])


def test_axes_of_integer_codes(grid: Data) -> None:
    axes = Axes.from_data(grid)
    assert axes.sizes == (10, 10)
    assert axes.bounds is None
    assert len(axes) == 2
    codes, fraction = axes.locate(grid)
    assert fraction is None
    assert codes[[0, 7, 34, 99]].tolist() == [[0, 0], [0, 7], [3, 4], [9, 9]]
    assert axes.config() == {'axis_sizes': [10, 10]}


def test_axes_of_float_positions(diamond: Data) -> None:
    axes = Axes.from_data(diamond)
    assert axes.sizes == (16, 16)
    assert axes.bounds == ((0.0, 9.0), (-1.5, 9.0))
    assert axes.config() == {
        'axis_sizes': [16, 16],
        'bounds': [[0.0, 9.0], [-1.5, 9.0]],
    }
    again = Axes(axes.config()['axis_sizes'], axes.config()['bounds'])
    assert (again.sizes, again.bounds) == (axes.sizes, axes.bounds)


@pytest.mark.parametrize(
    ('num_nodes', 'num_axes', 'bins'),
    [(5, 2, 16), (400, 2, 40), (1000, 3, 20), (100, 1, 200), (1000, 1, 256)],
)
def test_default_number_of_bins(
    num_nodes: int, num_axes: int, bins: int
) -> None:
    data = Data(pos=torch.rand(num_nodes, num_axes))
    assert Axes.from_data(data).sizes == (bins,) * num_axes


def test_bins_may_be_asked_for_on_a_grid(grid: Data) -> None:
    axes = Axes.from_data(grid, bins=5)
    assert axes.sizes == (5, 5)
    assert axes.bounds == ((0.0, 9.0), (0.0, 9.0))


def test_locate_between_bins_and_beyond_bounds() -> None:
    axes = Axes([5], [(0.0, 8.0)])
    lower, fraction = axes.locate(at(0, 1, 2, 3.5, 8, -1, 9))
    assert lower.flatten().tolist() == [0, 0, 1, 1, 3, 0, 3]
    assert fraction is not None
    assert fraction.flatten().tolist() == [0, 0.5, 0, 0.75, 1, 0, 1]


def test_locate_where_all_nodes_share_a_coordinate() -> None:
    data = Data(pos=torch.tensor([[3.0, 0.0], [3.0, 1.0], [3.0, 4.0]]))
    axes = Axes.from_data(data, bins=5)
    lower, fraction = axes.locate(data)
    assert lower.tolist() == [[0, 0], [0, 1], [0, 3]]
    assert fraction is not None
    assert fraction.tolist() == [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]


@settings(deadline=None, max_examples=50)
@given(
    st.floats(-100, 100, width=32),
    st.floats(0, 50, width=32),
    st.integers(2, 40),
    st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=9),
)
def test_locate_against_python(
    low: float, span: float, bins: int, positions: list[float]
) -> None:
    axes = Axes([bins], [(low, low + span)])
    lower, fraction = axes.locate(at(*positions))
    assert fraction is not None
    assert 0 <= int(lower.min()) and int(lower.max()) <= bins - 2
    assert 0 <= float(fraction.min()) and float(fraction.max()) <= 1
    place = lower.double() + fraction.double()
    for got, position in zip(place.flatten().tolist(), positions, strict=True):
        if span < 1:  # rounding of the position itself would dominate
            continue
        share = min(max((position - low) / span, 0.0), 1.0)
        assert got == pytest.approx(share * (bins - 1), abs=1e-2)


def test_axes_errors(diamond: Data, grid: Data) -> None:
    with pytest.raises(BCMError, match=r'at least 1 \(got \(\)\)'):
        Axes([])
    with pytest.raises(BCMError, match=r'at least 1 \(got \(4, 0\)\)'):
        Axes([4, 0])
    with pytest.raises(BCMError, match='at least 2'):
        Axes([1], [(0.0, 1.0)])
    with pytest.raises(BCMError, match='2 axis sizes but bounds of 1'):
        Axes([4, 4], [(0.0, 1.0)])
    with pytest.raises(BCMError, match='data.coord'):
        Axes([5, 5]).locate(diamond)
    with pytest.raises(BCMError, match='on 3 axes'):
        Axes([10, 10, 10]).locate(grid)
    with pytest.raises(BCMError, match='reaches 9 on axis 1.*for 8 codes'):
        Axes([10, 8]).locate(grid)


@pytest.mark.parametrize(
    'bound', [(0, float('nan')), (0, float('inf')), (1, 0)]
)
def test_axes_refuse_bounds_that_are_none(bound: tuple[float, float]) -> None:
    with pytest.raises(BCMError, match='finite and ascending .axis 1'):
        Axes([4, 4], [(0.0, 1.0), bound])


def test_locate_refuses_raw_positions() -> None:
    axes = Axes([4, 4], [(0.0, 1.0), (0.0, 1.0)])
    raw = Data(
        pos=torch.tensor([[0.5, 0.5], [1.5, 1.0]], dtype=torch.float64),
        edge_index=torch.tensor([[0], [1]]),
        edge_cost=torch.ones(1),
    )
    with pytest.raises(BCMError, match=r'float64 of shape \(2, 2\)'):
        axes.locate(raw)
    assert axes.locate(planning_graph(raw))[0].shape == (2, 2)
    with pytest.raises(BCMError, match=r'\[N, 2\]'):
        axes.locate(at(0.5))

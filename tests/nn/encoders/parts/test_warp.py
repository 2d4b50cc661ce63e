from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bcm_pyg import BCMError
from bcm_pyg.nn.encoders.parts.warp import AxisWarp


def test_warp_of_even_positions_is_a_ruler() -> None:
    pos = torch.linspace(-3, 5, 101)[:, None]
    warp = AxisWarp.from_positions(pos, 9)
    assert str(warp) == 'AxisWarp(num_axes=1, num_knots=9)'
    torch.testing.assert_close(warp.knots, torch.linspace(-3, 5, 9)[None])
    torch.testing.assert_close(warp(pos), torch.linspace(0, 1, 101)[:, None])


def test_warp_gives_dense_stretches_more_room() -> None:
    pos = torch.cat([torch.linspace(0, 1, 900), torch.linspace(1, 10, 100)])
    warp = AxisWarp.from_positions(pos[:, None], 64)
    place = warp(torch.tensor([[0.0], [1.0], [10.0]])).flatten().tolist()
    # Half by nodes (0.9 of them), half by length (0.1 of it).
    assert place == pytest.approx([0.0, 0.5, 1.0], abs=0.02)


def test_axes_have_knots_of_their_own() -> None:
    pos = torch.stack([torch.arange(5.0), 10 * torch.arange(5.0)], dim=1)
    place = AxisWarp.from_positions(pos, 3)(pos)
    torch.testing.assert_close(place[:, 0], place[:, 1])


def test_positions_beyond_the_ends_count_as_on_them() -> None:
    warp = AxisWarp.from_positions(torch.tensor([[0.0], [1.0], [4.0]]), 4)
    assert warp(torch.tensor([[-7.0], [99.0]])).tolist() == [[0.0], [1.0]]


def test_an_axis_on_which_all_nodes_agree() -> None:
    pos = torch.tensor([[2.0, 0.0], [2.0, 1.0]])
    warp = AxisWarp.from_positions(pos, 5)
    assert warp.knots[0].tolist() == [2.0] * 5
    place = warp(pos)
    assert torch.isfinite(place).all()
    assert place[0, 0] == place[1, 0]
    assert place[:, 1].tolist() == [0.0, 1.0]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(-1e4, 1e4, width=32), min_size=2, max_size=40),
    st.integers(2, 20),
    st.lists(st.floats(-2e4, 2e4, width=32), min_size=2, max_size=20),
)
def test_warp_against_numpy(
    nodes: list[float], num_knots: int, asked: list[float]
) -> None:
    warp = AxisWarp.from_positions(torch.tensor(nodes)[:, None], num_knots)
    knots = warp.knots[0].double().numpy()
    assert (np.diff(knots) >= 0).all()
    asked = sorted(asked)
    place = warp(torch.tensor(asked)[:, None]).flatten()
    assert 0 <= float(place.min()) and float(place.max()) <= 1
    assert (place.diff() >= 0).all()
    if (np.diff(knots) < 1e-2).any():
        return  # rounding of the position itself would dominate
    expected = np.interp(asked, knots, np.linspace(0, 1, num_knots))
    assert place.tolist() == pytest.approx(expected.tolist(), abs=1e-3)


def test_knots_are_state_and_not_trained() -> None:
    warp = AxisWarp.from_positions(torch.rand(9, 2), 5)
    assert list(warp.state_dict()) == ['knots']
    assert list(warp.parameters()) == []
    other = AxisWarp(2, 5)
    other.load_state_dict(warp.state_dict())
    pos = torch.rand(7, 2)
    assert torch.equal(other(pos), warp(pos))


@pytest.mark.parametrize(('num_axes', 'num_knots'), [(0, 5), (2, 1), (1, -3)])
def test_warp_errors(num_axes: int, num_knots: int) -> None:
    with pytest.raises(BCMError, match='one axis and two knots'):
        AxisWarp(num_axes, num_knots)


def test_warp_refuses_raw_positions() -> None:
    warp = AxisWarp(2, 5)
    with pytest.raises(BCMError, match=r'pass planning_graph\(data\)'):
        warp(torch.rand(3, 2).double())
    with pytest.raises(BCMError, match=r'\[N, 2\]'):
        warp(torch.rand(3, 1))


def test_bounds_of_even_knots() -> None:
    warp = AxisWarp(2, 3, [(-4.0, 4.0), (1.0, 2.0)])
    assert warp.knots.tolist() == [[-4.0, 0.0, 4.0], [1.0, 1.5, 2.0]]
    with pytest.raises(BCMError, match='got 2 axes but bounds of 1'):
        AxisWarp(2, 3, [(0, 1)])
    with pytest.raises(BCMError, match='finite and ascending'):
        AxisWarp(1, 3, [(1, 0)])

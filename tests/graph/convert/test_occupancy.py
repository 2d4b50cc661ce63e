import sys
from itertools import product

import numpy as np
import pytest
import torch
from helpers import assert_same_data
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.graph import from_occupancy

MODULE = sys.modules[from_occupancy.__module__]


def slow_edges(occupied: np.ndarray) -> dict[tuple[int, int], float]:
    """All steps, cell by cell: the box between two cells must be free."""
    shape = occupied.shape
    free = [c for c in np.ndindex(shape) if not occupied[c]]
    node = {cell: place for place, cell in enumerate(free)}
    edges = {}
    for cell in free:
        for move in product((-1, 0, 1), repeat=len(shape)):
            head = tuple(a + b for a, b in zip(cell, move, strict=True))
            box = product(*({a, b} for a, b in zip(cell, head, strict=True)))
            if any(move) and all(corner in node for corner in box):
                length = sum(map(abs, move)) ** 0.5
                edges[node[cell], node[head]] = length
    return edges


@st.composite
def masks(draw: st.DrawFn) -> np.ndarray:
    axes = draw(st.integers(1, 4))
    shape = draw(st.tuples(*[st.integers(1, 6 if axes < 3 else 4)] * axes))
    seed = draw(st.integers(0, 2**16))
    share = draw(st.sampled_from([0.0, 0.1, 0.3, 0.6]))
    return np.random.default_rng(seed).random(shape) < share


@settings(max_examples=40, deadline=None)
@given(occupied=masks())
def test_agrees_with_a_loop(occupied):
    want = slow_edges(occupied)
    assume(want)
    before = occupied.copy()
    data = from_occupancy(occupied)
    assert np.array_equal(occupied, before)
    assert list(map(tuple, data.edge_index.T.tolist())) == sorted(want)
    assert data.edge_cost.tolist() == pytest.approx(
        [want[edge] for edge in sorted(want)], rel=1e-7
    )
    assert data.coord.tolist() == np.argwhere(~occupied).tolist()
    assert torch.equal(data.pos, data.coord.float())
    assert data.grid_size.tolist() == [list(occupied.shape)]
    assert_same_data(planning_graph(data), data)
    assert_same_data(from_occupancy(torch.from_numpy(occupied)), data)


def test_corners_are_not_cut():
    data = from_occupancy(np.array([[False, True], [False, False]]))
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.edge_cost.tolist() == [1] * 4


def test_open_space():
    data = from_occupancy(np.zeros((3, 3, 3), dtype=bool))
    middle = data.edge_cost[data.edge_index[0] == 13]
    assert sorted(middle.tolist()) == pytest.approx(
        [1] * 6 + [2**0.5] * 12 + [3**0.5] * 8
    )


@pytest.mark.parametrize(
    ('occupied', 'message'),
    [
        (np.zeros((2, 2)), 'boolean array.*float64'),
        ([[False]], 'boolean array.*list'),
        (np.array(False), 'at least one axis'),
        (np.zeros((0, 3), dtype=bool), '0 x 3'),
        (np.zeros((1, 1), dtype=bool), 'no two neighbouring cells'),
        (np.ones((3, 3), dtype=bool), 'no two neighbouring cells'),
    ],
)
def test_errors(occupied, message):
    with pytest.raises(BCMError, match=message):
        from_occupancy(occupied)


def test_large_grids_must_be_asked_for():
    open_space = np.zeros((10, 10), dtype=bool)
    with pytest.raises(BCMError, match='684 directed edges or more.*683'):
        from_occupancy(open_space, max_edges=683)
    with pytest.raises(BCMError, match='more cells than max_edges = 99'):
        from_occupancy(open_space, max_edges=99)
    assert from_occupancy(open_space, max_edges=684).num_edges == 684
    huge = np.broadcast_to(np.array(False), (10**5, 10**5))
    with pytest.raises(BCMError, match='100000 x 100000'):
        from_occupancy(huge)


def test_too_many_edges_are_noticed_early(monkeypatch):
    steps = []

    all_steps = MODULE._steps

    def watched(ndim):
        for step in all_steps(ndim):
            steps.append(step)
            yield step

    monkeypatch.setattr(MODULE, '_steps', watched)
    with pytest.raises(BCMError, match='180 directed edges or more'):
        from_occupancy(np.zeros((10, 10), dtype=bool), max_edges=100)
    assert len(steps) == 1

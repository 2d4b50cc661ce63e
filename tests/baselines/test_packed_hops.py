from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg.baselines._packed_hops import HopLayout, pack_bits, read_bits
from bcm_pyg.utils import Adjacency


def test_bits_of_a_few_numbers() -> None:
    # Low bits first: 101, 011, 110 from the right.
    packed = pack_bits(np.array([5, 3, 6]), 3)
    assert packed.dtype == np.uint8
    assert packed.tolist() == [0b10_011_101, 0b1]
    assert read_bits(packed, np.array([2, 0, 0, 1]), 3).tolist() == [6, 5, 5, 3]


@pytest.mark.parametrize('bits', [0, 1, 2, 3, 7, 8, 9, 10, 16, 17, 20])
@given(seed=st.integers(0, 2**16), size=st.integers(1, 40))
def test_round_trip(bits: int, seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << bits, size=size)
    packed = pack_bits(values, bits)
    number = sum(int(v) << (bits * k) for k, v in enumerate(values))
    assert packed.tobytes() == number.to_bytes((bits * size + 7) // 8, 'little')
    index = rng.integers(0, size, size=50)
    assert read_bits(packed, index, bits).tolist() == values[index].tolist()
    assert read_bits(packed, index[:0], bits).shape == (0,)


def test_layout(diamond: Data) -> None:
    layout = HopLayout(Adjacency.from_data(diamond))
    assert layout.nodes.tolist() == [0, 1, 2, 3]
    assert (layout.bits, layout.num_bytes, layout.no_route) == (1, 2, 2)
    nodes, goals = np.array([0, 0, 0, 4, 4]), np.array([2, 0, 4, 0, 4])
    assert layout.holds(nodes, goals).tolist() == [True] + [False] * 4
    # Towards 2: from 0 by its second edge, from 1 and 3 by their only one.
    part = layout.pack(np.array([2]), np.array([[2, 3, -9999, 0, -9999]]))
    assert part.tolist() == [0b001]

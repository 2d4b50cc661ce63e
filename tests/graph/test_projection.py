import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcm_pyg import BCMError
from bcm_pyg.graph import local_metres


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
        ([[0.0, 0.0], [0.0, 91.0]], r'node 1 is at \[0.0, 91.0\]'),
        ([[0.0, 0.0], [np.nan, 1.0]], 'node 1'),
        ([[450_000.0, 4_700_000.0]], 'node 0'),
        ([1.0, 2.0], r'shape \[num_nodes, 2\]'),
        (np.zeros((0, 2)), r'shape \[num_nodes, 2\]'),
        (np.zeros((2, 3)), r'shape \[num_nodes, 2\]'),
    ],
)
def test_errors(lonlat, message):
    with pytest.raises(BCMError, match=message):
        local_metres(lonlat)

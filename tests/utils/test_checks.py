import numpy as np
import pytest
import torch

from bcm_pyg import BCMError
from bcm_pyg.utils import as_ids, as_queries


@pytest.mark.parametrize(
    ('ids', 'expected'),
    [
        (3, [3]),
        (np.int32(3), [3]),
        (np.array(3, dtype=np.uint8), [3]),
        (torch.tensor(3), [3]),
        ([0, 4, 0], [0, 4, 0]),
        ((0, 4), [0, 4]),
        (range(3), [0, 1, 2]),
        (np.array([4, 2], dtype=np.int16), [4, 2]),
        (torch.tensor([4, 2], dtype=torch.int32), [4, 2]),
        ([torch.tensor(1), torch.tensor(2)], [1, 2]),
        ([], []),
        (np.array([]), []),
        (torch.empty(0, dtype=torch.long), []),
    ],
)
def test_as_ids(ids, expected):
    out = as_ids(ids, 5)
    assert out.dtype == torch.long
    assert out.dim() == 1
    assert out.tolist() == expected


def test_as_ids_does_not_alias_arrays():
    array = np.array([1, 2])
    out = as_ids(array, 5)
    out[0] = 4
    assert array.tolist() == [1, 2]


@pytest.mark.parametrize(
    'ids',
    [
        1.0,
        True,
        None,
        'a',
        {1, 2},
        2**70,
        [0.5],
        ['1'],
        [[1], [2, 3]],
        np.array([True, False]),
        torch.tensor([0.0, 1.0]),
        torch.tensor([True]),
        torch.tensor([1j]),
        torch.empty(0),
    ],
    ids=repr,
)
def test_ids_must_be_integers(ids):
    with pytest.raises(BCMError, match='goals must hold integer node ids'):
        as_ids(ids, 5, 'goals')


@pytest.mark.parametrize('ids', [[[1, 2]], torch.ones(1, 1).long()])
def test_ids_must_be_a_vector(ids):
    with pytest.raises(BCMError, match=r'starts must be .* vector .*\(1, '):
        as_ids(ids, 5, 'starts')


@pytest.mark.parametrize(
    ('ids', 'message'),
    [
        (5, r'goals\[0\] = 5 is not a node: ids lie in \[0, 5\)'),
        ([4, -1, 7], r'goals\[1\] = -1 is not a node'),
        (torch.tensor([0, 1, 99]), r'goals\[2\] = 99 is not a node'),
    ],
)
def test_ids_must_be_in_range(ids, message):
    with pytest.raises(BCMError, match=message):
        as_ids(ids, 5, 'goals')


@pytest.mark.parametrize(
    ('starts', 'goals', 'expected'),
    [
        ([1, 2], [3, 4], ([1, 2], [3, 4])),
        (1, [3, 4], ([1, 1], [3, 4])),
        ([1, 2], torch.tensor(3), ([1, 2], [3, 3])),
        (np.int64(1), 2, ([1], [2])),
        ([1], 2, ([1], [2])),
        (1, [], ([], [])),
        ([], [], ([], [])),
    ],
)
def test_as_queries(starts, goals, expected):
    start, goal = as_queries(starts, goals, 5)
    assert (start.tolist(), goal.tolist()) == expected
    assert start.is_contiguous() and goal.is_contiguous()


def test_repeated_single_id_is_writable():
    start, _ = as_queries(1, [2, 3], 5)
    start[0] = 4
    assert start.tolist() == [4, 1]


@pytest.mark.parametrize(
    ('starts', 'goals', 'message'),
    [
        ([1, 2], [3], 'same length .*got 2 and 1'),
        ([1], [2, 3], 'same length .*got 1 and 2'),
        ([5], [0], r'starts\[0\] = 5'),
        ([0], [-1], r'goals\[0\] = -1'),
    ],
)
def test_bad_queries(starts, goals, message):
    with pytest.raises(BCMError, match=message):
        as_queries(starts, goals, 5)

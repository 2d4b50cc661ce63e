from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bcm_pyg import BCMError
from bcm_pyg.utils import Processes


def one_of(rank: int, size: int) -> Processes:
    """A process of a group that sends nothing."""
    processes = Processes()
    processes.rank, processes.size = rank, size
    return processes


def test_alone() -> None:
    processes = Processes()
    assert (processes.rank, processes.size, processes.leads) == (0, 1, True)
    assert processes.share(7) == slice(0, 7)
    assert processes.positions(7) is None
    value = torch.tensor([[1.0, 2.0]])
    for same in (
        processes.total(value),
        processes.most(value),
        processes.from_leader(value),
        processes.gather(value, dim=1),
        processes.divided(lambda column: column[None], value[0]),
    ):
        assert torch.equal(same, value)
    assert processes.leaders_numbers([1.5, 2]) == [1.5, 2]


@given(num=st.integers(0, 40), size=st.integers(1, 9))
def test_shares_are_disjoint_and_even(num: int, size: int) -> None:
    shares = [
        list(range(num))[one_of(rank, size).share(num)] for rank in range(size)
    ]
    assert sum(shares, []) == list(range(num))
    lengths = [len(share) for share in shares]
    assert max(lengths) - min(lengths) <= 1


@given(num=st.integers(1, 40), size=st.integers(2, 9))
def test_positions_are_as_many_on_each(num: int, size: int) -> None:
    parts = [one_of(rank, size).positions(num) for rank in range(size)]
    assert all(part is not None for part in parts)
    lists = [part.tolist() for part in parts if part is not None]
    assert len({len(part) for part in lists}) == 1
    assert sum(lists, [])[:num] == list(range(num))
    assert len(lists[0]) == -(-num // size)


def test_bad_arguments() -> None:
    with pytest.raises(BCMError, match='init_process_group'):
        Processes(True)

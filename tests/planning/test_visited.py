from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bcm_pyg.planning import visited as visited_module
from bcm_pyg.planning import visited_map
from bcm_pyg.planning.visited import BUCKET, Visited, VisitedSets, _hash
from bcm_pyg.planning.visited_map import VisitedMap

CPU = torch.device('cpu')


def every_membership(
    visited: Visited, nodes: list[int], num_rows: int
) -> list[set[int]]:
    """Reads the sets out again, by asking for all nodes in all rows."""
    found = visited.contains(visited.rows()[:, None], torch.tensor(nodes))
    assert found.shape == (num_rows, len(nodes))
    found = found.tolist()
    return [
        {node for node, here in zip(nodes, line, strict=True) if here}
        for line in found
    ]


def test_visited_sets() -> None:
    visited = VisitedSets(2, CPU)
    assert visited.num_rows == 2
    visited.add(torch.tensor([0, 1]), torch.tensor([5, 6]))
    visited.add(torch.tensor([1]), torch.tensor([5]))
    row, node = torch.tensor([0, 0, 1, 1, 1]), torch.tensor([5, 6, 5, 6, 0])
    assert visited.contains(row, node).tolist() == [
        True,
        False,
        True,
        True,
        False,
    ]


def test_nothing_is_in_empty_sets() -> None:
    visited = VisitedSets(3, CPU)
    assert every_membership(visited, list(range(40)), 3) == [set()] * 3
    nothing = torch.empty(0, dtype=torch.long)
    assert visited.contains(nothing, nothing).tolist() == []


@pytest.mark.parametrize('max_entries', [1, 40, 2**20])
def test_growth_over_several_doublings(
    max_entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visited_module, 'MAX_ENTRIES', max_entries)
    visited, expected = VisitedSets(3, CPU), [set(), set(), set()]
    widths = {visited._table.size(1)}
    for step in range(70):
        node = [step, 2000 - 7 * step, 2**25 * step]  # the last collide
        visited.add(torch.arange(3), torch.tensor(node))
        for row in range(3):
            expected[row].add(node[row])
        widths.add(visited._table.size(1))
        assert (
            2 * (step + 1) <= visited._table.size(1) <= max(16, 4 * (step + 1))
        )
    assert len(widths) >= 4
    nodes = sorted(set.union(*expected) | set(range(300)))
    assert every_membership(visited, nodes, 3) == expected


def test_keep_reorders_and_forgets() -> None:
    visited = VisitedSets(4, CPU)
    for offset in (0, 100):
        visited.add(torch.arange(4), torch.arange(4) + offset)
    visited.keep(torch.tensor([3, 1]))
    assert visited.num_rows == 2
    nodes = [*range(4), *range(100, 104)]
    assert every_membership(visited, nodes, 2) == [{3, 103}, {1, 101}]
    visited.add(torch.tensor([1]), torch.tensor([2]))
    assert every_membership(visited, nodes, 2) == [{3, 103}, {1, 101, 2}]


def test_full_buckets_run_over() -> None:
    # All in the last of any number of buckets, so that they go round to the
    # first; and they must be found again after each doubling.
    last = (_hash(torch.arange(10_000)) % 64 == 63).nonzero().squeeze(1)
    nodes = last[: 5 * BUCKET].tolist()
    assert len(nodes) == 5 * BUCKET
    others = [n for n in range(1000) if n not in nodes]
    visited = VisitedSets(2, CPU)
    for count, node in enumerate(nodes, start=1):
        pair = torch.tensor([node, others[count]])
        visited.add(visited.rows(), pair)
        every = nodes + others
        assert every_membership(visited, every, 2) == [
            set(nodes[:count]),
            set(others[1 : count + 1]),
        ]
    assert visited._table.size(1) > 4 * BUCKET


def make_sets(num_rows: int, num_nodes: int) -> VisitedSets:
    return VisitedSets(num_rows, CPU)


def make_map(num_rows: int, num_nodes: int) -> VisitedMap:
    return VisitedMap(num_rows, num_nodes, CPU)


def make_packed(num_rows: int, num_nodes: int) -> VisitedMap:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visited_map, 'SMALL_BYTES', 0)
        packed = make_map(num_rows, num_nodes)
    assert packed._bytes.numel() == VisitedMap.num_bytes(num_rows, num_nodes)
    return packed


@pytest.mark.parametrize('make', [make_sets, make_map, make_packed])
@settings(deadline=None, max_examples=30)
@given(st.data())
def test_as_python_sets(
    make: Callable[[int, int], Visited], data: st.DataObject
) -> None:
    num_rows = data.draw(st.integers(1, 4))
    stride = data.draw(st.sampled_from([1, 7, 16, 4096]))
    nodes = [stride * node for node in range(20)]
    visited = make(num_rows, 20 * stride)
    expected: list[set[int]] = [set() for _ in range(num_rows)]
    for _ in range(data.draw(st.integers(1, 40))):
        rows = data.draw(
            st.lists(
                st.integers(0, num_rows - 1), unique=True, max_size=num_rows
            )
        )
        added = [data.draw(st.sampled_from(nodes)) for _ in rows]
        visited.add(
            visited.rows()[torch.tensor(rows, dtype=torch.long)],
            torch.tensor(added, dtype=torch.long),
        )
        for row, node in zip(rows, added, strict=True):
            expected[row].add(node)
    assert visited.num_rows == num_rows
    assert every_membership(visited, nodes, num_rows) == expected
    kept = data.draw(
        st.lists(st.integers(0, num_rows - 1), unique=True, min_size=1)
    )
    row = visited.keep(visited.rows()[torch.tensor(kept)])
    assert visited.num_rows == len(kept)
    found = visited.contains(row[:, None], torch.tensor(nodes))
    assert found.tolist() == [
        [node in expected[row] for node in nodes] for row in kept
    ]
    visited.add(row, torch.full_like(row, nodes[3]))
    assert visited.contains(row, torch.full_like(row, nodes[3])).all()


def test_map_of_nobody() -> None:
    visited = VisitedMap(0, 7, CPU)
    assert visited.num_rows == 0
    assert visited.rows().tolist() == []
    assert visited.contains(visited.rows(), visited.rows()).tolist() == []
    visited.add(visited.rows(), visited.rows())

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bcm_pyg import BCMError
from bcm_pyg.nn.encoders.parts.coincident import (
    CoincidentCodes,
    CoincidentRows,
    occupation_order,
    visible_positions,
)

PLACES = torch.tensor([[0, 0], [1, 0], [0, 0], [2, 2], [0, 0], [1, 0]])


def test_occupation_order() -> None:
    assert occupation_order(PLACES).tolist() == [0, 0, 1, 0, 2, 1]
    assert occupation_order(PLACES.float() / 3).tolist() == [0, 0, 1, 0, 2, 1]
    assert occupation_order(torch.rand(9, 3)).tolist() == [0] * 9


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1))
def test_occupation_order_against_a_loop(places: list[tuple]) -> None:
    expected = [places[:node].count(place) for node, place in enumerate(places)]
    assert occupation_order(torch.tensor(places)).tolist() == expected


def test_rows_go_to_all_but_the_first_at_a_place() -> None:
    rows = CoincidentRows.from_positions(PLACES, channels=3)
    assert rows is not None
    assert str(rows) == 'CoincidentRows(num_rows=3, channels=3)'
    assert rows.nodes.tolist() == [2, 4, 5]
    out = rows(torch.arange(6))
    assert torch.equal(out[[2, 4, 5]], rows.rows)
    assert out[[0, 1, 3]].tolist() == [[0.0] * 3] * 3
    assert torch.equal(rows(torch.tensor([5, 0, 5])), out[[5, 0, 5]])


def test_rows_start_distinct_and_small() -> None:
    rows = CoincidentRows.from_positions(torch.zeros(50, 2), channels=4)
    assert rows is not None
    assert rows.rows.shape == (49, 4)
    assert rows.rows.unique(dim=0).size(0) == 49
    assert float(rows.rows.detach().abs().max()) < 1
    torch.manual_seed(1)
    before = rows.rows.detach().clone()
    rows.reset_parameters()
    assert not torch.equal(rows.rows, before)


def test_distinct_places_need_no_rows() -> None:
    assert CoincidentRows.from_positions(torch.rand(9, 2), channels=4) is None


def test_gradients_go_to_the_nodes_asked_for() -> None:
    rows = CoincidentRows.from_positions(PLACES, channels=2)
    assert rows is not None
    rows(torch.tensor([0, 4])).sum().backward()
    assert rows.rows.grad is not None
    assert rows.rows.grad.tolist() == [[0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize(('num_rows', 'channels'), [(0, 4), (3, 0), (-1, 1)])
def test_coincident_errors(num_rows: int, channels: int) -> None:
    with pytest.raises(BCMError, match='at least one of at least one channel'):
        CoincidentRows(num_rows, channels)


def test_codes_number_the_nodes_at_a_place() -> None:
    codes = CoincidentCodes.from_positions(PLACES)
    assert codes is not None
    assert str(codes) == 'CoincidentCodes(num_nodes=3, num_codes=2)'
    code, found = codes(torch.arange(6))
    assert found.tolist() == [False, False, True, False, True, True]
    assert code[found].tolist() == [0, 1, 0]
    assert list(codes.parameters()) == []
    assert CoincidentCodes.from_positions(torch.rand(9, 2)) is None
    with pytest.raises(BCMError, match='no more than these nodes'):
        CoincidentCodes(2, 3)


def test_places_as_tables_see_them() -> None:
    place = torch.tensor([[0.0], [1e-9], [0.5], [0.5 + 1e-4], [1.0]])
    assert occupation_order(place).tolist() == [0] * 5
    seen = visible_positions(place, [513])
    assert occupation_order(seen).tolist() == [0, 1, 0, 0, 0]


def test_occupation_order_sorts_each_axis_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(torch, 'unique')  # 1.3 s for 230,000 nodes
    assert occupation_order(PLACES).tolist() == [0, 0, 1, 0, 2, 1]

import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError
from bcm_pyg.graph import as_graph
from bcm_pyg.graph.labels import as_node_id
from bcm_pyg.graph.names import Names

NAME = st.one_of(
    st.text(max_size=3),
    st.integers(-5, 5),
    st.floats(-2, 2, allow_nan=False),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.tuples(st.tuples(st.integers(0, 2)), st.tuples(st.integers(0, 2))),
)


def names_of(*names: object) -> Names:
    return Names(Data(num_nodes=len(names), node_id=as_node_id(names)))


@given(st.lists(NAME, min_size=1, unique=True))
def test_every_name_is_found(names: list) -> None:
    """Alone, and in lists, whatever the other names are."""
    known = names_of(*names)
    assert len(known) == len(names)
    for node, name in enumerate(names):
        assert known.node(name) == node
        assert known.is_one(name) and known.nodes(name).tolist() == [node]
    assert known.nodes(names).tolist() == list(range(len(names)))
    assert not known.is_one(names) and known.nodes([]).tolist() == []


def test_what_names_may_come_in() -> None:
    pandas = pytest.importorskip('pandas')
    known = names_of(10, 20, 30)
    for names in (
        [30, 10],
        (30, 10),
        np.array([30, 10]),
        torch.tensor([30, 10]),
        pandas.Series([30, 10]),
        (x for x in (30, 10)),
    ):
        assert known.nodes(names).tolist() == [2, 0]
    for name in (20, np.int32(20), np.array(20), torch.tensor(20)):
        assert known.is_one(name) and known.node(name) == 1
    cells = Names(Data(num_nodes=2, node_id=torch.tensor([[0, 1], [2, 3]])))
    assert cells.of == [(0, 1), (2, 3)]
    assert cells.nodes((2, 3)).tolist() == [1]
    assert cells.nodes(np.array([[2, 3], [0, 1]])).tolist() == [1, 0]


@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True),
        st.integers(-(2**63), 2**63 - 5).flatmap(
            lambda first: st.permutations(range(first, first + 4))
        ),
    ),
    st.data(),
)
def test_many_numbers_are_found_as_one_by_one(names: list, draw) -> None:
    known = names_of(*names)
    asked = draw.draw(st.lists(st.sampled_from(names), max_size=9))
    wanted = [known.node(name) for name in asked]
    numbers = np.array(asked, np.int64)
    for same in (asked, numbers, torch.from_numpy(numbers)):
        found = known.nodes(same)
        assert found.tolist() == wanted and found.dtype == np.int64
    other = draw.draw(st.integers().filter(lambda x: x not in names))
    with pytest.raises(BCMError, match=rf'(^|\] = ){other} is not a node'):
        known.nodes([*asked, other])


def test_numbers_beyond_those_of_arrays() -> None:
    known = names_of(2**70, 5, -1)
    assert known.nodes([5, 2**70]).tolist() == [1, 0]
    few = names_of(7, 5, -1)
    with pytest.raises(
        BCMError, match=r'names\[1\] = 1180591620717411303424 is not'
    ):
        few.nodes([5, 2**70])
    with pytest.raises(BCMError, match='is not a node'):
        few.nodes([5, [7]])
    # As in a dictionary, 5.0 and 5 are one name.
    assert few.nodes([5.0, 7]).tolist() == [1, 0]
    assert few.nodes(np.array([5, 7], np.uint8)).tolist() == [1, 0]


@pytest.mark.parametrize(
    ('names', 'asked', 'match'),
    [
        (
            ('Ayr', 'Deal'),
            'Dael',
            "type str, such as 'Ayr' or 'Deal'; .* 'Deal'",
        ),
        (('Ayr', 'Deal'), 0, '0 is not a node: names are of type str'),
        ((7, 8), '8', 'type int, such as 7 or 8; did you mean 8'),
        (('7', '8'), 8, "did you mean '8'"),
        ((7, 8), [7], r'\[7\] is not a node'),
        ((7, 8), None, 'None is not a node'),
        ((7, 8), float('nan'), 'nan is not a node'),
    ],
)
def test_unknown_names(names: tuple, asked: object, match: str) -> None:
    with pytest.raises(BCMError, match=match):
        names_of(*names).node(asked)


def test_names_must_differ() -> None:
    with pytest.raises(BCMError, match='same label'):
        Names(Data(num_nodes=2, node_id=torch.tensor([5, 5])))


def test_names_that_were_left_out() -> None:
    data = Data(num_nodes=2, node_id=as_node_id(['a', 'b']), dropped_nodes=3)
    with pytest.raises(BCMError, match='3 nodes outside of the largest'):
        Names(data).node('x')
    data.dropped_nodes = 1
    with pytest.raises(BCMError, match=': 1 node outside of the largest'):
        Names(data).node('x')


@pytest.mark.parametrize(
    ('name', 'match'),
    [
        ('0,1', r'did you mean \(0, 1\)\?'),
        ('(0, 1)', r'did you mean \(0, 1\)\?'),
        ([0, 1], r'did you mean \(0, 1\)\?'),
        (np.array([0, 1]), r'did you mean \(0, 1\)\?'),
        ((1, 1), 'this cell is blocked, or cut off'),
        ([1, 1], 'this cell is blocked, or cut off'),
        ((0, 3), r'the grid has 3 x 3 cells$'),
        ((-1, 0), r'the grid has 3 x 3 cells$'),
        ((0, 1, 2), r'such as \(0, 0\)'),
        (('a', 'b'), r'such as \(0, 0\)'),
        ('1,1', r'such as \(0, 0\)'),
        ('a,b', r'such as \(0, 0\)'),
        (7, r'such as \(0, 0\)'),
        ((x for x in (0, 1)), r'such as \(0, 0\)'),
    ],
)
def test_cells_of_a_grid(name: object, match: str) -> None:
    wall = np.zeros((3, 3), dtype=bool)
    wall[1, 1] = True
    names = Names(as_graph(wall))
    with pytest.raises(BCMError, match=match):
        names.node(name)


def test_long_names_are_not_compared() -> None:
    names = names_of(*(letter * 10**5 for letter in 'ab'))
    began = time.process_time()
    with pytest.raises(BCMError, match='is not a node') as told:
        names.node('a' * 10**5 + 'b' * 10**5)
    assert time.process_time() - began < 1 and len(str(told.value)) < 300


def test_a_mask_is_no_list_of_names() -> None:
    mask = np.array([True, False])
    for names in (names_of(0, 1), Names(Data(num_nodes=2))):
        for given_ in (True, mask, torch.from_numpy(mask), mask.tolist()):
            with pytest.raises(BCMError, match='not a mask'):
                names.nodes(given_)
    assert names_of(True, False).nodes([False, True]).tolist() == [1, 0]


def test_an_unknown_name_among_many_is_told_soon() -> None:
    many = names_of(*(f'{k:06d}-street' for k in range(60_000)))
    began = time.process_time()
    with pytest.raises(BCMError, match='did you mean .000123-street'):
        many.node('000123-stret')
    assert time.process_time() - began < 2

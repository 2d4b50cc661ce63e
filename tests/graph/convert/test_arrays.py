import copy
import zipfile

import numpy as np
import pytest
import torch
from helpers import assert_same_data, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import from_arrays, read_npz

POS = [[0.0, 0.5], [3.0, 4.5], [0.0, 1.75]]
EDGES = [[0, 2, 1, 0], [1, 0, 1, 1]]
COST = [4.0, 2.0, 9.0, 3.0]


def form(value: object, kind: str) -> object:
    if kind == 'list':
        return np.asarray(value).tolist()
    array = np.array(value)
    if kind == 'swapped':
        return array.astype(array.dtype.newbyteorder('>'))
    return torch.from_numpy(array) if kind == 'tensor' else array


@pytest.mark.parametrize('kind', ['list', 'array', 'tensor', 'swapped'])
def test_forms(kind):
    given = [form(value, kind) for value in (POS, EDGES, COST)]
    before = copy.deepcopy(given)
    data = from_arrays(*given, edge_lanes=form([1, 2, 3, 4], kind))
    assert data.edge_index.tolist() == [[0, 2], [1, 0]]
    assert data.edge_cost.tolist() == [3.0, 2.0]
    assert data.edge_lanes.tolist() == [4, 2]
    assert (data.pos + data.pos_origin).tolist() == POS
    for one, two in zip(given, before, strict=True):
        assert np.array_equal(one, two)


@settings(max_examples=50, deadline=None)
@given(raw=random_graphs())
def test_same_as_planning_graph(raw):
    data = from_arrays(
        raw.pos.numpy(), raw.edge_index.numpy(), raw.edge_attr.numpy()
    )
    assert_same_data(data, planning_graph(raw))
    torch.testing.assert_close(data.pos.double() + data.pos_origin, raw.pos)


def test_everything_is_copied():
    pos = np.zeros((3, 2), dtype=np.float32)
    ids = torch.tensor([5, 6, 7])
    data = from_arrays(pos, EDGES, COST, node_id=ids, edge_x=np.ones(4))
    pos += 1
    ids += 1
    assert data.pos.tolist() == [[0, 0]] * 3
    assert data.node_id.tolist() == [5, 6, 7]
    assert 'pos_origin' not in data  # float32 is not centred


def test_extras():
    data = from_arrays(
        POS,
        EDGES,
        COST,
        node_id=['a', ('b', 1), 3],
        lonlat=np.ones((3, 2)),
        name=np.array(['x', 'y', 'z']),
        edge_street=np.array(['a', 'b', 'c', 'd']),
        edge_pair_index=np.array([[0, 1, 2, 3], [4, 5, 6, 7]]),
        note='from a test',
        num_nodes=3,
    )
    assert data.node_id.tolist() == ['a', ('b', 1), 3]
    assert data.lonlat.shape == (3, 2)
    assert data.name.tolist() == ['x', 'y', 'z']
    assert data.edge_street.tolist() == ['d', 'b']
    assert data.edge_pair_index.tolist() == [[3, 1], [7, 5]]
    assert data.note == 'from a test'


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'pos': [[0.0], [1.0, 2.0], [3.0]]}, 'pos is not an array'),
        ({'pos': [['a'], ['b'], ['c']]}, 'pos must hold numbers'),
        ({'pos': 5.0}, r'pos must have shape \[num_nodes, axes\]'),
        ({'pos': [[0.0, np.nan]] * 3}, 'pos must be finite'),
        ({'edge_index': np.zeros((4, 2), int)}, r'shape \[2, E\]'),
        ({'edge_index': 7}, r'shape \[2, E\]'),
        ({'edge_index': np.zeros((2, 4))}, 'type long'),
        ({'edge_index': [[0, 1, 2, 3], [0, 0, 0, 0]]}, 'edge 3 is'),
        ({'edge_cost': [1.0, 2.0]}, '2 entries for 4 edges'),
        ({'edge_cost': [1.0, 2.0, 3.0, -1.0]}, 'edge 3'),
        ({'edge_cost': None}, 'edge_cost must hold numbers'),
        ({'node_id': [1, 2]}, 'node_id has 2 entries for 3 nodes'),
        ({'lanes': [1, 2]}, r'one entry per node \(3\) or per edge \(4\)'),
        ({'lanes': [[1], [2, 3]]}, 'lanes is not an array'),
        ({'num_nodes': 4}, 'num_nodes is 4'),
        ({'edge_big': np.full(4, 2**63, np.uint64)}, 'edge_big reaches'),
    ],
)
def test_errors(change, message):
    arrays = {'pos': POS, 'edge_index': EDGES, 'edge_cost': COST}
    with pytest.raises(BCMError, match=message):
        from_arrays(**(arrays | change))


# Files -----------------------------------------------------------------------


def save(path, **change: object):
    arrays = {'pos': POS, 'edge_index': EDGES, 'edge_cost': COST} | change
    np.savez_compressed(
        path, **{k: v for k, v in arrays.items() if v is not None}
    )
    return path


@settings(max_examples=25, deadline=None)
@given(raw=random_graphs(), text=st.booleans())
def test_round_trip(tmp_path_factory, raw, text):
    path = tmp_path_factory.mktemp('npz') / 'graph.npz'
    ids = np.arange(len(raw.pos)) * 3
    ids = ids.astype(str) if text else ids
    arrays = (raw.pos, raw.edge_index, raw.edge_attr)
    save(
        path,
        pos=arrays[0],
        edge_index=arrays[1],
        edge_cost=arrays[2],
        node_id=ids,
        edge_speed=np.arange(raw.num_edges),
        meta='a note',
        other=np.zeros((99, 2)),
    )
    want = from_arrays(
        *arrays,
        node_id=ids,
        edge_speed=np.arange(raw.num_edges),
        meta='a note',
    )
    assert_same_data(read_npz(path), want)


def test_another_cost(tmp_path):
    path = save(tmp_path / 'a.npz', edge_length=[1.0, 5.0, 1.0, 2.0])
    data = read_npz(path, 'edge_length')
    assert data.edge_cost.tolist() == [1.0, 5.0]
    assert data.edge_length.tolist() == [1.0, 5.0]
    path = save(tmp_path / 'b.npz', edge_cost=None, edge_weight=COST)
    for cost in ('edge_weight', None):
        assert read_npz(path, cost).edge_cost.tolist() == [3.0, 2.0]
    with pytest.raises(BCMError, match=r"no 'time': it has .*cost='...'"):
        read_npz(path, 'time')
    path = save(tmp_path / 'c.npz', edge_cost=None)
    with pytest.raises(BCMError, match=r"has no 'edge_cost' or .*'edge_attr'"):
        read_npz(path)


@pytest.mark.parametrize('name', ['node_id', 'lonlat', 'coord'])
def test_names_and_places_of_other_nodes_are_no_extras(tmp_path, name):
    path = save(tmp_path / 'a.npz', **{name: np.arange(18).reshape(9, 2)})
    with pytest.raises(BCMError, match=rf'a\.npz: {name} must have one entry'):
        read_npz(path)
    path = save(tmp_path / 'a.npz', **{name: np.zeros((4, 2))})  # of edges
    with pytest.raises(BCMError, match=rf'a\.npz: {name} must have one entry'):
        read_npz(path)
    path = save(tmp_path / 'a.npz', **{name: np.array(7)})
    with pytest.raises(BCMError, match=rf'a\.npz: {name} must have one entry'):
        read_npz(path)


def test_costs_of_several_columns_are_told(tmp_path):
    columns = np.ones((4, 2))
    path = save(tmp_path / 'a.npz', edge_cost=None, edge_attr=columns)
    with pytest.raises(BCMError, match="'edge_attr' must hold one number per"):
        read_npz(path)


def test_ids_must_differ():
    with pytest.raises(
        BCMError, match='several nodes .5 also belongs to node 2'
    ):
        from_arrays(POS, EDGES, COST, node_id=[5, 6, 5])


def test_bad_arrays_name_the_file(tmp_path):
    path = save(tmp_path / 'a.npz', pos=np.ones((3, 2)) * np.nan)
    with pytest.raises(BCMError, match=r'a\.npz: pos must be finite'):
        read_npz(path)


def npy(header: bytes) -> bytes:
    size = len(header).to_bytes(2, 'little')
    return b'\x93NUMPY\x01\x00' + size + header


@pytest.mark.parametrize(
    'entry',
    [
        npy(
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,)}"
        ),
        npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}"),
        npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"),
        npy(b"__import__('os').abort()"),
        npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': ("),
        npy(b"'''"),
        npy(b'{[]: 1}'),
        npy(b'-' * 9000 + b'1'),
        npy(b'(' * 4500),
        npy(
            b"{'descr': '<f8', 'fortran_order': False, "
            b"'shape': (0, 99999999999999999999999)}"
        ),
        npy(
            b"{'descr': [('a', '<f8', (2, 'x'))], 'fortran_order': False, "
            b"'shape': (4,)}"
        ),
        b'no array',
        b'',
    ],
)
def test_hostile_arrays(tmp_path, entry):
    path = tmp_path / 'a.npz'
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('pos.npy', entry)
    with pytest.raises(BCMError, match='cannot read arrays'):
        read_npz(path)


def test_bad_arguments_of_read_npz(tmp_path):
    path = save(tmp_path / 'a.npz')
    for cost in ('pos', 'edge_index'):
        with pytest.raises(BCMError, match=rf"a\.npz: '{cost}' must hold one"):
            read_npz(path, cost)
    with pytest.raises(BCMError, match='cost must be the name of an array'):
        read_npz(path, np.ones(4))
    for bad in (None, 3):
        with pytest.raises(BCMError, match='path must name a file'):
            read_npz(bad)


def test_pickled_objects_are_refused(tmp_path):
    path = tmp_path / 'a.npz'
    np.savez(path, pos=np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(BCMError, match='cannot read arrays'):
        read_npz(path)


def test_files_that_unpack_to_too_much(tmp_path):
    path = save(tmp_path / 'a.npz', note=np.zeros(10_000))
    with pytest.raises(BCMError, match='more than 50,000 bytes'):
        read_npz(path, max_bytes=50_000)
    read_npz(path, max_bytes=10**6)
    # A header may take most of a file, too.
    entry = b'\x93NUMPY\x02\x00' + (2**20).to_bytes(4, 'little') + bytes(2**20)
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('pos.npy', entry)
    with pytest.raises(BCMError, match='more than 500,000 bytes'):
        read_npz(path, max_bytes=500_000)


@pytest.mark.parametrize(
    'content', [b'', b'PK', b'not a zip file', b'\x80\x04N.']
)
def test_no_archives(tmp_path, content):
    path = tmp_path / 'a.npz'
    path.write_bytes(content)
    with pytest.raises(BCMError, match='cannot read arrays'):
        read_npz(path)
    with pytest.raises(BCMError, match='there is no file'):
        read_npz(tmp_path / 'b.npz')


def test_truncated_files(tmp_path):
    path = save(tmp_path / 'a.npz')
    content = path.read_bytes()
    for size in range(0, len(content), 41):
        path.write_bytes(content[:size])
        with pytest.raises(BCMError):
            read_npz(path)


def test_damaged_files(tmp_path):
    """Whatever byte is wrong: a graph, or an error that says so."""
    path = save(tmp_path / 'a.npz')
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:
            data = read_npz(path)
        except BCMError:
            continue
        assert isinstance(data, Data)


@pytest.mark.parametrize(
    'name',
    [
        'road/andorra',
        'road/melun',
        'road/chicago_sketch',
        'road/w_jinan',
        'other/scigrid_de',
        'terrain/jacksboro_tobler',
    ],
)
def test_real_graphs(data_dir, name):
    data = read_npz(data_dir / f'{name}.npz')
    with np.load(data_dir / f'{name}.npz') as file:
        assert data.num_edges == file['edge_index'].shape[1]
        kept = set(file.files) - {'edge_cost', 'edge_index', 'pos'}
        assert kept <= set(data.keys())
        np.testing.assert_allclose(
            data.pos.double() + data.pos_origin, file['pos'], atol=0.01
        )
        if 'node_id' in file.files:
            assert data.node_id.tolist() == file['node_id'].tolist()
    with np.load(data_dir / f'{name}.queries.npz') as queries:
        plan = Dijkstra(data)(queries['source'][:20], queries['target'][:20])
        np.testing.assert_allclose(
            plan.cost, queries['optimal_cost'][:20], rtol=1e-5
        )


def test_names_as_bytes(tmp_path):
    names = np.array([text.encode() for text in ('Ayr', 'Köln', '')])
    data = read_npz(save(tmp_path / 'a.npz', node_id=names))
    assert data.node_id.tolist() == ['Ayr', 'Köln', '']
    path = save(tmp_path / 'a.npz', node_id=np.array([b'a', b'b', b'\xff']))
    with pytest.raises(BCMError, match=r'a\.npz: node_id is no UTF-8'):
        read_npz(path)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('lonlat', np.array(['a', 'b', 'c'])),
        ('blocked', np.array(['a', 'b', 'c'])),
        ('dropped_nodes', np.array('x')),
        ('dropped_nodes', np.array(-1)),
        ('grid_size', np.array(5)),
    ],
)
def test_attributes_that_are_not_what_they_are_called(tmp_path, name, value):
    path = save(tmp_path / 'a.npz', **{name: value})
    with pytest.raises(
        BCMError, match=rf'a\.npz: {name} is of a type or shape'
    ):
        read_npz(path)

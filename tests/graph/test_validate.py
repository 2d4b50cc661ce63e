"""Every bad graph: the message names the attribute and the first offender."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData

from bcm_pyg import BCM, BCMError, planning_graph

INF, NAN = float('inf'), float('nan')


def good(**attributes: object) -> Data:
    """Three nodes 0 -> 1 -> 2 -> 0, changed by what is given."""
    options = {
        'pos': torch.tensor([[0.0, 0.5], [1.0, 0.0], [2.0, 0.7]]),
        'edge_index': torch.tensor([[0, 1, 2], [1, 2, 0]]),
        'edge_cost': torch.tensor([1.0, 2.0, 3.0]),
    }
    options |= attributes
    return Data(**{k: v for k, v in options.items() if v is not None})


def refused(data: object, message: str, **options: object) -> None:
    with pytest.raises(BCMError, match=message):
        planning_graph(data, **options)


def test_the_good_one_is_good():
    assert planning_graph(good()).edge_cost.tolist() == [1.0, 2.0, 3.0]


# What is no single plain graph -----------------------------------------------


def test_hetero_data():
    data = HeteroData()
    data['a'].pos = torch.rand(2, 2)
    refused(data, r'got a HeteroData.*to_homogeneous\(\)')


def test_batch():
    refused(Batch.from_data_list([good(), good()]), r'got a Batch.*batch\[i\]')


def test_element_of_a_batch_is_fine():
    batch = Batch.from_data_list([good(), good()])
    assert planning_graph(batch[1]).edge_cost.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize('data', [None, {}, torch.rand(3, 2), 'graph'])
def test_not_a_data(data):
    name = type(data).__name__
    refused(data, rf'expected a torch_geometric.data.Data \(got {name}\)')


def test_adj_t():
    adj_t = torch.eye(3).to_sparse()
    refused(
        good(edge_index=None, adj_t=adj_t),
        'has adj_t but no edge_index: pass edge_index',
    )


def test_no_edge_index():
    refused(good(edge_index=None), 'data has no edge_index')


# Positions -------------------------------------------------------------------


def test_no_pos():
    refused(good(pos=None), 'no coordinates found: set data.pos')


def test_no_such_pos():
    refused(good(), "no attribute 'xyz' to take coordinates from", pos='xyz')


@pytest.mark.parametrize('value', [NAN, INF, -INF])
def test_pos_not_finite(value):
    data = good()
    data.pos[1:, 1] = value
    refused(data, r'pos must be finite \(node 1 is at \[1.0, -?(nan|inf)\]')


@pytest.mark.parametrize(
    'shape', [(3,), (3, 2, 1), (0, 2), (3, 0), ()], ids=str
)
def test_pos_of_wrong_shape(shape):
    refused(good(pos=torch.ones(shape)), r'pos must have shape \[num_nodes, ax')


def test_pos_of_numpy():
    pos = np.eye(3)
    for data in (
        planning_graph(good(pos=pos)),
        planning_graph(good(), pos=pos),
    ):
        assert (data.pos + data.pos_origin).tolist() == pos.tolist()
    message = r'pos must be a tensor or an array \(got ndarray\)'
    refused(good(), message, pos=pos.astype(object))


def test_pos_complex():
    refused(good(pos=torch.ones(3, 2) * 1j), 'pos must be real .*complex64')


def test_pos_bool():
    pos = torch.ones(3, 2, dtype=torch.bool)
    refused(good(pos=pos), 'pos must hold numbers .*bool')


def test_pos_sparse():
    pos = torch.ones(3, 2).to_sparse()
    refused(good(pos=pos), 'pos must be a dense tensor .*sparse_coo')


def test_pos_too_large():
    pos = torch.tensor([[0.0], [1.0], [1e300]], dtype=torch.double)
    refused(good(pos=pos), r'pos is too large for float32 \(up to 1e\+300\)')


def test_num_nodes_disagrees():
    refused(good(num_nodes=4), 'pos has 3 nodes, but num_nodes is 4')


# Edges -----------------------------------------------------------------------


@pytest.mark.parametrize('dtype', [torch.float32, torch.float64, torch.bool])
def test_edge_index_of_wrong_type(dtype):
    index = good().edge_index.to(dtype)
    refused(
        good(edge_index=index), f'edge_index must be of type long .*{dtype}'
    )


def test_edge_index_complex():
    index = good().edge_index.to(torch.complex64)
    refused(good(edge_index=index), 'edge_index must be real .*complex64')


def test_edge_index_of_numpy():
    index = good().edge_index.numpy()
    data = planning_graph(good(edge_index=index))
    assert (
        data.edge_index.tolist() == planning_graph(good()).edge_index.tolist()
    )
    refused(good(edge_index=[[0], [1]]), 'must be a tensor or an array .*list')


def test_edge_index_sparse():
    index = good().edge_index.to_sparse()
    refused(good(edge_index=index), 'edge_index must be a dense tensor')


@pytest.mark.parametrize('shape', [(3, 2), (6,), (2, 3, 1)], ids=str)
def test_edge_index_of_wrong_shape(shape):
    index = torch.zeros(shape, dtype=torch.long)
    refused(good(edge_index=index), r'edge_index must have shape \[2, E\]')


@pytest.mark.parametrize(
    ('index', 'message'),
    [
        ([[0, 1, 5], [1, 3, 0]], r'edge 1 is \[1, 3\], .* \[0, 3\)'),
        ([[0, 1, 2], [1, 2, -1]], r'edge 2 is \[2, -1\]'),
    ],
)
def test_ids_out_of_range(index, message):
    refused(good(edge_index=torch.tensor(index)), f'edge_index: {message}')


@pytest.mark.parametrize('num_edges', [0, 3])
def test_nothing_but_self_loops(num_edges):
    loops = torch.arange(num_edges).repeat(2, 1)
    data = good(edge_index=loops, edge_cost=torch.ones(num_edges))
    refused(data, r'the graph has no edges \(self-loops do not count\)')


# Costs -----------------------------------------------------------------------


def test_no_cost():
    refused(
        good(edge_cost=None),
        r"no edge costs found: .*'edge_cost', 'edge_weight', 'edge_attr'.*"
        "cost='length'",
    )


def test_no_such_cost():
    refused(good(), "no attribute 'minutes' to take edge costs", cost='minutes')


def test_length_is_ambiguous():
    data = good(length=torch.ones(3))
    refused(data, 'also has an attribute of that name', cost='length')
    assert (
        planning_graph(data, cost=data.length).edge_cost.tolist() == [1.0] * 3
    )


@pytest.mark.parametrize('value', [NAN, INF, -INF, -1.0])
def test_bad_cost(value):
    data = good(edge_cost=torch.tensor([0.0, value, value]))
    refused(data, rf'edge_cost must be .*\(edge 1, \[1, 2\], costs {value}\)')


def test_negative_cost_that_underflows():
    cost = torch.tensor([1.0, -1e-60, 1.0], dtype=torch.double)
    refused(good(edge_cost=cost), r'not negative \(edge 1, .*costs -1e-60')


def test_cost_that_overflows_float32():
    cost = torch.tensor([1.0, 1.0, 1e39], dtype=torch.double)
    refused(
        good(edge_cost=cost), r'finite in float32 .*\(edge 2, .*costs 1e\+39'
    )


def test_bad_cost_of_a_self_loop_counts():
    data = good(edge_index=torch.tensor([[0, 1, 2], [1, 1, 0]]))
    data.edge_cost[1] = -1
    refused(data, r'edge_cost must be .*\(edge 1, \[1, 1\]')


def test_the_message_names_the_attribute_used():
    bad = torch.tensor([1.0, NAN, 1.0])
    refused(good(edge_cost=None, edge_weight=bad), 'edge_weight must be finite')
    refused(good(edge_cost=None, edge_attr=bad), 'edge_attr must be finite')
    refused(good(minutes=bad), 'minutes must be finite', cost='minutes')
    refused(good(), 'cost must be finite', cost=bad)


@pytest.mark.parametrize('shape', [(3, 2), (1, 3), (3, 1, 1), ()], ids=str)
def test_cost_of_wrong_shape(shape):
    data = good(edge_cost=None, edge_attr=torch.ones(shape))
    refused(data, r'edge_attr must have shape \[E\] or \[E, 1\]')


@pytest.mark.parametrize('length', [0, 2, 4])
def test_cost_of_wrong_length(length):
    data = good(edge_cost=torch.ones(length))
    refused(data, f'edge_cost has {length} entries for 3 edges')


def test_cost_bool():
    cost = torch.ones(3, dtype=torch.bool)
    refused(good(edge_cost=cost), 'edge_cost must hold numbers .*bool')


def test_cost_complex():
    refused(good(edge_cost=torch.ones(3) * 1j), 'edge_cost must be real')


@pytest.mark.parametrize('cost', [{1.0, 2.0}, [1.0, 1.0, 1.0]])
def test_cost_is_no_tensor(cost):
    name = type(cost).__name__
    message = rf'a tensor or an array \(got {name}\)'
    refused(good(edge_cost=cost), f'edge_cost must be {message}')
    message = f"cost must be the name .*'length', or .* in {message}"
    refused(good(), message, cost=cost)


def test_cost_of_numpy():
    cost = np.array([3, 1, 2], dtype='>f8')[::-1]
    cost.flags.writeable = False
    data = planning_graph(good(), cost=cost.astype('<f4'))
    assert sorted(data.edge_cost.tolist()) == [1, 2, 3]
    assert torch.equal(data.edge_cost, planning_graph(data).edge_cost)
    refused(good(), 'edge 1.*costs -1', cost=np.array([1.0, -1.0, 2.0]))
    refused(good(), 'cost has 2 entries for 3 edges', cost=np.ones(2))


def test_networkx_names_the_converter():
    refused(nx.DiGraph(), r'got DiGraph\): turn it into one with .*networkx')


def test_without_coordinates():
    data = good(pos=None, num_nodes=4)
    out = planning_graph(data)
    assert out.num_nodes == 4 and out.get('pos') is None
    assert out.edge_cost.tolist() == planning_graph(good()).edge_cost.tolist()
    again = planning_graph(out)
    assert again.edge_index is out.edge_index and again.keys() == out.keys()
    refused(data, 'has none', cost='length')
    refused(good(pos=None, num_nodes=0), 'num_nodes must be an int')
    refused(good(pos=None, num_nodes=2), r'node ids lie in \[0, 2\)$')
    refused(good(pos=torch.rand(2, 2)), r'in \[0, 2\), as pos has 2 rows')
    assert planning_graph(good(pos=None, x=torch.eye(5))).num_nodes == 5


# Codes -----------------------------------------------------------------------


def test_coord_negative():
    coord = torch.tensor([[0, 1], [2, -1], [-3, 0]])
    refused(good(coord=coord), r'coord must not be .*\(node 1: \[2, -1\]\)')


@pytest.mark.parametrize('dtype', [torch.float32, torch.bool])
def test_coord_of_wrong_type(dtype):
    coord = torch.ones(3, 2, dtype=dtype)
    refused(good(coord=coord), f'coord must be of type long .*{dtype}')


@pytest.mark.parametrize('shape', [(2, 2), (3,), (3, 0)], ids=str)
def test_coord_of_wrong_shape(shape):
    coord = torch.zeros(shape, dtype=torch.long)
    refused(good(coord=coord), r'coord must have shape \[3, axes\]')


def test_coord_of_numpy():
    coord = np.arange(6).reshape(3, 2)
    assert planning_graph(good(coord=coord)).coord.tolist() == coord.tolist()
    refused(good(coord=coord.astype(float)), 'coord must be of type long')


@pytest.mark.parametrize('name', ['edge_index', 'edge_cost', 'coord'])
def test_two_devices(name):
    data = good(coord=torch.zeros(3, 2, dtype=torch.long))
    data[name] = data[name].to('meta')
    refused(data, f'{name} is on meta but pos is on cpu')


# Numbers that hide others -----------------------------------------------------


def scattered(**attributes: object) -> Data:
    """A ring of 300 nodes at random places, as wide as a village."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.arange(300)
    place = 1000 * torch.rand(300, 2, generator=generator, dtype=torch.float64)
    options = {
        'pos': place,
        'edge_index': torch.stack([ids, ids.roll(1)]),
        'edge_cost': 1 + torch.rand(300, generator=generator),
    }
    return Data(**{**options, **attributes})


def test_coordinates_that_have_lost_digits():
    far = scattered().pos + torch.tensor([5e5, 6e8])
    BCM.from_data(planning_graph(scattered(pos=far)))  # centred
    BCM.from_data(scattered(pos=scattered().pos.float()))
    with pytest.warns(UserWarning, match='pos is float32.*pass float64'):
        BCM.from_data(scattered(pos=far.float()))


def test_a_node_far_away():
    pos = scattered().pos
    pos[7, 1] = 2000
    BCM.from_data(scattered(pos=pos))
    pos[7, 1] = -1e7
    with pytest.warns(UserWarning, match='node 7 at .* so far from all'):
        BCM.from_data(scattered(pos=pos))


def test_one_cost_beside_which_others_vanish():
    cost = scattered().edge_cost
    cost[5] = 1e4
    BCM.from_data(scattered(edge_cost=cost))
    cost[5] = 1e30
    with pytest.warns(UserWarning, match=r'edge \d+ costs 1e\+30, but'):
        BCM.from_data(scattered(edge_cost=cost))


def test_unsigned_numbers():
    # PyTorch has these types, but compares few of them.
    codes = np.array([[0, 1], [1, 2], [2, 0]], dtype=np.uint32)
    heights = torch.tensor([1, 2, 3]).to(torch.uint16)
    data = planning_graph(good(coord=codes, heights=heights))
    assert data.coord.tolist() == codes.tolist()
    loop = torch.tensor([[0, 0, 1, 2], [0, 1, 2, 0]])  # is dropped
    data = good(edge_index=loop, edge_cost=torch.arange(4.0))
    data.edge_level = torch.arange(4).to(torch.uint16)
    assert planning_graph(data).edge_level.tolist() == [1, 2, 3]
    data = planning_graph(good(heights=heights))
    nodes = torch.tensor([2, 0])
    assert BCM.from_data(data).project_nodes(data, nodes).size(0) == 2

import copy

import numpy as np
import pytest
import torch
from helpers import assert_same_data, random_graph, random_graphs, raw_to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import shortest_distances
from bcm_pyg.utils import Adjacency


def small(**attributes: object) -> Data:
    """Three nodes, an edge twice, a loop: 0 -> 1 (edges 0, 3), 2 -> 0, 1."""
    options = {
        'pos': torch.tensor([[0.0, 0.3], [3.0, 4.3], [0.0, 1.4]]),
        'edge_index': torch.tensor([[0, 2, 1, 0], [1, 0, 1, 1]]),
    }
    return Data(**(options | attributes))


def test_canonical_form():
    raw = small(edge_cost=torch.tensor([4.0, 2.0, 9.0, 3.0]))
    data = planning_graph(raw)
    assert sorted(data.keys()) == [
        'edge_cost',
        'edge_index',
        'num_nodes',
        'pos',
    ]
    assert data.edge_index.tolist() == [[0, 2], [1, 0]]
    assert data.edge_cost.tolist() == [3.0, 2.0]
    assert torch.equal(data.pos, raw.pos)
    assert data.num_nodes == 3
    assert data.edge_index.dtype == torch.long
    assert data.edge_cost.dtype == data.pos.dtype == torch.float32
    assert data.edge_index.is_contiguous()


@settings(max_examples=50, deadline=None)
@given(raw=random_graphs())
def test_agrees_with_networkx(raw):
    data = planning_graph(raw)
    graph = raw_to_nx(raw)
    want = sorted(graph.edges(data='weight'))
    assert data.edge_index.T.tolist() == [[i, j] for i, j, _ in want]
    assert data.edge_cost.tolist() == [cost for *_, cost in want]
    assert data.num_nodes == len(graph)


@settings(max_examples=50, deadline=None)
@given(
    raw=random_graphs(),
    dtype=st.sampled_from(
        [torch.float64, torch.float32, torch.float16, torch.int64]
    ),
    scale=st.sampled_from([0.25, 1.0, 2.0, 30.0]),
    shift=st.sampled_from([0.0, 0.25, 0.5, 1e6]),
)
def test_idempotent_and_leaves_its_input_alone(raw, dtype, scale, shift):
    shift = 0.0 if dtype == torch.float16 else shift
    raw.pos = (raw.pos.round() * scale + shift).to(dtype)
    before = copy.deepcopy(raw)
    once = planning_graph(raw)
    assert_same_data(raw, before)
    frozen = copy.deepcopy(once)
    assert_same_data(planning_graph(once), once)
    assert_same_data(once, frozen)


@settings(max_examples=50, deadline=None)
@given(raw=random_graphs(), seed=st.integers(0, 99))
def test_order_of_edges_does_not_matter(raw, seed):
    order = torch.from_numpy(
        np.random.default_rng(seed).permutation(raw.num_edges)
    )
    shuffled = Data(
        pos=raw.pos,
        edge_index=raw.edge_index[:, order],
        edge_attr=raw.edge_attr[order],
    )
    assert_same_data(planning_graph(shuffled), planning_graph(raw))


# Costs -----------------------------------------------------------------------


def test_cost_lookup_order():
    cost, weight, attr = torch.tensor([[1.0], [2.0], [3.0]]).expand(3, 4)
    raw = small(edge_attr=attr, edge_weight=weight, edge_cost=cost)
    data = planning_graph(raw)
    assert data.edge_cost.tolist() == [1.0, 1.0]
    assert data.edge_weight.tolist() == [2.0, 2.0]  # what was not used stays
    assert data.edge_attr.tolist() == [3.0, 3.0]
    del raw.edge_cost
    data = planning_graph(raw)
    assert data.edge_cost.tolist() == [2.0, 2.0]
    assert 'edge_weight' not in data and 'edge_attr' in data
    del raw.edge_weight
    data = planning_graph(raw)
    assert data.edge_cost.tolist() == [3.0, 3.0]
    assert 'edge_attr' not in data


@pytest.mark.parametrize('shape', [(4,), (4, 1)])
@pytest.mark.parametrize(
    'dtype', [torch.float64, torch.float16, torch.int32, torch.uint8]
)
def test_cost_types(shape, dtype):
    attr = torch.tensor([4, 2, 9, 3], dtype=dtype).reshape(shape)
    data = planning_graph(small(edge_attr=attr))
    assert data.edge_cost.tolist() == [3.0, 2.0]
    assert data.edge_cost.dtype == torch.float32


def test_named_cost():
    raw = small(minutes=torch.tensor([7.0, 5.0, 1.0, 6.0]))
    raw.edge_cost = torch.ones(4)
    data = planning_graph(raw, cost='minutes')
    assert data.edge_cost.tolist() == [6.0, 5.0]
    assert data.minutes.tolist() == [6.0, 5.0]


def test_cost_tensor():
    raw = small(edge_attr=torch.ones(4), cost=torch.arange(3.0))
    data = planning_graph(raw, cost=torch.tensor([[7.0], [5.0], [1.0], [6.0]]))
    assert data.edge_cost.tolist() == [6.0, 5.0]
    assert data.edge_attr.tolist() == [1.0, 1.0]
    assert data.cost.tolist() == [0.0, 1.0, 2.0]  # the user's, not the costs


def test_cost_length():
    data = planning_graph(small(), cost='length')
    assert data.edge_index.tolist() == [[0, 2], [1, 0]]
    assert data.edge_cost.tolist() == pytest.approx([5.0, 1.1], rel=1e-6)


def test_cost_length_is_taken_before_rounding():
    raw = small(
        pos=torch.tensor(
            [[4e6, 0.0], [4e6 + 0.125, 0.0], [-4e6, 0.0]], dtype=torch.double
        )
    )
    assert planning_graph(raw, cost='length').edge_cost.tolist() == [0.125, 8e6]


def test_zero_costs_are_allowed():
    data = planning_graph(small(edge_cost=torch.zeros(4)))
    assert data.edge_cost.tolist() == [0.0, 0.0]


# Edges -----------------------------------------------------------------------


def test_isolated_nodes_stay():
    raw = small(pos=torch.rand(7, 2), edge_cost=torch.ones(4))
    assert planning_graph(raw).num_nodes == 7
    raw.num_nodes = 7
    assert planning_graph(raw).num_nodes == 7


@pytest.mark.parametrize('dtype', [torch.int32, torch.int16, torch.uint8])
def test_edge_index_may_be_of_any_integer_type(dtype):
    raw = small(edge_cost=torch.ones(4))
    raw.edge_index = raw.edge_index.to(dtype)
    data = planning_graph(raw)
    assert data.edge_index.dtype == torch.long
    assert data.edge_index.tolist() == [[0, 2], [1, 0]]


def test_gradients_are_left_behind():
    raw = small(edge_cost=torch.ones(4, requires_grad=True))
    raw.pos.requires_grad_()
    data = planning_graph(raw)
    assert not data.edge_cost.requires_grad and not data.pos.requires_grad


# Further attributes ----------------------------------------------------------


def extras(num_nodes: int) -> Data:
    return small(
        pos=torch.rand(num_nodes, 2),
        edge_cost=torch.tensor([4.0, 2.0, 9.0, 3.0]),
        x=torch.arange(2.0 * num_nodes).reshape(-1, 2),
        y=torch.arange(num_nodes),
        train_mask=torch.arange(num_nodes) > 0,
        edge_type=torch.tensor([10, 11, 12, 13]),
        edge_speed=torch.arange(8.0).reshape(4, 2),
        edge_street=['a', 'b', 'c', 'd'],
        edge_lanes=np.array([1, 2, 3, 4]),
        edge_pair_index=torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7]]),
        name='small',
        scale=torch.tensor(2.0),
    )


@pytest.mark.parametrize('num_nodes', [3, 4, 5])
def test_extra_attributes_come_along(num_nodes):
    """With four nodes there are as many as edges: names decide."""
    raw = extras(num_nodes)
    data = planning_graph(raw)  # keeps edges 3 and 1
    for key in ('x', 'y', 'train_mask', 'scale'):
        assert torch.equal(data[key], raw[key]), key
    assert data.name == 'small'
    assert data.edge_type.tolist() == [13, 11]
    assert data.edge_speed.tolist() == [[6.0, 7.0], [2.0, 3.0]]
    assert data.edge_street == ['d', 'b']
    assert data.edge_lanes.tolist() == [4, 2]
    assert data.edge_pair_index.tolist() == [[3, 1], [7, 5]]


def test_edge_attributes_need_no_edge_in_their_name():
    raw = small(edge_cost=torch.tensor([4.0, 2.0, 9.0, 3.0]))
    raw.lanes = torch.tensor([10, 11, 12, 13])
    assert planning_graph(raw).lanes.tolist() == [13, 11]


def test_sparse_attributes_come_along():
    loop = torch.tensor([[1, 0, 0], [2, 0, 1]])  # one is dropped
    data = Data(pos=torch.rand(4, 2), edge_index=loop, edge_cost=torch.ones(3))
    data.edge_weight = torch.tensor([5.0, 6.0, 0.0]).to_sparse()
    assert planning_graph(data).edge_weight.to_dense().tolist() == [0, 5]


def test_isolated_nodes_do_not_confuse_attributes():
    """PyG alone would infer four nodes here, as many as edges."""
    raw = Data(
        xyz=torch.rand(6, 3),
        edge_index=torch.tensor([[0, 3, 1, 0], [1, 0, 1, 1]]),
        edge_cost=torch.tensor([4.0, 2.0, 9.0, 3.0]),
        lanes=torch.tensor([10, 11, 12, 13]),
    )
    by_name = planning_graph(raw, pos='xyz')
    by_value = planning_graph(raw, pos=raw.xyz)
    assert by_name.lanes.tolist() == [13, 11]
    assert_same_data(by_name, by_value)


# Positions -------------------------------------------------------------------


@pytest.mark.parametrize('axes', [1, 2, 3, 5])
def test_any_number_of_axes(axes):
    raw = random_graph(6, 12, seed=0, axes=axes)
    data = planning_graph(raw, cost='length')
    assert data.pos.shape == (6, axes)
    tail, head = raw.pos.numpy()[data.edge_index.numpy()]
    want = np.sqrt(((head - tail) ** 2).sum(1)).tolist()
    assert data.edge_cost.tolist() == pytest.approx(want, rel=1e-6)


def test_float64_positions_keep_metres():
    """UTM: float32 is good to half a metre at 4.7 million."""
    metres = torch.tensor([[0.0, 0.0], [0.01, 0.02], [900.0, 700.0]]).double()
    utm = metres + torch.tensor([377_000.0, 4_705_000.0]).double()
    data = planning_graph(small(pos=utm, edge_cost=torch.ones(4)))
    assert data.pos.dtype == torch.float32
    want = metres - torch.tensor([450.0, 350.0]).double()  # the box's middle
    torch.testing.assert_close(data.pos.double(), want, rtol=0, atol=1e-4)
    rounded = utm.float().double()  # what would be without centring
    assert (rounded[1] - rounded[0]).tolist() != pytest.approx(
        [0.01, 0.02], abs=1e-3
    )


def test_float32_positions_are_taken_as_they_are():
    raw = small(edge_cost=torch.ones(4))
    assert torch.equal(planning_graph(raw).pos, raw.pos)


def test_named_positions():
    raw = small(edge_cost=torch.ones(4), xyz=torch.rand(3, 3))
    data = planning_graph(raw, pos='xyz')
    assert torch.equal(data.pos, raw.xyz)
    assert torch.equal(data.xyz, raw.xyz)
    assert torch.equal(planning_graph(raw, pos=raw.xyz).pos, raw.xyz)


@pytest.mark.parametrize(
    'dtype', [torch.int64, torch.int32, torch.float32, torch.float64]
)
@pytest.mark.parametrize('shift', [0, 7, -2])
def test_integer_positions_give_codes(dtype, shift):
    cells = torch.tensor([[0, 5], [1, 0], [2, 2]])
    raw = small(pos=(cells + shift).to(dtype), edge_cost=torch.ones(4))
    data = planning_graph(raw)
    assert data.coord.dtype == torch.long
    assert data.coord.tolist() == cells.tolist()
    assert data.pos.dtype == torch.float32
    assert torch.equal(data.pos[1] - data.pos[0], torch.tensor([1.0, -5.0]))


@pytest.mark.parametrize('dtype', [torch.float32, torch.float64])
def test_cell_centres_give_codes(dtype):
    cells = torch.tensor([[0, 5], [1, 0], [2, 2]])
    raw = small(pos=(cells + 0.5).to(dtype), edge_cost=torch.ones(4))
    assert planning_graph(raw).coord.tolist() == cells.tolist()


def test_real_positions_give_no_codes():
    assert 'coord' not in planning_graph(small(edge_cost=torch.ones(4)))


@pytest.mark.parametrize('axis', [0, 1])
def test_one_real_axis_gives_no_codes(axis):
    pos = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]])
    pos[1, axis] = 1.5
    raw = small(pos=pos, edge_cost=torch.ones(4))
    assert 'coord' not in planning_graph(raw)


def test_map_units_are_no_grid():
    """Whole metres over kilometres would be tables of unused rows."""
    metres = torch.tensor([[0, 0], [1200, 300], [5000, 4000]])
    raw = small(pos=metres, edge_cost=torch.ones(4))
    assert 'coord' not in planning_graph(raw)
    raw.pos = torch.tensor([[0, 0], [63, 63], [5, 8]])  # small anyway
    assert planning_graph(raw).coord.tolist() == raw.pos.tolist()
    raw.pos = torch.tensor([[0, 0], [64, 63], [5, 8]])
    assert 'coord' not in planning_graph(raw)


@pytest.mark.parametrize(('width', 'is_grid'), [(16, True), (17, False)])
def test_large_grids_are_grids(width, is_grid):
    """Up to sixteen cells of the box for each node."""
    along = torch.arange(1000)
    raw = Data(
        pos=torch.stack([along, along % width], 1),
        edge_index=torch.stack([along[:-1], along[1:]]),
        edge_cost=torch.ones(999),
    )
    data = planning_graph(raw)
    assert ('coord' in data) == is_grid
    if is_grid:
        assert torch.equal(data.coord, raw.pos)


def test_given_codes_are_kept():
    codes = torch.tensor([[5, 1], [0, 0], [3, 3]], dtype=torch.int32)
    data = planning_graph(small(edge_cost=torch.ones(4), coord=codes))
    assert data.coord.tolist() == codes.tolist()
    assert data.coord.dtype == torch.long


# Real data -------------------------------------------------------------------


def test_road_network(andorra):
    assert andorra.pos.dtype == torch.float64
    before = copy.deepcopy(andorra)
    data = planning_graph(andorra)
    assert_same_data(andorra, before)
    assert_same_data(planning_graph(data), data)
    assert data.num_nodes == 1697
    assert 0 < data.num_edges <= andorra.num_edges
    assert 'coord' not in data
    middle = (andorra.pos.min(0).values + andorra.pos.max(0).values) / 2
    torch.testing.assert_close(
        data.pos.double(), andorra.pos - middle, rtol=0, atol=0.01
    )


def test_road_network_as_utm(andorra):
    """Far from the origin the map is the same to a centimetre."""
    far = copy.copy(andorra)
    offset = torch.tensor([377_000.0, 4_705_000.0]).double()
    far.pos = andorra.pos + offset
    near = planning_graph(andorra)
    torch.testing.assert_close(
        planning_graph(far).pos, near.pos, rtol=0, atol=0.01
    )
    assert ((far.pos.float().double() - offset) - andorra.pos).abs().max() > 0.1


def test_road_network_distances(andorra, data_dir):
    file = np.load(data_dir / 'road' / 'andorra.queries.npz')
    adjacency = Adjacency.from_data(planning_graph(andorra))
    cost = shortest_distances(
        adjacency,
        torch.from_numpy(file['source']),
        torch.from_numpy(file['target']),
    )
    assert len(cost) == 200
    assert cost.tolist() == pytest.approx(
        file['optimal_cost'].tolist(), rel=1e-5
    )


def test_idempotent_with_a_named_cost():
    data = planning_graph(small(minutes=torch.ones(4)), cost='minutes')
    assert_same_data(planning_graph(data, cost='minutes'), data)
    assert_same_data(planning_graph(data), data)


def test_attributes_without_values_are_refused(diamond: Data) -> None:
    """They could not follow the graph to another device."""
    for value in (torch.ones(3), torch.ones(diamond.num_edges)):
        data = diamond.clone()
        data.colour = value.to('meta')
        with pytest.raises(BCMError, match='colour has no values'):
            planning_graph(data)

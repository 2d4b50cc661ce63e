import base64
import zlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from page_twin import projected_nodes
from small_fits import small_map
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.explorer._contents import (
    bend_arrays,
    map_arrays,
    packed,
    pairs_of,
)
from bcm_pyg.explorer._layout import layout_of


def unpacked(listed, text):
    """What contents.js does."""
    raw = zlib.decompress(base64.b64decode(text))
    out, begin = {}, 0
    for name, kind, length, _ in listed:
        width = int(kind[1])
        part = np.frombuffer(raw, np.uint8, length * width, begin)
        rank = part.reshape(width, length).T
        out[name] = np.ascontiguousarray(rank).view(f'<{kind}').ravel()
        begin += part.size
    assert begin == len(raw)
    return out


def edges_of(arrays, num_nodes):
    """What graphOfPairs does."""
    low = np.repeat(np.arange(num_nodes), arrays['pair_count'])
    high = low + arrays['pair_gap']
    back = iter(arrays['pair_cost_back'].tolist())
    edges = []
    rows = zip(low, high, arrays['pair_way'], arrays['pair_cost'], strict=True)
    for one, two, way, cost in rows:
        if way != 2:
            edges.append((int(one), int(two), float(cost)))
        if way != 1:
            other = next(back) if way == 3 else float(cost)
            edges.append((int(two), int(one), other))
    return sorted(edges)


edge = st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([1, 2]))


@given(st.lists(edge, min_size=1, max_size=30))
def test_pairs_hold_all_edges(edges):
    tail, head, cost = zip(*edges, strict=True)
    if tail == head:
        return
    data = Data(
        pos=torch.arange(14.0).view(7, 2),
        edge_index=torch.tensor([tail, head]),
        edge_cost=torch.tensor(cost).float(),
    )
    if all(one == two for one, two in zip(tail, head, strict=True)):
        return
    data = planning_graph(data)
    listed, text = packed(pairs_of(data).arrays)
    wanted = [*data.edge_index.tolist(), data.edge_cost.tolist()]
    found = edges_of(unpacked(listed, text), 7)
    assert found == list(zip(*wanted, strict=True))


def test_integers_take_few_bytes():
    arrays = {
        'a': np.array([0, 255]),
        'b': np.array([-3, 5]),
        'c': np.array([256, 1]),
        'd': np.array([0.5, 2.5]),
        'e': np.array([True, False]),
        'f': np.zeros((0, 3), dtype=np.int64),
        'g': np.array([[70000, -1]]),
    }
    listed, text = packed(arrays)
    assert [entry[1] for entry in listed] == [
        'u1', 'i1', 'u2', 'f4', 'u1', 'u1', 'i4',
    ]  # fmt: skip
    assert listed[-1][2:] == [2, 1]
    found = unpacked(listed, text)
    assert all(np.array_equal(found[k], v.ravel()) for k, v in arrays.items())
    with pytest.raises(BCMError, match='cannot hold integers'):
        packed({'a': np.array([2**40])})


@pytest.mark.parametrize('encoder', ['interaction', 'k_hot', 'gnn'])
def test_projected_nodes_are_those_of_the_map(encoder):
    data = weighted_grid('ushape', 10, 'wide', 1)
    model = small_map(data, encoder)
    arrays = map_arrays(model, data)
    assert ('hidden' in arrays) == (encoder != 'interaction')
    wanted = model.project_nodes(data).detach()
    error = (projected_nodes(arrays) - wanted).abs().max()
    assert float(error) < 0.03 * float(wanted.abs().max())


def test_broken_weights():
    data = weighted_grid('open', 4, 'wide', 1)
    model = small_map(data)
    with torch.no_grad():
        model.transition.lin2.weight[0, 0] = float('nan')
    with pytest.raises(BCMError, match=r'not finite \(weight2\)'):
        map_arrays(model, data)


def test_other_transitions_are_refused():
    class Other(type(small_map(weighted_grid('open', 3)).transition)):
        pass

    data = weighted_grid('open', 4, 'wide', 1)
    encoder = small_map(data).encoder
    model = BCM(encoder, Other(encoder.out_channels, 8, 8), cost_scale=1.0)
    with pytest.raises(BCMError, match=r'is a Transition \(got Other\)'):
        map_arrays(model, data)


def test_bends_are_stored_from_the_lower_node_on():
    data = Data(
        pos=torch.tensor([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0]]),
        edge_index=torch.tensor([[0, 1, 2], [1, 0, 1]]),
        edge_cost=torch.ones(3),
        bends=torch.tensor([[[5.0, 1.0], [8.0, 2.0], [12.0, 5.0]]]),
        edge_bends=torch.tensor([[0, 2], [0, 0], [2, 3]]),
    )
    data = planning_graph(data)
    layout = layout_of(data)
    pairs = pairs_of(data)
    arrays = bend_arrays(data, pairs, layout)
    assert arrays['bend_count'].tolist() == [2, 1]
    low = np.array([0, 0, 1])
    x = (layout.x[low] + arrays['bend_x']) * layout.step[0]
    y = (layout.y[low] + arrays['bend_y']) * layout.step[1]
    assert np.allclose(x, [5, 8, 12], atol=1e-3)
    assert np.allclose(y, [9, 8, 5], atol=1e-3)

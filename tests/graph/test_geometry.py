import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import (
    edge_lines,
    from_arrays,
    largest_component,
    read_npz,
    route_lines,
    route_points,
    simplify_graph,
)


def bent(num_nodes: int, num_edges: int, seed: int, axes: int = 2) -> Data:
    """A random raw graph whose edges have zero to three bends each."""
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 4, num_edges)
    end = count.cumsum()
    return Data(
        pos=torch.from_numpy(rng.uniform(4e6, 4.1e6, (num_nodes, axes))),
        edge_index=torch.from_numpy(
            rng.integers(num_nodes, size=(2, num_edges))
        ),
        edge_cost=torch.from_numpy(rng.uniform(1, 2, num_edges)),
        edge_bends=torch.from_numpy(np.stack([end - count, end], 1)),
        bends=torch.from_numpy(rng.uniform(4e6, 4.1e6, (1, end[-1], axes))),
        num_nodes=num_nodes,
    )


def line_of(data: Data, tail: int, head: int) -> np.ndarray:
    """Tail, bends and head of the cheapest edge, in source coordinates."""
    same = (data.edge_index.T == torch.tensor([tail, head])).all(dim=1)
    edge = min(same.nonzero().view(-1).tolist(), key=data.edge_cost.__getitem__)
    begin, end = data.edge_bends[edge].tolist()
    origin = data.pos_origin if 'pos_origin' in data else torch.zeros(1, 2)
    parts = [data.pos[[tail]], data.bends[0, begin:end], data.pos[[head]]]
    return (torch.cat(parts).double() + origin).numpy()


def slow_points(data: Data, nodes: list[int]) -> np.ndarray:
    """The twin of :func:`route_points`, edge by edge."""
    place = data.pos[nodes[:1]].double() + data.get('pos_origin', 0)
    parts = [place.numpy()]
    for tail, head in zip(nodes, nodes[1:], strict=False):
        parts.append(line_of(data, tail, head)[1:])
    return np.concatenate(parts)


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 12), st.integers(3, 60), st.integers(0, 2**32))
def test_bends_stay_with_their_edges(num_nodes, num_edges, seed):
    raw = bent(num_nodes, num_edges, seed)
    if bool((raw.edge_index[0] == raw.edge_index[1]).all()):
        return
    data = planning_graph(raw)
    used = data.edge_bends[:, 1] - data.edge_bends[:, 0]
    assert data.bends.shape == (1, int(used.sum()), 2)
    assert data.bends.dtype == torch.float32
    for tail, head in data.edge_index.T.tolist():
        line, before = line_of(data, tail, head), line_of(raw, tail, head)
        np.testing.assert_allclose(line, before, rtol=0, atol=0.02)
    again = planning_graph(data)
    assert torch.equal(again.edge_bends, data.edge_bends)
    assert torch.equal(again.bends, data.bends)
    starts = torch.arange(num_nodes)
    plan = Dijkstra(data)(starts, starts.flip(0))
    lines = route_lines(data, plan.nodes)
    for query, line in enumerate(lines):
        path = plan.path(query)
        want = slow_points(data, path) if path else np.empty((0, 2))
        origin = data.pos_origin.numpy()
        np.testing.assert_allclose(line + origin, want, rtol=0, atol=1e-6)
        one = route_points(data, plan.nodes[query])
        np.testing.assert_array_equal(line, one)


@settings(max_examples=20, deadline=None)
@given(st.integers(5, 30), st.integers(0, 2**32))
def test_simplified_edges_follow_the_full_ones(num_nodes, seed):
    raw = bent(num_nodes, num_nodes * 2, seed)
    ring = torch.arange(num_nodes)
    raw.edge_index[:, :num_nodes] = torch.stack([ring, ring.roll(-1)])
    data = planning_graph(raw)
    try:
        graph = simplify_graph(data)
    except BCMError:  # a ring alone
        return
    begin, points = edge_lines(graph.data)
    assert graph.data.pos_origin.equal(data.pos_origin)
    for edge, (tail, head) in enumerate(graph.data.edge_index.T.tolist()):
        inner = graph.inner[slice(*graph.through[edge : edge + 2])]
        ends = graph.node[[tail, head]]
        route = [int(ends[0]), *inner.tolist(), int(ends[1])]
        want = route_points(data, route)
        np.testing.assert_allclose(
            points[begin[edge] : begin[edge + 1]], want, rtol=0, atol=1e-2
        )


def test_largest_component():
    raw = bent(6, 4, seed=0)
    raw.edge_index = torch.tensor([[5, 3, 4, 3], [3, 4, 3, 0]])
    data = largest_component(raw)
    assert data.node_id.tolist() == [3, 4]
    for tail, head in ([0, 1], [1, 0]):
        line = route_points(data, [tail, head]) + data.pos_origin.numpy()
        want = line_of(raw, tail + 3, head + 3)
        np.testing.assert_allclose(line, want, rtol=0, atol=0.02)


def test_a_hand_made_graph(tmp_path):
    arrays = {
        'pos': [[0.0, 0.0], [4.0, 0.0], [4.0, 2.0]],
        'edge_index': [[0, 1, 1, 0], [1, 0, 2, 2]],
        'edge_cost': [1.0, 1.0, 1.0, 9.0],
        'edge_bends': [[0, 2], [0, 0], [2, 3], [3, 3]],
        'bends': [[[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]]],
    }
    np.savez(tmp_path / 'a.npz', **arrays)
    line = [[0, 0], [1, 1], [3, 1], [4, 0], [5, 1], [4, 2]]
    for data in (from_arrays(**arrays), read_npz(tmp_path / 'a.npz')):
        assert data.bends.shape == (1, 3, 2)
        source = np.asarray(arrays['pos'])
        got = route_points(data, [0, 1, 2], source)
        np.testing.assert_allclose(got, line, atol=1e-12)
        got = route_points(data, [0, 1, -1], source)
        np.testing.assert_allclose(got, line[:4], atol=1e-12)
        assert route_points(data, 1, source).tolist() == [[4, 0]]
        assert route_points(data, [], source).shape == (0, 2)
        degrees = source * [0.01, 0.02] + [1, 40]
        got = route_points(data, [0, 1, 2], degrees)
        np.testing.assert_allclose(got, np.array(line) * [0.01, 0.02] + [1, 40])
        with pytest.raises(BCMError, match='no edge from node 2 to node 1'):
            route_points(data, [2, 1])
        with pytest.raises(BCMError, match=r'coordinates must have shape \[3,'):
            route_points(data, [0, 1], source[:2])
    straight = from_arrays(**{n: arrays[n] for n in list(arrays)[:3]})
    assert len(route_points(straight, [0, 1, 2])) == 3


def test_other_coordinates():
    raw = bent(9, 30, seed=1)
    raw.place = raw.pos @ torch.tensor([[0.0, 2.0], [-2.0, 0.0]]).double() + 7
    data, other = planning_graph(raw), planning_graph(raw, pos='place')
    moved = (data.bends[0] + data.pos_origin) @ torch.tensor(
        [[0.0, 2.0], [-2.0, 0.0]]
    ).double() + 7
    got = other.bends[0] + other.pos_origin
    torch.testing.assert_close(got, moved, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ('name', 'value', 'message'),
    [
        ('edge_bends', torch.zeros(2, 2).long(), r'edge_bends must have shape'),
        ('edge_bends', torch.zeros(3, 2), 'edge_bends must be of type long'),
        (
            'edge_bends',
            torch.tensor([[0, 1], [1, 9], [0, 0]]),
            r'has bends \[1, 9',
        ),
        (
            'edge_bends',
            torch.tensor([[0, 1], [1, 0], [0, 0]]),
            r'has bends \[1, 0',
        ),
        ('edge_bends', torch.tensor([[0, 1], [-1, 0], [0, 0]]), 'edge 1 has'),
        ('bends', torch.zeros(4, 2), r'bends must have shape \[1, P, 2\]'),
        ('bends', torch.zeros(1, 4, 3), r'bends must have shape \[1, P, 2\]'),
        ('bends', torch.full((1, 4, 2), torch.nan), 'bends must be finite'),
        ('bends', None, 'bends must be a tensor'),
    ],
)
def test_errors(name, value, message):
    raw = Data(
        pos=torch.rand(3, 2),
        edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]),
        edge_cost=torch.ones(3),
        edge_bends=torch.zeros(3, 2).long(),
        bends=torch.zeros(1, 4, 2),
    )
    raw[name] = value
    with pytest.raises(BCMError, match=message):
        planning_graph(raw)

import copy
import gc
import weakref

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import random_graphs, raw_to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.utils import Adjacency, cut_loops


def test_from_data(diamond):
    adjacency = Adjacency.from_data(diamond)
    assert adjacency.rowptr.tolist() == [0, 2, 3, 4, 5, 5]
    assert adjacency.src.tolist() == [0, 0, 1, 2, 3]
    assert adjacency.dst.tolist() == [1, 2, 3, 3, 0]
    assert adjacency.cost.tolist() == [1.0, 5.0, 1.0, 0.0, 10.0]
    assert adjacency.degree().tolist() == [2, 1, 1, 1, 0]
    assert (adjacency.num_nodes, adjacency.num_edges) == (5, 5)
    assert adjacency.device == torch.device('cpu')


def test_out_edges(diamond):
    adjacency = Adjacency.from_data(diamond)
    edge, position = adjacency.out_edges(torch.tensor([3, 4, 0, 3]))
    assert edge.tolist() == [4, 0, 1, 4]
    assert position.tolist() == [0, 2, 2, 3]
    edge, position = adjacency.out_edges(torch.tensor([4]))
    assert edge.tolist() == position.tolist() == []
    edge, position = adjacency.out_edges(torch.empty(0, dtype=torch.long))
    assert edge.tolist() == position.tolist() == []


@settings(max_examples=50, deadline=None)
@given(raw=random_graphs(), seed=st.integers(0, 99), size=st.integers(0, 20))
def test_out_edges_agrees_with_slow_loop(raw, seed, size):
    adjacency = Adjacency.from_data(planning_graph(raw))
    rng = np.random.default_rng(seed)
    nodes = torch.from_numpy(rng.integers(0, adjacency.num_nodes, size))
    want = [
        (e, p)
        for p, node in enumerate(nodes.tolist())
        for e, tail in enumerate(adjacency.src.tolist())
        if tail == node
    ]
    edge, position = adjacency.out_edges(nodes)
    assert list(zip(edge.tolist(), position.tolist(), strict=True)) == want


@settings(max_examples=50, deadline=None)
@given(
    raw=random_graphs(),
    seed=st.integers(0, 99),
    size=st.integers(0, 30),
    max_edges=st.integers(1, 40),
)
def test_chunks_cover_all_nodes_and_stay_small(raw, seed, size, max_edges):
    adjacency = Adjacency.from_data(planning_graph(raw))
    rng = np.random.default_rng(seed)
    nodes = torch.from_numpy(rng.integers(0, adjacency.num_nodes, size))
    parts = list(adjacency.chunks(nodes, max_edges))
    covered = [i for part in parts for i in range(part.start, part.stop)]
    assert covered == list(range(size))
    degree = adjacency.degree()
    for part in parts:
        inside = degree[nodes[part]]
        assert len(inside) > 0
        assert int(inside.sum()) < max_edges + int(degree.max())
        assert len(inside) <= max_edges


def test_chunks_are_exact(diamond):
    adjacency = Adjacency.from_data(diamond)
    nodes = torch.arange(5)  # degrees 2, 1, 1, 1, 0
    assert list(adjacency.chunks(nodes, 100)) == [slice(0, 5)]
    # Before each node: 0, 3, 5, 7, 9 edges and nodes.
    assert list(adjacency.chunks(nodes, 4)) == [
        slice(0, 2),
        slice(2, 4),
        slice(4, 5),
    ]
    assert list(adjacency.chunks(nodes[:0], 4)) == []


def test_to_scipy_keeps_zero_costs(diamond):
    graph = Adjacency.from_data(diamond).to_scipy()
    assert graph.dtype == np.float64
    assert graph.nnz == 5
    assert graph.shape == (5, 5)
    want = np.zeros((5, 5))
    want[[0, 0, 1, 3], [1, 2, 3, 0]] = [1, 5, 1, 10]
    assert graph.toarray().tolist() == want.tolist()
    back = Adjacency.from_data(diamond).to_scipy(reverse=True)
    assert back.nnz == 5
    assert back.toarray().tolist() == want.T.tolist()


@pytest.mark.parametrize('reverse', [False, True])
def test_zero_cost_edges_are_edges_to_dijkstra(diamond, reverse):
    graph = Adjacency.from_data(diamond).to_scipy(reverse=reverse)
    source, target = (3, 2) if reverse else (2, 3)
    assert dijkstra(graph, indices=source)[target] == 0.0


@settings(max_examples=50, deadline=None)
@given(raw=random_graphs())
def test_scipy_dijkstra_agrees_with_networkx(raw):
    """Costs are halves and a ninth of them 0, so distances are exact."""
    adjacency = Adjacency.from_data(planning_graph(raw))
    got = dijkstra(adjacency.to_scipy())
    back = dijkstra(adjacency.to_scipy(reverse=True))
    want = np.full_like(got, np.inf)
    for i, row in nx.all_pairs_dijkstra_path_length(raw_to_nx(raw)):
        want[i, list(row)] = list(row.values())
    assert got.tolist() == want.tolist()
    assert back.T.tolist() == want.tolist()


def test_shared_until_something_changes() -> None:
    data = weighted_grid('open', side=4, seed=1)
    one = Adjacency.from_data(data)
    assert Adjacency.from_data(data) is one
    assert Adjacency.from_data(planning_graph(data)) is one
    assert Adjacency.from_data(copy.copy(data)) is one
    assert one.reachability is one.reachability
    before = one.cost.clone()
    data.edge_cost[0] += 1  # in place
    two = Adjacency.from_data(data)
    assert two is not one
    assert float(two.cost[0]) == float(before[0]) + 1
    assert torch.equal(one.cost, before)  # what is in use does not change
    data.edge_cost = data.edge_cost.clone()
    assert Adjacency.from_data(data) is two
    data.edge_index = data.edge_index.clone()
    assert Adjacency.from_data(data) is not two
    other = copy.copy(data)
    other.num_nodes = 17
    assert Adjacency.from_data(other).num_nodes == 17


def test_nothing_is_kept_of_graphs_that_are_gone() -> None:
    data = weighted_grid('open', side=4, seed=1)
    kept = weakref.ref(Adjacency.from_data(data))
    gc.collect()
    assert kept() is not None
    del data
    gc.collect()
    assert kept() is None


def test_planners_see_a_cost_that_was_changed_in_place() -> None:
    data = weighted_grid('open', side=4, seed=1)
    first = Dijkstra(data)
    cost = float(first(0, 1).cost)
    data.edge_cost[data.edge_index[0] == 0] += 100
    assert float(first(0, 1).cost) == cost  # it has its own copy
    assert float(Dijkstra(data)(0, 1).cost) == pytest.approx(cost + 100)


@pytest.mark.parametrize('how', ['numpy', 'data', 'inference'])
def test_changes_that_no_version_tells_of(how: str) -> None:
    with torch.inference_mode(how == 'inference'):
        data = weighted_grid('open', side=4, seed=1)
        data = data.clone()
        before = Dijkstra(data)(0, 15).cost
        one = Adjacency.from_data(data)
        if how == 'numpy':
            data.edge_cost.numpy()[:] *= 2
        elif how == 'data':
            data.edge_cost.data.mul_(2)
        else:
            data.edge_cost.mul_(2)
        assert Adjacency.from_data(data) is not one
        assert float(Dijkstra(data)(0, 15).cost) == 2 * float(before)


def test_edge_ids_and_routes(diamond: Data) -> None:
    adjacency = Adjacency.from_data(diamond)
    tail, head = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T
    found = adjacency.edge_ids(tail, head)
    for edge, i, j in zip(
        found.tolist(), tail.tolist(), head.tolist(), strict=True
    ):
        pair = (diamond.edge_index == torch.tensor([[i], [j]])).all(dim=0)
        expected = pair.nonzero().flatten().tolist()
        assert [edge] == (expected or [-1])
    routes = torch.tensor([[0, 1, 3], [2, 3, -1], [4, -1, -1], [1, 2, -1]])
    assert adjacency.route_edges(routes).tolist() == [
        [0, 2, -1],
        [3, -1, -1],
        [-1, -1, -1],
        [-2, -1, -1],
    ]
    assert adjacency.route_costs(routes[:3]).tolist() == [2, 0, 0]


def test_equal_to_itself_alone(diamond: Data) -> None:
    adjacency = Adjacency.from_data(diamond)
    assert adjacency == adjacency
    assert adjacency != Adjacency.from_data(diamond.clone())


def test_parts_of_a_graph(diamond: Data) -> None:
    whole = Adjacency.from_data(diamond)

    def part(edges: list[int], more: float) -> Adjacency:
        data = diamond.clone()
        data.edge_index = diamond.edge_index[:, edges]
        data.edge_cost = diamond.edge_cost[edges] + more
        return Adjacency.from_data(planning_graph(data))

    some = part([0, 2, 3], 0.5)
    assert some.is_part_of(whole) and whole.is_part_of(whole)
    assert not whole.is_part_of(some)  # it has other edges
    assert part([0, 3], 1.0).is_part_of(some)
    assert not part([0, 3], 0.25).is_part_of(some)  # they cost less


@pytest.mark.parametrize(
    ('route', 'simple'),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3]),
        ([0, 1, 2, 1, 3], [0, 1, 3]),
        ([0, 1, 2, 1, 3, 2, 4], [0, 1, 3, 2, 4]),
        ([5, 0, 5, 1, 5], [5]),
        ([5, 0, 5, -1, -1], [5]),
        ([-1, -1], []),
    ],
)
def test_loops_are_cut(route: list[int], simple: list[int]) -> None:
    nodes = torch.tensor([route, [-1] * len(route)])
    padding = [-1] * (len(route) - len(simple))
    assert cut_loops(nodes).tolist() == [
        [*simple, *padding],
        [-1] * len(route),
    ]
    assert nodes[0].tolist() == route

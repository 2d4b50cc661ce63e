from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import assert_same_data, random_graphs, to_nx
from hypothesis import given, settings
from scipy.sparse import csr_array
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.geo import nearest_nodes
from bcm_pyg.graph import simplify_graph


def both_ways(edges: list[tuple[int, int]], costs: list[float]) -> Data:
    tail, head = torch.tensor(edges).T
    num_nodes = int(torch.tensor(edges).max()) + 1
    return Data(
        pos=torch.rand(num_nodes, 2),
        edge_index=torch.stack(
            [torch.cat([tail, head]), torch.cat([head, tail])]
        ),
        edge_cost=torch.tensor(costs + costs),
    )


def test_a_square_with_a_diagonal_a_chain_and_a_dead_end() -> None:
    # 0 - 1 - 2 - 3 - 0 with 0 - 2; 1 lies on a chain, so does 3; 4 and 5 are a
    # dead end at 0.
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (0, 4), (4, 5)]
    graph = simplify_graph(both_ways(edges, [1, 2, 3, 4, 9, 1, 1]))
    assert graph.node.tolist() == [0, 2]
    assert graph.simplified_node.tolist() == [0, -1, 1, -1, -1, -1]
    # Over 1 it costs 3, over 3 it costs 7, directly 9: the cheapest stays.
    assert graph.data.edge_index.tolist() == [[0, 1], [1, 0]]
    assert graph.data.edge_cost.tolist() == [3, 3]
    assert graph.inner.tolist() == [1, 1]
    assert graph.through.tolist() == [0, 1, 2]
    portals = graph.portal[graph.segment[5]].tolist()
    assert portals == [0, -1]
    assert graph.to_portal[:, 5].tolist() == [2, float('inf')]
    assert graph.next_node[0, 5] == 4
    assert graph.next_node[0, 4] == 0


def test_grids_have_no_forced_nodes_but_corners() -> None:
    graph = simplify_graph(weighted_grid('open', side=5))
    corners = [0, 4, 20, 24]
    assert sorted(set(range(25)) - set(graph.node.tolist())) == corners


def test_a_forest_has_nothing_to_decide() -> None:
    with pytest.raises(BCMError, match='leaves a choice'):
        simplify_graph(both_ways([(0, 1), (1, 2), (3, 4)], [1, 1, 1]))


def test_a_ring_has_nothing_to_decide() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    with pytest.raises(BCMError, match='leaves a choice'):
        simplify_graph(both_ways(edges, [1, 1, 1, 1]))


def test_the_input_is_left_alone() -> None:
    data = weighted_grid('open', side=8)
    before = data.clone()
    simplify_graph(data)
    assert data.keys() == before.keys()
    assert torch.equal(data.edge_index, before.edge_index)


@settings(deadline=None, max_examples=60)
@given(random_graphs(max_nodes=14))
def test_distances_between_decisions_stay(data: Data) -> None:
    try:
        graph = simplify_graph(data)
    except BCMError as error:
        assert 'leaves a choice' in str(error)
        return
    full, reduced = (
        dict(nx.all_pairs_dijkstra_path_length(to_nx(part), weight='cost'))
        for part in (planning_graph(data), graph.data)
    )
    node = graph.node.tolist()
    for i, from_i in reduced.items():
        there = {node[j]: cost for j, cost in from_i.items()}
        wanted = {j: c for j, c in full[node[i]].items() if j in set(node)}
        assert there == pytest.approx(wanted)


@settings(deadline=None, max_examples=60)
@given(random_graphs(max_nodes=14))
def test_edges_unpack_to_paths_of_their_cost(data: Data) -> None:
    try:
        graph = simplify_graph(data)
    except BCMError:
        return
    full = to_nx(graph.full)
    for edge, (tail, head) in enumerate(graph.data.edge_index.T.tolist()):
        begin, end = graph.through[edge : edge + 2].tolist()
        path = [
            int(graph.node[tail]),
            *graph.inner[begin:end].tolist(),
            int(graph.node[head]),
        ]
        cost = nx.path_weight(full, path, 'cost')
        assert cost == pytest.approx(float(graph.data.edge_cost[edge]))


def test_names_and_places_of_the_source_stay() -> None:
    raw = both_ways([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 4)], [1.0] * 6)
    raw.pos = 5e6 + 100 * raw.pos.double()
    raw.lonlat = torch.rand(5, 2)
    raw.node_id = np.array(list('abcde'), dtype=object)
    graph = simplify_graph(raw)
    assert graph.node.tolist() == [0, 2]
    assert graph.data.node_id.tolist() == ['a', 'c']
    assert torch.equal(graph.data.lonlat, raw.lonlat[graph.node])
    for place in graph.node.tolist():
        del raw.lonlat
        found = nearest_nodes(simplify_graph(raw).data, raw.pos[place])
        assert graph.node[found].tolist() == [place]
        raw.lonlat = torch.rand(5, 2)
    del raw.node_id
    data = simplify_graph(raw).data
    assert Dijkstra(data)(0, 1).to_labels(data) == [[0, 2]]


def test_attributes_that_are_not_of_nodes_stay_behind() -> None:
    raw = both_ways([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 4)], [1.0] * 6)
    raw.lonlat, raw.node_id = torch.tensor([24.9, 60.2]), torch.arange(3)
    data = simplify_graph(raw).data
    assert 'lonlat' not in data and data.node_id.tolist() == [0, 2]
    raw.node_id = tuple('abcde')
    assert simplify_graph(raw).data.node_id == ['a', 'c']


def test_codes_are_those_of_the_full_graph() -> None:
    raw = both_ways([(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 1)], [1.0] * 6)
    raw.pos = torch.tensor([[0.0, 0], [1, 0], [2, 0], [2, 1], [3, 1]])
    one, two = (simplify_graph(data) for data in (raw, planning_graph(raw)))
    assert_same_data(one.data, two.data)
    assert torch.equal(one.data.coord, one.full.coord[one.node])


def test_codes_that_were_given_stay() -> None:
    data = weighted_grid('open', side=6)
    data.pos = data.pos * 7.3
    data.coord = data.coord * 3 + 1
    graph = simplify_graph(data)
    assert torch.equal(graph.data.coord, data.coord[graph.node])
    del data.coord
    assert 'coord' not in simplify_graph(data).data


def test_a_long_dead_end_is_peeled_node_by_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def product(*args: object) -> None:
        raise AssertionError('this takes a look at every edge')

    monkeypatch.setattr(csr_array, '__matmul__', product)
    edges = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3)]
    edges += [(node, node + 1) for node in range(3, 2000)]
    data = both_ways(edges, [1.0] * len(edges))
    assert simplify_graph(data).node.tolist() == [0, 1]

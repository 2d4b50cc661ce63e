import copy

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import assert_same_data, random_graphs, to_nx
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.graph import from_arrays, largest_component, read_movingai


@settings(max_examples=40, deadline=None)
@given(raw=random_graphs())
def test_agrees_with_networkx(raw):
    raw.edge_speed = torch.arange(raw.num_edges)
    raw.label = np.array([f'n{i}' for i in range(len(raw.pos))], dtype=object)
    before = copy.deepcopy(raw)
    graph = to_nx(planning_graph(raw))
    parts = [sorted(part) for part in nx.strongly_connected_components(graph)]
    want = min(parts, key=lambda part: (-len(part), part))
    if len(want) == 1:
        with pytest.raises(BCMError, match='no two nodes can reach each'):
            largest_component(raw)
        return
    data = largest_component(raw)
    assert_same_data(raw, before)
    assert data.node_id.tolist() == want
    assert data.num_nodes == len(want)
    assert data.dropped_nodes == len(graph) - len(want)
    whole = planning_graph(raw)
    assert torch.equal(data.pos, whole.pos[want])
    assert data.label.tolist() == [f'n{i}' for i in want]
    edges = data.node_id[data.edge_index].T.tolist()
    part = graph.subgraph(want)
    assert edges == [list(edge) for edge in sorted(part.edges)]
    assert data.edge_cost.tolist() == [
        part.edges[edge]['cost'] for edge in sorted(part.edges)
    ]
    speed = {
        tuple(edge): value
        for edge, value in zip(
            whole.edge_index.T.tolist(), whole.edge_speed.tolist(), strict=True
        )
    }
    assert data.edge_speed.tolist() == [speed[i, j] for i, j in edges]
    assert_same_data(planning_graph(data), data)
    assert_same_data(largest_component(data), data)


def two_rings() -> Data:
    """Ring 0, 1 and ring 2, 3, 4 with a way from one to the other; node 5."""
    return from_arrays(
        [[0.0, 0.5], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]],
        [[0, 1, 1, 2, 3, 4], [1, 0, 2, 3, 4, 2]],
        [1, 2, 3, 4, 5, 6],
        node_id=list('abcdef'),
        edge_street=['s', 't', 'u', 'v', 'w', 'x'],
        name='small',
    )


def test_what_is_dropped_is_told():
    data = largest_component(two_rings())  # as many nodes as edges
    assert data.node_id.tolist() == ['c', 'd', 'e']
    assert data.dropped_nodes == 3
    assert data.edge_index.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert data.edge_cost.tolist() == [4, 5, 6]
    assert data.edge_street.tolist() == ['v', 'w', 'x']
    assert data.name == 'small'
    assert data.pos_origin.tolist() == [[2.5, 0.25]]
    assert (data.pos + data.pos_origin).tolist() == [[2, 0], [3, 0], [4, 0]]


def test_lists_come_along():
    raw = two_rings()
    raw.colour = ['red', 'green', 'blue', 'grey', 'pink', 'black']
    raw.edge_name = [1, 2, 3, 4, 5, 6]
    data = largest_component(raw)
    assert data.colour == ['blue', 'grey', 'pink']
    assert data.edge_name == [4, 5, 6]


def test_the_first_of_two_of_the_same_size(diamond):
    pair = from_arrays(
        [[0.0], [1.0], [2.0], [3.0]],
        [[2, 3, 0, 1], [3, 2, 1, 0]],
        [1, 1, 1, 1],
    )
    assert largest_component(pair).node_id.tolist() == [0, 1]
    whole = largest_component(diamond)
    assert whole.node_id.tolist() == [0, 1, 2, 3]
    assert whole.dropped_nodes == 1


def test_real_map(data_dir):
    data = read_movingai(data_dir / 'grid' / 'Berlin_1_256.map')
    part = largest_component(data)
    assert part.num_nodes == 46_880
    assert part.dropped_nodes == 47_540 - 46_880
    assert torch.equal(part.coord, data.coord[part.node_id])
    assert part.grid_size.tolist() == [[256, 256]]


def test_entries_of_edges_where_edges_become_as_many_as_nodes():
    raw = Data(
        pos=torch.rand(4, 2),
        edge_index=torch.tensor([[0, 1, 2, 0, 1], [1, 2, 0, 1, 3]]),
        edge_cost=torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]),
        speed=torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0]),
        name=['a', 'b', 'c', 'd'],
        edge_count=torch.tensor([2, 2, 1, 0]),  # of nodes, in spite of its name
    )
    data = largest_component(raw)  # drops a parallel edge, then node 3
    assert data.edge_index.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert data.speed.tolist() == [10, 20, 30]
    assert data.name == ['a', 'b', 'c']
    assert data.edge_count.tolist() == [2, 2, 1]

import networkx as nx
import numpy as np
import pytest
import torch

from bcm_pyg import BCMError
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import MovingAIMap, NpzGraph, OSMnxStreets, ToyGameMap
from bcm_pyg.graph import largest_component


def test_toy_game_map():
    dataset = ToyGameMap()
    assert str(dataset) == 'ToyGameMap()' and len(dataset) == 1
    data = dataset[0]
    assert data.grid_size.tolist() == [[64, 64]]
    assert 2000 < data.num_nodes < 64 * 64
    assert largest_component(data).dropped_nodes == 0
    starts, goals, optimal = dataset.queries
    assert len(starts) == 200
    cost = Dijkstra(data)(starts, goals).cost
    torch.testing.assert_close(cost, optimal, rtol=0, atol=1e-6)
    assert bool((optimal.diff() >= 0).all())


def test_movingai_map(tmp_path):
    path = tmp_path / 'hall.map'
    path.write_text('type octile\nheight 2\nwidth 3\nmap\n...\n.@.\n')
    assert MovingAIMap(path).queries is None
    (tmp_path / 'a.scen').write_text(
        'version 1\n0\thall.map\t3\t2\t0\t1\t2\t1\t4\n'
    )
    dataset = MovingAIMap(path, tmp_path / 'a.scen', transform=lambda data: 5)
    assert dataset[0] == 5
    assert dataset.queries.optimal_cost.tolist() == [4]


def test_npz_graph(tmp_path):
    graph = {
        'pos': np.eye(3),
        'edge_index': np.array([[0, 1, 2], [1, 2, 0]]),
        'edge_cost': np.array([1.0, 2.0, 4.0]),
    }
    np.savez(tmp_path / 'a.npz', **graph)
    queries = {'source': [0, 1], 'target': [2, 0], 'optimal_cost': [3.0, 6.0]}
    np.savez(tmp_path / 'q.npz', **queries)
    dataset = NpzGraph(tmp_path / 'a.npz', tmp_path / 'q.npz')
    starts, goals, optimal = dataset.queries
    assert torch.equal(Dijkstra(dataset[0])(starts, goals).cost, optimal)
    assert NpzGraph(tmp_path / 'a.npz').queries is None


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'source': [0, 3]}, r'q.npz: starts\[1\] = 3 is not a node'),
        ({'source': ['a', 'b']}, 'q.npz: starts must hold integer'),
        ({'optimal_cost': [1.0]}, 'q.npz: optimal_cost must hold one cost'),
        ({'optimal_cost': [1.0, np.nan]}, 'optimal_cost must hold one cost'),
        ({'optimal_cost': ['a', 'b']}, 'q.npz: could not convert'),
        ({'target': None}, "q.npz has no 'target': it has"),
    ],
)
def test_bad_queries(tmp_path, change, message):
    test_npz_graph(tmp_path)
    arrays = {'source': [0, 1], 'target': [2, 0], 'optimal_cost': [3.0, 6.0]}
    arrays = {n: v for n, v in (arrays | change).items() if v is not None}
    np.savez(tmp_path / 'q.npz', **arrays)
    with pytest.raises(BCMError, match=message):
        NpzGraph(tmp_path / 'a.npz', tmp_path / 'q.npz')


def test_osmnx_streets(tmp_path):
    graph = nx.MultiDiGraph(crs='epsg:4326')
    for node in range(3):
        graph.add_node(node, x=1.5 + node / 100, y=42.5)
        graph.add_edge(node, (node + 1) % 3, length=9.0, travel_time=node + 1.0)
    nx.write_graphml(graph, tmp_path / 'a.graphml')
    data = OSMnxStreets(tmp_path / 'a.graphml', 'travel_time')[0]
    assert data.edge_cost.tolist() == [1, 2, 3]
    assert 1600 < float(data.pos[2, 0] - data.pos[0, 0]) < 1700  # metres

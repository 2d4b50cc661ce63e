import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from bcm_pyg import BCMError
from bcm_pyg.graph import as_graph, from_arrays, labels_of, read_graph


def city(degrees: bool = True) -> nx.MultiDiGraph:
    """As OSMnx makes it: x, y, length, a system of coordinates."""
    out = nx.MultiDiGraph(crs='epsg:4326' if degrees else 'epsg:32630')
    size = 0.01 if degrees else 1000.0
    for node, (x, y) in enumerate([(0, 0), (1, 0), (0, 1)]):
        out.add_node(100 + node, x=size * x, y=size * y, street_count=2)
    for tail, head in ((100, 101), (101, 102), (102, 100)):
        out.add_edge(tail, head, length=1000.0, osmid=7)
        out.add_edge(head, tail, length=1200.0, osmid=7)
    return out


@pytest.mark.parametrize('degrees', [True, False])
def test_osmnx(degrees: bool, tmp_path: Path) -> None:
    """Degrees become metres, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        data = as_graph(city(degrees))
        nx.write_graphml(city(degrees), tmp_path / 'city.graphml')
        again = as_graph(tmp_path / 'city.graphml')
    assert labels_of(data) == labels_of(again) == [100, 101, 102]
    assert float((data.pos[0] - data.pos[1]).norm()) == pytest.approx(
        1112 if degrees else 1000, rel=0.01
    )
    assert torch.equal(data.edge_cost, again.edge_cost)
    assert torch.allclose(data.pos, again.pos)


def test_networkx(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_node('a', lon=0.0, lat=50.0)
    graph.add_node('b', lon=0.01, lat=50.0)
    graph.add_edge('a', 'b', weight=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        data = as_graph(graph)
    assert float(data.pos[1, 0] - data.pos[0, 0]) == pytest.approx(
        715, rel=0.01
    )
    nx.write_graphml(graph, tmp_path / 'g.graphml')
    again = read_graph(str(tmp_path / 'g.graphml'))
    assert labels_of(again) == ['a', 'b'] and again.edge_cost.tolist() == [2, 2]
    graph.edges['a', 'b']['length'] = 3.0
    with pytest.raises(BCMError, match=r"with cost='...'$"):
        as_graph(graph)
    assert as_graph(graph, 'length').edge_cost.tolist() == [3, 3]
    assert as_graph(data, 'length').edge_cost.tolist() == pytest.approx(
        [715, 715], rel=0.01
    )
    with pytest.raises(BCMError, match='no costs to name'):
        as_graph(np.zeros((2, 2)), 'length')
    nx.write_graphml(graph, tmp_path / 'g.graphml')
    again = read_graph(tmp_path / 'g.graphml', 'length')
    assert again.edge_cost.tolist() == [3, 3]


def test_arrays_and_maps(tmp_path: Path) -> None:
    wall = np.array([[0, 0, 0], [0, 1, 0]])
    data = as_graph(wall)
    assert labels_of(data) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]
    assert labels_of(as_graph(torch.tensor(wall) == 1)) == labels_of(data)
    rows = 'type octile\nheight 2\nwidth 3\nmap\n...\n.@.\n'
    (tmp_path / 'a.map').write_text(rows)
    data = read_graph(tmp_path / 'a.map')
    assert labels_of(data)[-1] == (2, 1)  # x and y
    assert labels_of(as_graph(np.zeros((2, 2, 2), bool)))[-1] == (1, 1, 1)


def test_npz(tmp_path: Path) -> None:
    edges = {'edge_index': [[0, 1], [1, 0]], 'edge_cost': [1.0, 2.0]}
    np.savez(tmp_path / 'g.npz', pos=[[0.0, 0], [1, 0]], **edges)
    assert as_graph(tmp_path / 'g.npz').edge_cost.tolist() == [1, 2]


def test_what_is_missing_is_what_is_hinted_at(tmp_path: Path) -> None:
    """Of coordinates who has an argument for them, of costs what they are."""
    graph = nx.Graph([('a', 'b')])
    with pytest.raises(BCMError, match='cost=lambda [^(]*$'):
        as_graph(graph)
    with pytest.raises(BCMError, match='from_networkx has pos=.*the result'):
        as_graph(graph, 'length')
    nx.write_graphml(graph, tmp_path / 'g.graphml')
    with pytest.raises(BCMError, match='from_networkx has pos=.*the result'):
        read_graph(tmp_path / 'g.graphml', 'length')
    data = from_arrays([[0.0, 0], [1, 0]], [[0, 1], [1, 0]], [1.0, 2.0])
    message = "name of an edge attribute, 'length',? or"
    for source in (city(), data):
        with pytest.raises(BCMError, match=message):
            as_graph(source, 5)


@pytest.mark.parametrize('name', ['a.txt', 'graphml', 'a.pkl'])
def test_other_files(name: str) -> None:
    with pytest.raises(BCMError, match='is not a graph file'):
        read_graph(name)


def test_folders_and_streets(tmp_path: Path) -> None:
    with pytest.raises(BCMError, match='is a folder'):
        read_graph(tmp_path)
    with pytest.raises(BCMError, match=r'missing.osm'):
        read_graph(tmp_path / 'missing.osm.pbf')

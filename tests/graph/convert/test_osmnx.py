import copy
import gzip

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import assert_same_data

from bcm_pyg import BCMError
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import from_osmnx, labels_of

OSMID = [625030, 1839958247, 53295141]


def streets() -> nx.MultiDiGraph:
    """As OSMnx gives it: degrees, tags that are lists here and not there."""
    graph = nx.MultiDiGraph(crs='epsg:4326', simplified=True)
    for place, node in enumerate(OSMID):
        graph.add_node(node, x=1.5 + place / 1000, y=42.5, street_count=3)
    one, two, three = OSMID
    graph.add_edge(one, two, osmid=5, length=90.5, travel_time=9.0, oneway=True)
    graph.add_edge(
        one, two, osmid=[6, 7], length=85.0, travel_time=30.5, lanes=['1', '2']
    )
    graph.add_edge(two, three, osmid=8, length=82.0, travel_time=5.0)
    graph.add_edge(three, two, osmid=8, length=82.0, travel_time=5.0)
    graph.add_edge(two, one, osmid=9, length=700.0, travel_time=70.0)
    return graph


def save(graph: nx.MultiDiGraph, path) -> None:
    """As OSMnx saves it: every value a string."""
    graph = copy.deepcopy(graph)
    graph.graph = {key: str(value) for key, value in graph.graph.items()}
    for _, values in graph.nodes(data=True):
        values.update({key: str(value) for key, value in values.items()})
    for *_, values in graph.edges(data=True):
        values.update({key: str(value) for key, value in values.items()})
    nx.write_graphml(graph, path)


@pytest.mark.parametrize(
    ('cost', 'want'),
    [('length', [85, 700, 82, 82]), ('travel_time', [9, 70, 5, 5])],
)
def test_costs(cost, want):
    graph = streets()
    before = copy.deepcopy(graph)
    data = from_osmnx(graph, cost, project=True)
    assert nx.utils.graphs_equal(graph, before)
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.edge_cost.tolist() == want
    assert data.node_id.tolist() == OSMID
    assert data.lonlat.tolist() == [[1.5, 42.5], [1.501, 42.5], [1.502, 42.5]]
    step = data.pos[1] - data.pos[0]
    assert step.tolist() == pytest.approx([81.98, 0], abs=0.01)
    routes = Dijkstra(data)(0, 2).to_labels(data)
    assert routes == [nx.shortest_path(graph, OSMID[0], OSMID[2], weight=cost)]


def test_degrees_are_warned_of():
    with pytest.warns(UserWarning, match='degrees.*project=True') as caught:
        data = from_osmnx(streets())
    assert caught[0].filename == __file__
    assert (data.pos + data.pos_origin)[:, 1].tolist() == [42.5] * 3
    assert data.lonlat[:, 1].tolist() == [42.5] * 3


class CRS:
    """What pyproj has, of which OSMnx keeps one after projecting."""

    def __init__(self, is_geographic: bool) -> None:
        self.is_geographic = is_geographic


@pytest.mark.parametrize(
    'crs',
    [
        None,
        'epsg:4326',
        'EPSG:4269',
        'OGC:CRS84',
        '+proj=longlat +datum=WGS84 +no_defs',
        'GEOGCRS["WGS 84",DATUM["World Geodetic System 1984"]]',
        {'init': 'epsg:4326'},
        {'init': 'epsg:4258'},
        {'proj': 'longlat', 'datum': 'WGS84'},
        'epsg:7844',
        'epsg:6668',
        'epsg:4258',
        4258,
        'urn:ogc:def:crs:EPSG::4258',
        '{"type": "GeographicCRS", "name": "ETRS89"}',
        CRS(True),
    ],
)
def test_systems_in_degrees(crs):
    graph = streets()
    graph.graph['crs'] = crs
    with pytest.warns(UserWarning, match='degrees'):
        from_osmnx(graph)
    assert 'lonlat' in from_osmnx(graph, project=True)


@pytest.mark.parametrize(
    'crs',
    [
        None,
        'EPSG:32631',
        'epsg:3857',
        '+proj=utm +zone=31 +datum=WGS84',
        'PROJCRS["UTM 31",BASEGEOGCRS["WGS 84",ID["EPSG",4326]]]',
        'epsg:4647',
        'EPSG:4839',
        'epsg:4326',  # as it was written, but these are no degrees
        {'proj': 'utm', 'zone': 31},
        '{"type": "ProjectedCRS", "base_crs": {"type": "GeographicCRS"}}',
        CRS(False),
        CRS(True),
    ],
)
@pytest.mark.parametrize('project', [False, True])
def test_systems_in_metres(crs, project):
    graph = streets()
    graph.graph['crs'] = crs
    for _, values in graph.nodes(data=True):
        values['x'] *= 1000
        values['y'] *= 100_000
    data = from_osmnx(graph, project=project)
    assert 'lonlat' not in data
    assert (data.pos + data.pos_origin).tolist() == [
        [1500 + place, 4_250_000] for place in range(3)
    ]
    for _, values in graph.nodes(data=True):
        values.update(lon=1.5, lat=42.5)  # as older releases of OSMnx did
    data = from_osmnx(graph, project=project)
    assert data.lonlat.tolist() == [[1.5, 42.5]] * 3


@pytest.mark.parametrize('suffix', ['.graphml', '.graphml.gz'])
def test_graphml(tmp_path, suffix):
    path = tmp_path / f'streets{suffix}'
    save(streets(), path)
    data = from_osmnx(path, 'travel_time', project=True)
    assert_same_data(data, from_osmnx(streets(), 'travel_time', project=True))
    assert_same_data(from_osmnx(str(path), 'travel_time', project=True), data)
    with pytest.warns(UserWarning, match='degrees') as caught:
        from_osmnx(path)
    assert caught[0].filename == __file__


def test_graphml_of_other_labels(tmp_path):
    path = tmp_path / 'streets.graphml'
    graph = nx.relabel_nodes(streets(), dict(zip(OSMID, 'abc', strict=True)))
    save(graph, path)
    data = from_osmnx(path, project=True)
    assert data.node_id.tolist() == ['a', 'b', 'c']
    names = dict(zip(OSMID, ['7', '07', '8'], strict=True))
    save(nx.relabel_nodes(streets(), names), path)
    data = from_osmnx(path, project=True)
    assert data.node_id.tolist() == ['7', '07', '8']


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'', 'cannot read GraphML'),
        (b'{"nodes": []}', 'cannot read GraphML'),
        (b'<graphml>', 'cannot read GraphML'),
        (b'<html></html>', 'no graph in it'),
        (b'<graphml><graph><node/></graph></graphml>', "node lacks its 'id'"),
        (b'<graphml><graph/></graphml>', 'no edges'),
        (b'<graphml><graph/><graph/></graphml>', 'more than one graph'),
        (b'\x1f\x8bnonsense', 'cannot read'),
        (gzip.compress(b'<graphml>' * 1000, mtime=0)[:-20], 'cannot read'),
        (
            b'<!DOCTYPE a [<!ENTITY b "bbbb">]><graphml>&b;</graphml>',
            'document type',
        ),
        (
            b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]>'
            b'<graphml>&b;</graphml>',
            'document type',
        ),
    ],
)
def test_bad_graphml(tmp_path, content, message):
    path = tmp_path / 'streets.graphml'
    path.write_bytes(content)
    with pytest.raises(BCMError, match=message):
        from_osmnx(path)


@pytest.mark.parametrize('encoding', ['gb2312', 'shift_jis', 'utf-7', 'none'])
def test_graphml_of_other_encodings(tmp_path, encoding):
    path = tmp_path / 'a.graphml'
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?><a/>')
    with pytest.raises(BCMError, match='cannot read GraphML|no graph in it'):
        from_osmnx(path)


def test_labels_of_thousands_of_digits_stay_strings(tmp_path):
    graph = nx.MultiDiGraph(crs='epsg:32631')
    names = ['1' * 5000, '2']
    for number, name in enumerate(names):
        graph.add_node(name, x=float(number), y=1e6)
    graph.add_edge(*names, length=1.0)
    nx.write_graphml(graph, tmp_path / 'a.graphml')
    data = from_osmnx(tmp_path / 'a.graphml')
    assert labels_of(data) == names


def test_truncated_graphml(tmp_path):
    path = tmp_path / 'streets.graphml'
    save(streets(), path)
    content = path.read_bytes()
    for size in range(0, len(content) - 12, 97):
        path.write_bytes(content[:size])
        with pytest.raises(BCMError, match='GraphML'):
            from_osmnx(path, project=True)


def test_no_file(tmp_path):
    with pytest.raises(BCMError, match='there is no file'):
        from_osmnx(tmp_path / 'streets.graphml')


def test_missing_costs():
    graph = streets()
    for *_, values in graph.edges(data=True):
        del values['travel_time']
    with pytest.raises(BCMError, match="'travel_time': call osmnx.add_edge_sp"):
        from_osmnx(graph, 'travel_time', project=True)
    for *_, values in graph.edges(data=True):
        del values['length']
    with pytest.raises(BCMError, match=r"no edge has a 'length' \(edges have"):
        from_osmnx(graph, project=True)
    graph = streets()
    del graph.edges[OSMID[1], OSMID[2], 0]['length']
    with pytest.raises(BCMError, match='-> 53295141 has no .length. .1 of 5'):
        from_osmnx(graph, project=True)
    graph.edges[OSMID[1], OSMID[2], 0]['length'] = [40.0, 42.0]
    with pytest.raises(BCMError, match=r'finite number \(got \[40.0, 42.0\]'):
        from_osmnx(graph, project=True)


def test_missing_positions():
    graph = streets()
    del graph.nodes[OSMID[1]]['x']
    with pytest.raises(BCMError, match="node 1839958247 has no 'x'"):
        from_osmnx(graph)


def test_no_graph():
    with pytest.raises(BCMError, match='expected a networkx graph'):
        from_osmnx(None)


def test_real_network(data_dir, tmp_path, andorra):
    """Through GraphML and back, nothing changes."""
    file = np.load(data_dir / 'road' / 'andorra.npz')
    names = file['node_id'].tolist()
    graph = nx.MultiDiGraph(crs='epsg:4326')
    for name, (lon, lat) in zip(names, file['lonlat'].tolist(), strict=True):
        graph.add_node(name, x=lon, y=lat)
    for (tail, head), seconds in zip(
        file['edge_index'].T.tolist(), file['edge_cost'].tolist(), strict=True
    ):
        graph.add_edge(names[tail], names[head], travel_time=seconds)
    save(graph, tmp_path / 'andorra.graphml')
    data = from_osmnx(tmp_path / 'andorra.graphml', 'travel_time', project=True)
    assert data.node_id.tolist() == names
    tail, head = andorra.edge_index
    order = (tail * 1697 + head).argsort()
    assert torch.equal(data.edge_index, andorra.edge_index[:, order])
    assert torch.equal(data.edge_cost, andorra.edge_attr[order].float())
    middle = (andorra.pos.amin(0) + andorra.pos.amax(0)) / 2
    torch.testing.assert_close(
        data.pos.double(), andorra.pos - middle, rtol=1e-4, atol=0.2
    )


@pytest.mark.parametrize('bad', [float('nan'), '', 'east', None])
def test_bad_degrees_of_a_projected_network(bad):
    graph = streets()
    graph.graph['crs'] = 'epsg:32631'
    for _, values in graph.nodes(data=True):
        values.update(x=values['x'] * 1e5, lon=1.5, lat=42.5)
    graph.nodes[OSMID[1]]['lon'] = bad
    data = from_osmnx(graph)
    assert 'lonlat' not in data

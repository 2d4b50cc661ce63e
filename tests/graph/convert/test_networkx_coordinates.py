"""Where from_networkx finds coordinates."""

import warnings

import networkx as nx
import pytest
import torch
from helpers import assert_same_data
from networkx_rings import ring, with_nodes

from bcm_pyg import BCMError
from bcm_pyg.graph import from_networkx, labels_of


@pytest.mark.parametrize(
    'names',
    [
        ('pos',),
        ('coordinates',),
        ('Position',),
        ('x', 'y'),
        ('X', 'Y'),
        ('easting', 'northing'),
    ],
)
def test_names_of_positions(names):
    assert_same_data(from_networkx(with_nodes(*names)), from_networkx(ring()))


@pytest.mark.parametrize(
    'names',
    [('lon', 'lat'), ('lng', 'lat'), ('Longitude', 'Latitude')],
)
def test_degrees_are_warned_of(names):
    graph = with_nodes(*names)
    with pytest.warns(UserWarning, match='degrees.*project=True') as caught:
        data = from_networkx(graph)
    assert caught[0].filename == __file__
    assert data.lonlat.tolist() == [[0, 0], [1, 1], [2, 4]]
    assert data.lonlat.dtype == torch.double
    assert (data.pos + data.pos_origin).tolist() == data.lonlat.tolist()
    with pytest.warns(UserWarning, match='degrees'):
        assert_same_data(from_networkx(graph, pos=names), data)
    metres = from_networkx(graph, project=True)
    assert metres.lonlat.tolist() == data.lonlat.tolist()
    north = metres.pos[:, 1] - metres.pos[0, 1]
    assert north.tolist() == pytest.approx([0, 111195, 444780], rel=1e-4)
    assert_same_data(from_networkx(graph, pos=names, project=True), metres)


@pytest.mark.parametrize(
    'names',
    [('lat', 'lon'), ('lat', 'lng'), ('Latitude', 'Longitude'), ('y', 'x')],
)
def test_latitudes_may_be_named_first(names):
    graph = with_nodes(*names[::-1])
    want = from_networkx(graph, pos=names[::-1], project=True)
    assert_same_data(from_networkx(graph, pos=names, project=True), want)
    if names == ('y', 'x'):  # may be anything, unless they are projected
        assert 'lonlat' not in from_networkx(graph, pos=names)
        return
    with pytest.warns(UserWarning, match='degrees'):
        data = from_networkx(graph, pos=names)
    assert data.lonlat.tolist() == [[0, 0], [1, 1], [2, 4]]
    assert (data.pos + data.pos_origin).tolist() == [[0, 0], [1, 1], [4, 2]]


def test_planar_coordinates_come_before_degrees():
    graph = ring()
    for node in graph:
        graph.nodes[node].update(lon=5.0, lat='6')
    data = from_networkx(graph)
    assert torch.equal(data.pos, from_networkx(ring()).pos)
    assert data.lonlat.tolist() == [[5, 6]] * 3
    projected = from_networkx(graph, project=True)
    assert projected.pos.tolist() == [[0, 0]] * 3
    assert projected.lonlat.tolist() == [[5, 6]] * 3


@pytest.mark.parametrize(
    'bad',
    [
        {'lon': float('nan'), 'lat': 1.0},
        {'lon': '', 'lat': ''},
        {'long': 'a long description', 'lat': 'x'},
    ],
)
def test_bad_degrees_do_not_matter_beside_positions(bad):
    graph = ring()
    for node in graph:
        graph.nodes[node].update(bad)
    want = from_networkx(ring())
    assert_same_data(from_networkx(graph), want)
    assert_same_data(from_networkx(graph, pos=('x', 'y')), want)
    with pytest.raises(BCMError, match="'a': 'lon.*must be a finite number"):
        from_networkx(graph, project=True)
    for node in graph:
        graph.nodes[node].update(longitude=5.0, latitude=6.0)
    assert from_networkx(graph).lonlat.tolist() == [[5, 6]] * 3


def test_plain_coordinates_can_be_projected():
    by_name = from_networkx(with_nodes('lon', 'lat'), project=True)
    assert_same_data(from_networkx(ring(), project=True), by_name)
    far = {node: (0, 91) for node in 'abc'}
    with pytest.raises(BCMError, match='longitudes and latitudes in degrees'):
        from_networkx(ring(), pos=far, project=True)


def test_a_third_axis():
    graph = ring()
    for node in 'ab':
        graph.nodes[node]['z'] = 5
    assert from_networkx(graph).pos.shape == (3, 2)
    graph.nodes['c']['z'] = 6
    assert from_networkx(graph).pos[:, 2].tolist() == [-0.5, -0.5, 0.5]
    assert from_networkx(graph, pos=['z', 'x']).pos.shape == (3, 2)
    assert from_networkx(graph, pos='z').pos.shape == (3, 1)


def test_positions_from_a_dictionary():
    graph = nx.grid_2d_graph(3, 4)
    data = from_networkx(graph, lambda *edge: 1, {n: n for n in graph})
    assert data.coord.tolist() == [list(node) for node in graph]
    assert data.num_edges == 2 * graph.number_of_edges()
    layout = nx.circular_layout(graph)
    assert from_networkx(graph, lambda *edge: 1, layout).num_nodes == 12
    with pytest.raises(BCMError, match=r"node \(0, 0\) has no 'pos'"):
        from_networkx(graph, lambda *edge: 1, {})


def test_without_coordinates():
    graph = nx.grid_2d_graph(3, 4)
    data = from_networkx(graph, lambda *edge: 1)
    assert data.get('pos') is None and data.num_nodes == 12
    assert labels_of(data) == list(graph)
    for arguments in ({'cost': 'length'}, {'project': True}):
        with pytest.raises(BCMError, match='no coordinates.*pos={node: node'):
            from_networkx(graph, **{'cost': lambda *edge: 1} | arguments)
    graph.nodes[0, 0].update(lon=1.0, lat=2.0)  # and the others have none
    with pytest.raises(BCMError, match=r"node \(0, 1\) has no 'lon'"):
        from_networkx(graph, lambda *edge: 1)


def test_two_candidates_must_agree():
    graph = ring()
    for _, values in graph.nodes(data=True):
        values['pos'] = [values['x'], values['y']]
    assert_same_data(from_networkx(graph), from_networkx(ring()))
    graph.nodes['b']['pos'] = [0, 0]
    with pytest.raises(BCMError, match=r"differ: 'pos', \('x', 'y'\)"):
        from_networkx(graph)
    assert from_networkx(graph, pos=('x', 'y')).num_nodes == 3


@pytest.mark.parametrize(
    ('value', 'message'),
    [
        (None, "node 'b' has no 'pos'"),
        ('(1, 2)', "node 'b': 'pos' must hold finite coordinates"),
        ([1, float('inf')], 'finite coordinates'),
        ([], 'finite coordinates'),
        ([1, 2, 3], "node 'b': 'pos' has 3 coordinates, others have 2"),
        ([1, None], 'finite coordinates'),
    ],
)
def test_bad_positions(value, message):
    graph = with_nodes('pos')
    graph.nodes['b']['pos'] = value
    with pytest.raises(BCMError, match=message):
        from_networkx(graph)


@pytest.mark.parametrize(
    'other',
    [{'position': 'stop 1'}, {'coords': None}, {'pos': (1, float('nan'))}],
)
def test_attributes_of_other_meaning_do_not_matter(other):
    graph = nx.Graph()
    graph.add_node('a', x=0, y=1, **other)
    graph.add_node('b', x=3, y=5)
    graph.add_edge('a', 'b')
    data = from_networkx(graph, 'length')
    assert data.edge_cost.tolist() == [5, 5]
    for node in graph:
        del graph.nodes[node]['x']
    with pytest.raises(BCMError, match=r'Name other coordinates with pos=\.'):
        from_networkx(graph, 'length')
    for node in graph:
        graph.nodes[node].update({'lon': 24.0, 'lat': 60.0})
    with pytest.warns(UserWarning, match='the coordinates are degrees'):
        assert from_networkx(graph, 'length').edge_cost.tolist() == [0, 0]


@pytest.mark.parametrize('bad', [None, 'oops'])
def test_a_bad_axis_is_not_made_up_for_by_another_name(bad):
    graph = nx.Graph()
    graph.add_node(0, x=0, y=0, coord=0)
    graph.add_node(1, x=bad, y=4, coord=1)
    graph.add_edge(0, 1)
    with pytest.raises(BCMError, match="node 1.*'x'"):
        from_networkx(graph, 'length')


def test_degrees_by_the_reference_system():
    graph = nx.MultiDiGraph(crs='epsg:4326')
    graph.add_node(0, x=24.9412, y=60.17)
    graph.add_node(1, x=24.9416, y=60.17)
    graph.add_edge(0, 1, length=22.0)
    with pytest.warns(UserWarning, match='the coordinates are degrees'):
        data = from_networkx(graph)
    assert data.lonlat.tolist() == [[24.9412, 60.17], [24.9416, 60.17]]
    for node in graph:
        graph.nodes[node]['z'] = 5.0 + node
    with pytest.warns(UserWarning, match='the coordinates are degrees'):
        assert from_networkx(graph).lonlat.tolist() == data.lonlat.tolist()
    graph.graph['crs'] = '+proj=utm +zone=35'
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert 'lonlat' not in from_networkx(graph)
        graph.graph['crs'] = 'epsg:3857'  # a number tells nothing
        assert 'lonlat' not in from_networkx(graph)
        graph.graph['crs'] = 'epsg:4326'
        for node in graph:
            graph.nodes[node].update({'lon': 24.0 + node, 'lat': 60.0})
        data = from_networkx(graph)
        assert data.lonlat.tolist() == [[24, 60], [25, 60]]


def test_missing_positions():
    graph = ring()
    del graph.nodes['c']['y']
    with pytest.raises(BCMError, match="node 'c' has no 'y'"):
        from_networkx(graph)
    graph = with_nodes('lon', 'lat')
    del graph.nodes['c']['lat']
    with pytest.raises(BCMError, match="node 'c' has no 'lat'"):
        from_networkx(graph)
    with pytest.raises(BCMError, match='pos must be the name'):
        from_networkx(graph, pos=3)
    with pytest.raises(BCMError, match='pos must be the name'):
        from_networkx(graph, pos=())


# Graphs ----------------------------------------------------------------------

import json
import os

import numpy as np
import pytest
import torch

from bcm_pyg import BCMError
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.export import to_geodataframe, to_geojson
from bcm_pyg.graph import from_arrays, read_npz

LONLAT = [[1.5, 42.5], [1.6, 42.5], [1.7, 42.123456789], [9.0, 9.0]]


def graph(**more: object):
    pos = more.pop('pos', [[7.0, 4e6], [8.5, 4e6], [9.0, 4e6], [9.0, 5e6]])
    return from_arrays(pos, [[0, 1, 2], [1, 2, 0]], [1, 2, 3.5], **more)


def test_features(tmp_path):
    data = graph(node_id=['a', 'b', ('c', 1), 'd'], lonlat=LONLAT)
    plan = Dijkstra(data)([0, 3, 0], [2, 3, 3])
    path = tmp_path / 'routes.geojson'
    out = to_geojson(plan, data, path)
    assert out == {
        'type': 'FeatureCollection',
        'features': [
            {
                'type': 'Feature',
                'geometry': {
                    'type': 'LineString',
                    'coordinates': [
                        [1.5, 42.5],
                        [1.6, 42.5],
                        [1.7, 42.1234568],
                    ],
                },
                'properties': {
                    'query': 0,
                    'success': True,
                    'cost': 3.0,
                    'hops': 2,
                    'start': 'a',
                    'goal': "('c', 1)",
                },
            },
            {
                'type': 'Feature',
                'geometry': {'type': 'Point', 'coordinates': [9.0, 9.0]},
                'properties': {
                    'query': 1,
                    'success': True,
                    'cost': 0.0,
                    'hops': 0,
                    'start': 'd',
                    'goal': 'd',
                },
            },
            {
                'type': 'Feature',
                'geometry': None,
                'properties': {
                    'query': 2,
                    'success': False,
                    'cost': None,
                    'hops': None,
                    'start': None,
                    'goal': None,
                },
            },
        ],
    }
    assert json.loads(path.read_text()) == out
    assert os.listdir(tmp_path) == ['routes.geojson']
    assert to_geojson(plan, data) == out


def test_source_coordinates():
    """Without longitudes, places are as in the source, not as centred."""
    data = graph()
    out = to_geojson(Dijkstra(data)(0, 2), data)
    assert out['features'][0]['geometry']['coordinates'] == [
        [7.0, 4e6],
        [8.5, 4e6],
        [9.0, 4e6],
    ]
    assert out['features'][0]['properties']['goal'] == 2
    space = graph(pos=torch.arange(20.0).view(4, 5))
    out = to_geojson(Dijkstra(space)(0, 1), space)
    assert out['features'][0]['geometry']['coordinates'] == [
        [0, 1, 2],
        [5, 6, 7],
    ]


@pytest.mark.parametrize('scale', [1e-9, 1e-3, 1.0, 1e5])
def test_places_are_as_fine_as_the_graph(scale):
    pos = [[0.1001, 0.2], [0.1004, 0.2], [0.2, 0.3], [0.1, 0.1]]
    data = graph(pos=scale * torch.tensor(pos, dtype=torch.double))
    out = to_geojson(Dijkstra(data)(0, 1), data)
    line = out['features'][0]['geometry']['coordinates']
    want = [[scale * x for x in place] for place in pos[:2]]
    assert line == [pytest.approx(place, rel=1e-6) for place in want]


def test_every_axis_has_digits_of_its_own():
    pos = [[0, 0.123, 0], [1e7, 0.4567, 0], [3e7, 0.9, 0], [5, 0.1, 0]]
    data = graph(pos=torch.tensor(pos, dtype=torch.double))
    out = to_geojson(Dijkstra(data)(0, 1), data)
    (_, y, z), second = out['features'][0]['geometry']['coordinates']
    assert (y, z) == (pytest.approx(0.123), 0)
    assert second[1] == pytest.approx(0.4567)


def test_ids_stay_numbers():
    ids = np.array([np.int64(3), 2.5, 'x', (1, 2)], dtype=object)
    data = graph(node_id=ids)
    out = to_geojson(Dijkstra(data)([0, 1, 2, 3], [0, 1, 2, 3]), data)
    found = [feature['properties']['goal'] for feature in out['features']]
    assert found == [3, 2.5, 'x', '(1, 2)']


def test_no_queries(tmp_path):
    data = graph()
    out = to_geojson(Dijkstra(data)([], []), data, tmp_path / 'a.geojson')
    assert out == {'type': 'FeatureCollection', 'features': []}


def test_errors(tmp_path):
    data = graph()
    plan = Dijkstra(data)(0, 2)
    with pytest.raises(BCMError, match='cannot write'):
        to_geojson(plan, data, tmp_path / 'none' / 'a.geojson')
    with pytest.raises(BCMError, match='cannot write'):
        to_geojson(plan, data, tmp_path)
    with pytest.raises(BCMError, match='plan must be a Plan'):
        to_geojson(None, data)
    line = graph(pos=[[0.0], [1.0], [2.0], [3.0]])
    with pytest.raises(BCMError, match='at least two axes'):
        to_geojson(Dijkstra(line)(0, 2), line)
    line.lonlat = torch.zeros(4, 3)
    with pytest.raises(BCMError, match=r'lonlat must have shape \[4, 2\]'):
        to_geojson(Dijkstra(line)(0, 2), line)


def test_a_write_that_stops_leaves_the_old_file(tmp_path, monkeypatch):
    data = graph()
    path = tmp_path / 'a.geojson'
    to_geojson(Dijkstra(data)(0, 2), data, path)
    before = path.read_bytes()

    def stop(*args: object) -> None:
        raise OSError('disk full')

    monkeypatch.setattr(os, 'replace', stop)
    with pytest.raises(BCMError, match='disk full'):
        to_geojson(Dijkstra(data)(0, 1), data, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ['a.geojson']


def test_real_network(data_dir):
    data = read_npz(data_dir / 'road' / 'andorra.npz')
    plan = Dijkstra(data)([0, 5], [900, 20])
    for query, feature in enumerate(to_geojson(plan, data)['features']):
        path = plan.path(query)
        line = torch.tensor(
            feature['geometry']['coordinates'], dtype=torch.double
        )
        torch.testing.assert_close(line, data.lonlat[path], rtol=0, atol=1e-7)
        assert feature['properties']['start'] == int(data.node_id[path[0]])


def drawn(lonlat):
    """The geometry of the route along a chain of places."""
    ids = torch.arange(len(lonlat))
    data = from_arrays(
        torch.rand(len(lonlat), 2),
        torch.stack([ids[:-1], ids[1:]]),
        torch.ones(len(lonlat) - 1),
        lonlat=lonlat,
    )
    plan = Dijkstra(data)([0], [len(lonlat) - 1])
    geometry = to_geojson(plan, data)['features'][0]['geometry']
    return geometry['type'], geometry['coordinates']


EAST = [[179.0, 10.0], [180.0, 12.0]]
WEST = [[-180.0, 12.0], [-178.0, 16.0]]


@pytest.mark.parametrize('other', [-178.0, 182.0])
def test_lines_are_cut_at_the_180th_meridian(other):
    there = [[179.0, 10.0], [other, 16.0]]
    assert drawn(there) == ('MultiLineString', [EAST, WEST])
    back = [[*reversed(WEST)], [*reversed(EAST)]]
    assert drawn([*reversed(there)]) == ('MultiLineString', back)
    kind, parts = drawn([[178.0, 10.0], *there, [179.0, 20.0], [178.0, 20.0]])
    assert kind == 'MultiLineString'
    assert parts[0] == [[178.0, 10.0], *EAST]
    assert parts[1][:2] == WEST and parts[1][2][0] == -180
    assert parts[2][0][0] == 180 and parts[2][1:] == [[179, 20], [178, 20]]
    assert parts[1][2][1] == parts[2][0][1]


@pytest.mark.parametrize(
    ('lonlat', 'lines'),
    [
        ([[180, 1], [-179, 2]], [[-180, 1], [-179, 2]]),
        ([[-179, 1], [180, 2]], [[-179, 1], [-180, 2]]),
        ([[180, 1], [-180, 2]], [[-180, 1], [-180, 2]]),
        ([[180, 1], [-180, 1]], [[180, 1], [180, 1]]),
        ([[180, 1], [180, 1]], [[180, 1], [180, 1]]),
        (
            [[179, 0], [180, 1], [-180, 1], [-179, 2]],
            [
                [[179, 0], [180, 1], [180, 1]],
                [[-180, 1], [-180, 1], [-179, 2]],
            ],
        ),
    ],
)
def test_nodes_on_the_180th_meridian(lonlat, lines):
    kind = 'LineString' if isinstance(lines[0][0], int) else 'MultiLineString'
    assert drawn(lonlat) == (kind, lines)


def test_longitudes_of_another_range():
    line = [[190.0, 1.0], [359.0, 2.0], [1.0, 3.0]]
    drawn_line = [[-170.0, 1.0], [-1.0, 2.0], [1.0, 3.0]]
    assert drawn(line) == ('LineString', drawn_line)
    assert drawn([[-182.0, 1.0], [178.0, 1.0]])[1] == [[178, 1], [178, 1]]


@pytest.mark.parametrize('place', [[400.0, 1.0], [4e5, 4e6], [1.0, 91.0]])
def test_places_that_are_not_on_earth(place):
    with pytest.raises(BCMError, match='node 1 of a route cannot be drawn'):
        drawn([[1.0, 1.0], place])


def test_long_lines_elsewhere_stay_whole():
    line = [[-90.0, 1.0], [90.0, 2.0], [0.0, 0.0]]
    assert drawn(line) == ('LineString', line)


def test_a_place_that_is_unknown(tmp_path):
    lonlat = [[1.0, 2.0], [float('nan'), 2.0], [1.0, 1.0]]
    data = from_arrays(
        np.eye(3), [[0, 1, 2], [1, 2, 0]], [1, 1, 1], lonlat=lonlat
    )
    plan = Dijkstra(data)([2, 0], [0, 2])
    with pytest.raises(BCMError, match='node 1 of a route cannot be drawn'):
        to_geojson(plan, data, tmp_path / 'a.geojson')
    assert not (tmp_path / 'a.geojson').exists()
    (feature,) = to_geojson(Dijkstra(data)([2], [0]), data)['features']
    assert feature['geometry']['coordinates'] == [[1, 1], [1, 2]]


def test_geodataframe():
    gpd = pytest.importorskip('geopandas')
    data = graph(node_id=['a', 'b', 'c', 'd'], lonlat=LONLAT)
    plan = Dijkstra(data)([0, 3, 0], [2, 3, 3])
    frame = to_geodataframe(plan, data)
    assert isinstance(frame, gpd.GeoDataFrame)
    assert frame.crs == 'EPSG:4326'
    line, point, none = frame.geometry
    assert line.geom_type == 'LineString' and point.geom_type == 'Point'
    assert [*line.coords] == [(1.5, 42.5), (1.6, 42.5), (1.7, 42.1234568)]
    assert none is None
    assert frame.start.tolist() == ['a', 'd', 'a']
    assert frame.equals(plan.to_geodataframe(data))
    assert frame.cost.tolist() == [3, 0, float('inf')]
    assert to_geodataframe(Dijkstra(graph())(0, 2), graph()).crs is None


def test_bends_across_the_180th_meridian():
    lonlat = [[179.9, 10.0], [-179.9, 10.0], [179.9, 10.2]]
    data = from_arrays(
        [[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]],
        [[0, 1, 2], [1, 2, 0]],
        [1.0, 1.0, 1.0],
        lonlat=lonlat,
        edge_bends=[[0, 1], [1, 2], [2, 2]],
        bends=[[[15.0, 5.0], [5.0, 5.0]]],
    )
    there = to_geojson(Dijkstra(data)(0, 1), data)['features'][0]['geometry']
    assert there['type'] == 'MultiLineString'
    first, second = there['coordinates']
    assert first[0] == [179.9, 10] and first[1][0] == 180
    assert second == [[-180, first[1][1]], [-179.95, 10.05], [-179.9, 10]]

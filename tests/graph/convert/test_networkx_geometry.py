"""Streets keep their bends, whatever they come from."""

import math
import time

import networkx as nx
import numpy as np
import pytest
from torch_geometric.data import Data

from bcm_pyg.baselines import Dijkstra
from bcm_pyg.export import to_geojson
from bcm_pyg.graph import from_networkx, from_osmnx, route_points
from bcm_pyg.graph.convert._attributes import as_line

CORNER = [[1.5, 42.5], [1.502, 42.5], [1.503, 42.501], [1.503, 42.502]]


class Line:
    """What is used of a line of shapely."""

    def __init__(self, points):
        self.coords = points


def wkt(points, kind='LINESTRING'):
    return f'{kind} ({", ".join(" ".join(map(str, p)) for p in points)})'


FORMS = {
    'list': lambda points: points,
    'array': np.array,
    'shapely': Line,
    'text': wkt,
    'heights': lambda points: wkt([[*p, 7.5] for p in points], 'LineString Z'),
}


def streets(form, line=CORNER, kind=nx.MultiDiGraph):
    graph = kind(crs='epsg:4326')
    for node, (x, y) in {7: line[0], 8: line[-1], 9: [1.51, 42.49]}.items():
        graph.add_node(node, x=x, y=y)
    graph.add_edge(7, 8, length=400.0, geometry=form(line))
    graph.add_edge(8, 9, length=900.0)
    graph.add_edge(9, 7, length=900.0)
    return graph


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('project', [True, False])
@pytest.mark.parametrize('read', [from_osmnx, from_networkx])
@pytest.mark.filterwarnings('ignore:the coordinates are degrees')
def test_forms(form, project, read):
    data = read(streets(FORMS[form]), 'length', project=project)
    line = route_points(data, [0, 1, 2], data.lonlat)
    want = [*CORNER, [1.51, 42.49]]
    np.testing.assert_allclose(line, want, rtol=0, atol=1e-8)
    drawn = to_geojson(Dijkstra(data)(0, 1), data)['features'][0]['geometry']
    assert drawn == {'type': 'LineString', 'coordinates': CORNER}
    if project:  # in metres, the corner is off the chord by as much as it is
        ends = route_points(data, [0, 1])
        east = (
            0.002
            * 111_195
            * math.cos(math.radians(float(data.lonlat[:, 1].mean())))
        )
        assert ends[1, 0] - ends[0, 0] == pytest.approx(east, rel=1e-3)


def test_files_of_osmnx(tmp_path):
    nx.write_graphml(streets(wkt), tmp_path / 'a.graphml')
    data = from_osmnx(tmp_path / 'a.graphml', project=True)
    line = route_points(data, [0, 1], data.lonlat)
    np.testing.assert_allclose(line, CORNER, rtol=0, atol=1e-8)


@pytest.mark.parametrize('turned', [False, True])
def test_undirected_streets_are_turned(turned):
    graph = streets(list, CORNER, nx.Graph)
    if turned:
        graph.edges[7, 8]['geometry'] = CORNER[::-1]
    data = from_networkx(graph, project=True)
    there = route_points(data, [0, 1], data.lonlat)
    np.testing.assert_allclose(there, CORNER, rtol=0, atol=1e-8)
    back = route_points(data, [1, 0], data.lonlat)
    np.testing.assert_allclose(back, CORNER[::-1], rtol=0, atol=1e-8)


def test_the_cheapest_of_parallel_streets_keeps_its_own():
    graph = streets(list)
    graph.add_edge(7, 8, length=300.0, geometry=[CORNER[0], CORNER[-1]])
    graph.add_edge(
        9, 7, length=2.0, geometry=[[1.51, 42.49], [1.5, 42.49], CORNER[0]]
    )
    data = from_osmnx(graph, project=True)
    assert len(route_points(data, [0, 1])) == 2
    line = route_points(data, [2, 0], data.lonlat)
    np.testing.assert_allclose(line[1], [1.5, 42.49], rtol=0, atol=1e-8)


def test_projected_streets_are_drawn_in_degrees():
    """Bends are in metres there, and only nodes have degrees."""
    rng = np.random.default_rng(0)
    graph = nx.MultiDiGraph(crs='epsg:32631')
    xy = rng.uniform(0, 5000, (30, 2)) + [3e5, 4.7e6]

    def degrees(points):  # turned and bent, as another projection is
        x, y = (np.asarray(points) - [3e5, 4.7e6]).T / 1e5
        lon, lat = x - 0.02 * y + 0.05 * x * y, y + 0.02 * x - 0.03 * x**2
        return np.stack([1.5 + lon, 42.5 + lat], axis=-1)

    for node, (x, y) in enumerate(xy):
        lon, lat = degrees([(x, y)])[0]
        graph.add_node(node, x=x, y=y, lon=lon, lat=lat)
    for tail in range(30):
        head = (tail + 1) % 30
        middle = xy[[tail, head]].mean(axis=0) + rng.uniform(-200, 200, 2)
        line = [xy[tail], middle, xy[head]]
        graph.add_edge(tail, head, length=1.0, geometry=line)
    data = from_osmnx(graph)
    nodes = list(range(30))
    points = route_points(data, nodes) + data.pos_origin.numpy()
    got = route_points(data, nodes, data.lonlat)
    np.testing.assert_allclose(got, degrees(points), rtol=0, atol=3e-5)


@pytest.mark.parametrize(
    'geometry',
    [
        'POINT (1 2)',
        'LINESTRING (1 x, 2 3)',
        'LINESTRING EMPTY',
        [[1.5, 42.5], [float('nan'), 1.0]],
        [[1.5, 42.5]],
        [[1.5, 42.5], [1.5]],
        [[4e5, 4e6], [4e5, 4e6 + 1]],
        5,
    ],
)
def test_what_is_no_line_is_told(geometry):
    graph = streets(lambda line: geometry)
    with pytest.warns(
        UserWarning, match='1 of 3 edges have a geometry'
    ) as told:
        data = from_osmnx(graph, project=True)
    assert told[0].filename == __file__
    assert isinstance(data, Data) and 'edge_bends' not in data


def test_with_shapely():
    shapely = pytest.importorskip('shapely')
    data = from_osmnx(streets(shapely.LineString), project=True)
    line = route_points(data, [0, 1], data.lonlat)
    np.testing.assert_allclose(line, CORNER, rtol=0, atol=1e-8)
    several = shapely.MultiLineString([CORNER[:2], CORNER[2:]])
    with pytest.warns(UserWarning, match='drawn straight'):
        data = from_osmnx(streets(lambda line: several), project=True)
    assert 'edge_bends' not in data


@pytest.mark.parametrize(
    'text',
    ['LINESTRING' + ' ' * 10**6 + 'x', 'LINESTRING Z' + ' ' * 10**6 + '(x)'],
)
def test_texts_that_are_nearly_lines_take_little_time(text: str) -> None:
    began = time.process_time()
    assert as_line(text) is None
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ('text', 'points'),
    [
        ('LINESTRING(0 1,2 3)', [[0, 1], [2, 3]]),
        ('linestring  ZM ( 0 1 2 3 , 4 5 6 7 )', [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ('LINESTRING (0 1, 2)', None),
        ('LINESTRING (0, 1 2 3)', None),
        ('LINESTRING (0 1,, 2 3)', None),
        ('LINESTRING (0 1, nan 3)', None),
        ('LINESTRING ()', None),
    ],
)
def test_lines_as_text(text: str, points: list | None) -> None:
    line = as_line(text)
    assert (None if line is None else line.tolist()) == points

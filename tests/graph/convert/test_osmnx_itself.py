"""Graphs that OSMnx makes, where it is installed."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from small_fits import tiny

from bcm_pyg import CognitiveMap
from bcm_pyg.graph import from_osmnx, route_points

osmnx = pytest.importorskip('osmnx')

#: Corners of a square with a diagonal; the last three streets have bends.
CORNERS = {1: (0, 0), 2: (0, 2), 3: (2, 2), 4: (2, 0), 5: (1, 3), 6: (3, 1)}
STREETS = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3), (2, 5, 3), (3, 6, 4)]


@pytest.fixture
def graph(tmp_path: Path) -> nx.MultiDiGraph:
    lines = ['<osm version="0.6">']
    for node, (x, y) in CORNERS.items():
        lon, lat = 11.5 + 0.001 * x, 48.1 + 0.001 * y
        lines.append(f'<node id="{node}" lat="{lat}" lon="{lon}" />')
    for way, nodes in enumerate(STREETS, start=100):
        ends = ''.join(f'<nd ref="{node}" />' for node in nodes)
        tags = '<tag k="highway" v="residential" />'
        tags += '<tag k="oneway" v="yes" />' if way == 104 else ''
        lines.append(f'<way id="{way}">{ends}{tags}</way>')
    path = tmp_path / 'streets.osm'
    path.write_text('\n'.join([*lines, '</osm>']))
    return osmnx.graph_from_xml(path)


def test_routes_in_osm_ids_with_bends(graph: nx.MultiDiGraph) -> None:
    assert set(graph) == {1, 2, 3, 4}  # bends are no nodes
    atlas = CognitiveMap.learn(graph, config=tiny(steps=2))
    route = atlas.route(1, 3)
    assert route.nodes == osmnx.shortest_path(graph, 1, 3) == [1, 3]
    best = nx.shortest_path_length(graph, 3, 1, 'length')
    assert atlas.route(3, 1).cost == pytest.approx(best, rel=1e-5)  # one way
    (feature,) = atlas.to_geojson(route)['features']
    assert feature['geometry']['coordinates'][0] == [11.5, 48.1]


def test_travel_times_and_files(graph: nx.MultiDiGraph, tmp_path: Path) -> None:
    graph = osmnx.add_edge_speeds(graph, fallback=30)
    graph = osmnx.add_edge_travel_times(graph)
    data = from_osmnx(graph, 'travel_time', project=True)
    assert data.num_edges == 9 and data.lonlat.shape == (4, 2)
    osmnx.save_graphml(graph, tmp_path / 'streets.graphml')
    read = from_osmnx(tmp_path / 'streets.graphml', 'travel_time', project=True)
    assert read.edge_cost.tolist() == data.edge_cost.tolist()
    flat = from_osmnx(osmnx.project_graph(graph), 'length')
    size = flat.pos.max(dim=0).values - flat.pos.min(dim=0).values
    assert size.tolist() == pytest.approx([149, 222], rel=0.05)  # metres


def test_streets_without_a_shorter_twin_keep_bends(
    graph: nx.MultiDiGraph,
) -> None:
    graph.remove_edges_from([(2, 3, key) for key in list(graph[2][3])[:1]])
    data = from_osmnx(graph, project=True)
    tail, head = (data.node_id.tolist().index(node) for node in (2, 3))
    assert len(route_points(data, [tail, head])) == 3

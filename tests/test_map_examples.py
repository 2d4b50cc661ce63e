"""The examples on real kinds of maps, on small ones of the same form."""

import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np

EXAMPLES = Path(__file__).parents[1] / 'examples'


def run(name: str, *args: str):
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *args],
        capture_output=True,
        text=True,
        timeout=200,
    )


def succeed(name: str, *args: str) -> str:
    done = run(name, *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(out: str) -> dict[str, float]:
    """Success rate by the first word of a row."""
    words = [line.split() for line in out.splitlines()]
    names = ('Dijkstra', 'BCM')
    return {w[0]: float(w[1]) for w in words if w and w[0] in names}


def town(path: Path) -> None:
    """Seven by seven crossings in degrees, and a street that leads out."""
    graph = nx.MultiDiGraph(crs='epsg:4326')
    for row, column in np.ndindex(7, 7):
        x, y = 1.5 + column / 1000, 42.5 + row / 1000
        graph.add_node(10 * row + column, x=str(x), y=str(y))
    for tail in list(graph):
        for head in (tail + 1, tail + 10):
            if head in graph:
                seconds = str(5 + (tail * head) % 7)
                graph.add_edge(tail, head, travel_time=seconds, length='80')
                graph.add_edge(head, tail, travel_time=seconds, length='80')
    graph.add_node(99, x='1.6', y='42.6')
    graph.add_edge(66, 99, travel_time='60', length='900')
    nx.write_graphml(graph, path)


def test_road_network(tmp_path):
    town(tmp_path / 'town.graphml')
    out = succeed(
        'road_network.py',
        *('--graph', str(tmp_path / 'town.graphml'), '--budget', '1'),
        *('--queries', '40', '--out', str(tmp_path / 'out')),
    )
    assert '49 nodes, 168 directed edges; 1 nodes' in out
    assert rows(out)['Dijkstra'] == 1
    assert 0 < rows(out)['BCM'] <= 1
    routes = json.loads((tmp_path / 'out' / 'routes.geojson').read_text())
    assert len(routes['features']) == 40
    (lon, lat), *_ = routes['features'][0]['geometry']['coordinates']
    assert 1.49 < lon < 1.51 and 42.49 < lat < 42.51
    assert (tmp_path / 'out' / 'routes.png').stat().st_size > 10_000
    assert (tmp_path / 'out' / 'map' / 'config.json').exists()


def test_movingai(tmp_path):
    cells = ['.' * 8, '.@@@@@@.', '.@....@.', '........']
    head = 'type octile\nheight 4\nwidth 8\nmap\n'
    (tmp_path / 'hall.map').write_text(head + '\n'.join(cells) + '\n')
    (tmp_path / 'hall.map.scen').write_text(
        'version 1\n'
        '0\thall.map\t8\t4\t0\t0\t7\t0\t7\n'
        '0\thall.map\t8\t4\t2\t2\t0\t0\t6\n'
    )
    out = succeed(
        'movingai.py',
        *('--map', str(tmp_path / 'hall.map'), '--budget', '1'),
        *('--out', str(tmp_path / 'out')),
    )
    assert '8 x 4 cells, 24 of them free' in out
    assert 'differ by 0e+00' in out
    assert rows(out)['Dijkstra'] == 1
    assert (tmp_path / 'out' / 'routes.png').stat().st_size > 10_000


def test_terrain(tmp_path):
    out = succeed(
        'terrain.py',
        *('--stride', '40', '--budget', '1', '--queries', '50'),
        *('--out', str(tmp_path)),
    )
    assert '99 nodes, ' in out
    assert rows(out)['Dijkstra'] == 1
    assert (tmp_path / 'routes.png').stat().st_size > 10_000


def test_road_network_runs_without_data(tmp_path):
    more = ('--budget', '1', '--queries', '20', '--out', str(tmp_path))
    out = succeed('road_network.py', *more)
    assert '472 nodes, ' in out and ' Street ' in out
    assert rows(out)['Dijkstra'] == 1
    routes = json.loads((tmp_path / 'routes.geojson').read_text())
    assert len(routes['features']) == 20


def test_movingai_runs_without_data(tmp_path):
    more = ('--budget', '1', '--queries', '20', '--out', str(tmp_path))
    out = succeed('movingai.py', *more)
    assert '64 x 64 cells, 3026 of them free' in out
    assert rows(out)['Dijkstra'] == 1


def test_missing_data_is_told(tmp_path):
    done = run('road_network.py', '--graph', str(tmp_path / 'none'))
    assert done.returncode == 2
    assert 'error: there is no file' in done.stderr

"""A small sound file of each kind of graph, and what reads it."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from bcm_pyg.graph import (
    from_osmnx,
    read_movingai,
    read_npz,
    read_osm,
    read_scenarios,
)

MAP = b'type octile\nheight 4\nwidth 5\nmap\n.....\n.@@..\n..@T.\nGS.W.\n'
VOXELS = b'voxel 3 4 2\n0 0 0\n1 1 1\n2 3 1\n'
SCENARIO = (
    b'version 1\n'
    b'0\tx.map\t5\t4\t0\t0\t4\t0\t4\n'
    b'1\tx.map\t5\t4\t0\t0\t4\t3\t7.5\n'
)
STREETS = (
    b'<osm version="0.6"><node id="1" lat="50.1" lon="4.1"/>'
    b'<node id="2" lat="50.2" lon="4.1"/><node id="3" lat="50.2" lon="4.3"/>'
    b'<way id="7"><nd ref="1"/><nd ref="2"/><nd ref="3"/><nd ref="1"/>'
    b'<tag k="highway" v="residential"/><tag k="oneway" v="yes"/></way>'
    b'<way id="8"><nd ref="1"/><nd ref="3"/><tag k="highway" v="primary"/>'
    b'<tag k="maxspeed" v="30 mph"/></way></osm>'
)


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(
        file,
        pos=np.arange(6.0).reshape(3, 2),
        edge_index=np.array([[0, 1, 2], [1, 2, 0]]),
        edge_cost=np.array([1.0, 2.0, 0.5]),
        node_id=np.array([7, 8, 9]),
    )
    return file.getvalue()


def graphml() -> bytes:
    graph = nx.MultiDiGraph(crs='epsg:32631')
    graph.add_nodes_from((n, {'x': 1e5 + n, 'y': n / 2}) for n in range(4))
    graph.add_edges_from((n, (n + 1) % 4, {'length': 1.5}) for n in range(4))
    return b'\n'.join(line.encode() for line in nx.generate_graphml(graph))


def scenarios(path: Path) -> Any:
    cells = path.with_name('x.map')
    cells.write_bytes(MAP)
    return read_scenarios(path, read_movingai(cells))


FILES: dict[str, tuple[bytes, Callable[[Path], Any]]] = {
    'x.npz': (npz(), read_npz),
    'y.map': (MAP, read_movingai),
    'z.3dmap': (VOXELS, read_movingai),
    'x.scen': (SCENARIO, scenarios),
    'g.graphml': (graphml(), from_osmnx),
}
if find_spec('osmium') is not None:
    FILES['s.osm'] = STREETS, read_osm

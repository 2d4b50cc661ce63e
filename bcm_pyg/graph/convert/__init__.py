"""Planning graphs from arrays, networkx, OSMnx, grids and files."""

from .any_graph import as_graph, read_graph
from .arrays import from_arrays
from .movingai import Scenarios, read_movingai, read_scenarios
from .networkx import from_networkx
from .npz import read_npz, read_queries
from .occupancy import from_occupancy
from .osm import read_osm
from .osmnx import from_osmnx

__all__ = [
    'Scenarios',
    'as_graph',
    'from_arrays',
    'from_networkx',
    'from_occupancy',
    'from_osmnx',
    'read_graph',
    'read_movingai',
    'read_npz',
    'read_osm',
    'read_queries',
    'read_scenarios',
]

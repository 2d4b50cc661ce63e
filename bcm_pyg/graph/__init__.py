"""From any graph with coordinates to the canonical planning graph, and back."""

from ._full_routes import FullRoutes
from .components import largest_component
from .fingerprint import fingerprint
from .from_arrays import from_arrays
from .from_networkx import from_networkx
from .from_occupancy import from_occupancy
from .from_osmnx import from_osmnx
from .geojson import to_geojson
from .movingai import read_movingai
from .nearest_nodes import nearest_nodes
from .node_ids import find_nodes, source_ids, source_routes
from .npz import read_npz
from .planning_graph import planning_graph
from .projection import local_metres
from .scenarios import Scenarios, read_scenarios
from .simplify import SimplifiedGraph, simplify_graph

__all__ = [
    'FullRoutes',
    'SimplifiedGraph',
    'Scenarios',
    'find_nodes',
    'fingerprint',
    'from_arrays',
    'from_networkx',
    'from_occupancy',
    'from_osmnx',
    'largest_component',
    'local_metres',
    'nearest_nodes',
    'planning_graph',
    'read_movingai',
    'read_npz',
    'read_scenarios',
    'simplify_graph',
    'source_ids',
    'source_routes',
    'to_geojson',
]

"""From any graph with coordinates to the canonical planning graph, and back."""

from .components import largest_component
from .convert import (
    Scenarios,
    from_arrays,
    from_networkx,
    from_occupancy,
    from_osmnx,
    read_movingai,
    read_npz,
    read_scenarios,
)
from .fingerprint import fingerprint
from .full_routes import FullRoutes
from .geojson import to_geojson
from .labels import find_nodes, source_ids, source_routes
from .nearest_nodes import nearest_nodes
from .planning_graph import planning_graph
from .projection import local_metres
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

"""From any graph with coordinates to the canonical planning graph, and back."""

from ._validate import warn_of_scales as warn_of_scales
from .components import largest_component
from .convert import (
    Scenarios,
    as_graph,
    from_arrays,
    from_networkx,
    from_occupancy,
    from_osmnx,
    read_graph,
    read_movingai,
    read_npz,
    read_osm,
    read_queries,
    read_scenarios,
)
from .full_routes import FullRoutes
from .geometry import edge_lines, route_lines, route_points
from .labels import labels_of
from .names import nodes_from_labels
from .planning_graph import fingerprint, planning_graph
from .simplify import SimplifiedGraph, simplify_graph
from .turns import TurnGraph, turn_graph

__all__ = [
    'FullRoutes',
    'Scenarios',
    'SimplifiedGraph',
    'TurnGraph',
    'as_graph',
    'edge_lines',
    'fingerprint',
    'from_arrays',
    'from_networkx',
    'from_occupancy',
    'from_osmnx',
    'labels_of',
    'largest_component',
    'nodes_from_labels',
    'planning_graph',
    'read_graph',
    'read_movingai',
    'read_npz',
    'read_osm',
    'read_queries',
    'read_scenarios',
    'route_lines',
    'route_points',
    'simplify_graph',
    'turn_graph',
]

"""From any graph with coordinates to the canonical planning graph."""

from .fingerprint import fingerprint
from .planning_graph import planning_graph

__all__ = ['fingerprint', 'planning_graph']

"""Planners to compare a map with, all callable as (starts, goals) -> Plan."""

from .dijkstra import Dijkstra, shortest_distances

__all__ = ['Dijkstra', 'shortest_distances']

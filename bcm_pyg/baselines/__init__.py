"""Planners to compare a map with, all callable as (starts, goals) -> Plan."""

from .apf import APF
from .apsp import APSP
from .cml import CML
from .dijkstra import Dijkstra, shortest_distances
from .eigen import EigenAgent

__all__ = [
    'APF',
    'APSP',
    'CML',
    'Dijkstra',
    'EigenAgent',
    'shortest_distances',
]

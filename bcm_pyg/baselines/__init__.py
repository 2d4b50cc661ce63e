"""Planners to compare a map with, all callable as (starts, goals) -> Plan."""

from .apf import APF
from .apsp import APSP
from .cch import CCH
from .cml import CML
from .cpd import CPD
from .dijkstra import Dijkstra, shortest_distances
from .eigen import EigenAgent

__all__ = [
    'APF',
    'APSP',
    'CCH',
    'CML',
    'CPD',
    'Dijkstra',
    'EigenAgent',
    'shortest_distances',
]

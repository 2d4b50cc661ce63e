"""Bellman-grounded cognitive maps on PyTorch Geometric graphs."""

from bcm_pyg.cognitive_map import CognitiveMap
from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.metrics import Report, evaluate
from bcm_pyg.nn import BCM
from bcm_pyg.planning import Plan, Planner, Route
from bcm_pyg.training import FitConfig, History, fit

__version__ = '0.1.0'

__all__ = [
    'BCM',
    'BCMError',
    'CognitiveMap',
    'FitConfig',
    'History',
    'Plan',
    'Planner',
    'Report',
    'Route',
    'evaluate',
    'fit',
    'planning_graph',
]

"""Bellman-grounded cognitive maps on PyTorch Geometric graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

#: Where each name is, so that torch is imported when one is first used.
_HOMES = {
    'cognitive_map': ('CognitiveMap',),
    'errors': ('BCMError',),
    'graph': ('planning_graph',),
    'metrics': ('Report', 'evaluate'),
    'nn': ('BCM',),
    'planning': ('Plan', 'Planner', 'Route'),
    'training': ('FitConfig', 'History', 'fit'),
}
_MODULES = (
    *_HOMES,
    'baselines',
    'datasets',
    'explorer',
    'export',
    'geo',
    'plotting',
    'transforms',
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f'{__name__}.{name}')
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f'{__name__}.{home}'), name)
            globals()[name] = value  # not asked again
            return value
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})

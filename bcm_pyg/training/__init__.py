"""Learning a map from local edge costs."""

from ._progress import History
from .config import FitConfig
from .fit import fit
from .targets import (
    Block,
    Blocks,
    ExactTargets,
    OneStepTargets,
    Run,
    SweepTargets,
    Targets,
)

__all__ = [
    'Block',
    'Blocks',
    'ExactTargets',
    'FitConfig',
    'History',
    'OneStepTargets',
    'Run',
    'SweepTargets',
    'Targets',
    'fit',
]

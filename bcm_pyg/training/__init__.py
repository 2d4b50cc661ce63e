"""Learning a map from local edge costs."""

from ._progress import History
from .blocks import Block, Blocks, Run
from .config import FitConfig
from .fit import fit
from .targets import ExactTargets, OneStepTargets, SweepTargets, Targets

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

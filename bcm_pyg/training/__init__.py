"""Learning a map from local edge costs."""

from ._progress import History
from .config import FitConfig
from .fit import fit

__all__ = ['FitConfig', 'History', 'fit']

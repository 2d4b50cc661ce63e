"""Learning a map from local edge costs."""

from .config import FitConfig
from .fit import fit
from .history import History

__all__ = ['FitConfig', 'History', 'fit']

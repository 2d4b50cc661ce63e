"""The paper's weighted grids and its way of drawing queries."""

from .layouts import LAYOUTS, layout_mask
from .queries import sample_queries
from .weighted_grid import COST_REGIMES, weighted_grid

__all__ = [
    'COST_REGIMES',
    'LAYOUTS',
    'layout_mask',
    'sample_queries',
    'weighted_grid',
]

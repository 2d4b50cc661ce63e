"""Built-in graphs, graphs in files, grids and queries."""

from .graph_files import (
    MovingAIMap,
    NpzGraph,
    OneGraph,
    OSMnxStreets,
    ToyGameMap,
)
from .layouts import LAYOUTS, layout_mask
from .queries import sample_queries
from .toy_streets import ToyStreets
from .weighted_grid import COST_REGIMES, weighted_grid

__all__ = [
    'COST_REGIMES',
    'LAYOUTS',
    'MovingAIMap',
    'NpzGraph',
    'OSMnxStreets',
    'OneGraph',
    'ToyGameMap',
    'ToyStreets',
    'layout_mask',
    'sample_queries',
    'weighted_grid',
]

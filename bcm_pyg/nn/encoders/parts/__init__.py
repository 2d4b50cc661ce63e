"""What encoders are made of."""

from .axes import Axes
from .coincident import CoincidentCodes, CoincidentRows
from .cost_gnn import CostGNN
from .feature_grid import FeatureGrid
from .warp import AxisWarp

__all__ = [
    'Axes',
    'AxisWarp',
    'CoincidentCodes',
    'CoincidentRows',
    'CostGNN',
    'FeatureGrid',
]

"""Maps and their parts."""

from .bcm import BCM
from .encoders import (
    ConcatEncoder,
    ContinuousInteractionEncoder,
    GNNEncoder,
    GridEncoder,
    InteractionEncoder,
    KHotEncoder,
    LandmarkEncoder,
    NodeEncoder,
    NodeTableEncoder,
    OneHotEncoder,
    check_encoder,
    encoder_resolver,
    register_encoder,
)
from .export import export_scorer
from .saved_map import MapInfo
from .transition import Transition

__all__ = [
    'BCM',
    'ConcatEncoder',
    'ContinuousInteractionEncoder',
    'GNNEncoder',
    'GridEncoder',
    'InteractionEncoder',
    'KHotEncoder',
    'LandmarkEncoder',
    'MapInfo',
    'NodeEncoder',
    'NodeTableEncoder',
    'OneHotEncoder',
    'Transition',
    'check_encoder',
    'encoder_resolver',
    'export_scorer',
    'register_encoder',
]

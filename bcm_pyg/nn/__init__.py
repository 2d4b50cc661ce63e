"""Maps and their parts."""

from .bcm import BCM
from .encoders import (
    GNNEncoder,
    InteractionEncoder,
    KHotEncoder,
    NodeEncoder,
    OneHotEncoder,
    check_encoder,
    encoder_resolver,
    register_encoder,
)
from .transition import Transition

__all__ = [
    'BCM',
    'GNNEncoder',
    'InteractionEncoder',
    'KHotEncoder',
    'NodeEncoder',
    'OneHotEncoder',
    'Transition',
    'check_encoder',
    'encoder_resolver',
    'register_encoder',
]

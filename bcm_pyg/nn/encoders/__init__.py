"""Node encoders, one file each."""

from .base import NodeEncoder
from .check import check_encoder
from .gnn import GNNEncoder
from .interaction import InteractionEncoder
from .k_hot import KHotEncoder
from .one_hot import OneHotEncoder
from .resolver import encoder_name, encoder_resolver, register_encoder

__all__ = [
    'GNNEncoder',
    'InteractionEncoder',
    'KHotEncoder',
    'NodeEncoder',
    'OneHotEncoder',
    'check_encoder',
    'encoder_name',
    'encoder_resolver',
    'register_encoder',
]

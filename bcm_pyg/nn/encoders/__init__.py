"""Node encoders, one file each."""

from .base import NodeEncoder
from .check import check_encoder
from .concat import ConcatEncoder
from .continuous_interaction import ContinuousInteractionEncoder
from .gnn import GNNEncoder
from .grid import GridEncoder
from .interaction import InteractionEncoder
from .k_hot import KHotEncoder
from .landmark import LandmarkEncoder
from .node_table import NodeTableEncoder
from .one_hot import OneHotEncoder
from .resolver import encoder_name, encoder_resolver, register_encoder

__all__ = [
    'ConcatEncoder',
    'ContinuousInteractionEncoder',
    'GNNEncoder',
    'GridEncoder',
    'InteractionEncoder',
    'KHotEncoder',
    'LandmarkEncoder',
    'NodeEncoder',
    'NodeTableEncoder',
    'OneHotEncoder',
    'check_encoder',
    'encoder_name',
    'encoder_resolver',
    'register_encoder',
]

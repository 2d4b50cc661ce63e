"""Building blocks that know tensors and nothing of maps."""

from ._adjacency import Adjacency
from ._checks import check_choice, check_float, check_int
from ._ids import as_ids, as_queries
from ._reachability import Reachability
from ._scatter import scatter_amin, scatter_min

__all__ = [
    'Adjacency',
    'Reachability',
    'as_ids',
    'as_queries',
    'check_choice',
    'check_float',
    'check_int',
    'scatter_amin',
    'scatter_min',
]

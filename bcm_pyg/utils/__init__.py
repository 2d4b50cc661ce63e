"""Building blocks that know tensors and nothing of maps."""

from ._checks import check_choice, check_float, check_int
from ._files import as_path, read_file, remove_parts, replace_file
from ._processes import Processes
from .adjacency import Adjacency
from .ids import as_ids, as_queries
from .reachability import Reachability
from .scatter import scatter_amin, scatter_min

__all__ = [
    'Adjacency',
    'Processes',
    'Reachability',
    'as_ids',
    'as_path',
    'as_queries',
    'check_choice',
    'check_float',
    'check_int',
    'read_file',
    'remove_parts',
    'replace_file',
    'scatter_amin',
    'scatter_min',
]

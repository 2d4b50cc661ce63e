"""Building blocks that know tensors and nothing of maps."""

from ._adjacency import Adjacency
from ._checks import check_choice, check_float, check_int
from ._files import as_path, read_file, replace_file
from ._ids import as_ids, as_queries
from ._processes import Processes
from ._reachability import Reachability
from ._scatter import scatter_amin, scatter_min

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
    'replace_file',
    'scatter_amin',
    'scatter_min',
]

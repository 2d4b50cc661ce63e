"""Building blocks that know tensors and nothing of maps."""

# Names without `as` are public; the others are for the package itself.
from ._files import as_path as as_path
from ._files import memory_for as memory_for
from ._files import naming as naming
from ._files import open_file as open_file
from ._files import read_file as read_file
from ._files import reading as reading
from ._files import replace_file as replace_file
from ._files import unpacked as unpacked
from ._processes import Processes as Processes
from .adjacency import Adjacency, Reachability
from .adjacency import cut_loops as cut_loops
from .checks import as_ids, as_queries
from .checks import check_choice as check_choice
from .checks import check_float as check_float
from .checks import check_int as check_int
from .checks import counted as counted
from .checks import first_true as first_true
from .scatter import scatter_amin as scatter_amin
from .scatter import scatter_min

__all__ = [
    'Adjacency',
    'Reachability',
    'as_ids',
    'as_queries',
    'scatter_min',
]

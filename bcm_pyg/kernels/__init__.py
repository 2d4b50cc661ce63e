"""Compiled searches and walks: arrays in, arrays out.

Every kernel releases the interpreter lock and takes the scratch memory of its
thread from the caller. What it computes for a query depends on that query only.
The plain twins are in :mod:`bcm_pyg.planning._plain`. Numba is imported by the
first call of :func:`load_kernels`.
"""

from .arrays import (
    NO_BOUNDS,
    NO_WAY,
    TILE,
    TURNS,
    Array,
    Bounds,
    Expanded,
    Found,
    Graph,
    Map,
    Scratch,
    blank_map,
    scratch_for,
)
from .loading import load_kernels

__all__ = [
    'Array',
    'Bounds',
    'Expanded',
    'Found',
    'Graph',
    'Map',
    'NO_BOUNDS',
    'NO_WAY',
    'TURNS',
    'Scratch',
    'TILE',
    'blank_map',
    'load_kernels',
    'scratch_for',
]

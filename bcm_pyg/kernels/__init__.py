"""Compiled searches and walks: arrays in, arrays out.

A room of its own below planning: it knows numbers, no tensors and no maps.
Every kernel releases the interpreter lock and takes the scratch memory of its
thread from the caller. What it computes for a query depends on nothing but that
query. The plain twins are in :mod:`bcm_pyg.planning._plain`.

It does not import numba; :func:`load_kernels` does, when it is first called.
"""

from .arrays import (
    NO_BOUNDS,
    TILE,
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
    'Bounds',
    'Expanded',
    'Found',
    'Graph',
    'Map',
    'NO_BOUNDS',
    'Scratch',
    'TILE',
    'blank_map',
    'load_kernels',
    'scratch_for',
]

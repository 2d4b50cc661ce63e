"""How finely real coordinates are seen by default.

On roads of 1,700 to 9,000 nodes finer tables, coarse levels beside them and two
small grids each lowered the error of distances at equal training; more channels
did not.
"""

from __future__ import annotations

#: How many times fewer bins a level has than the one before.
COARSENING = 4

#: More levels than any table can be cut into.
MAX_LEVELS = 16

#: Knots of a real axis.
KNOTS = 64

#: Features of a corner of a grid, and rows of a grid at most.
GRID_CHANNELS, GRID_ROWS = 4, 4096


def default_bins(num_nodes: int, num_axes: int) -> int:
    r"""Twelve times the :math:`A`-th root of :math:`N`, from 16 to 512."""
    return min(max(round(12 * num_nodes ** (1 / num_axes)), 16), 512)


def default_levels(bins: int) -> int:
    """As many as have at least 6 bins."""
    levels = 1
    while bins // COARSENING**levels >= 6:
        levels += 1
    return levels


def default_grids(num_nodes: int, num_axes: int) -> list[int]:
    r"""The two finest of 8, 16, 32 and 64 that are fully stored.

    None is finer than twice the :math:`A`-th root of :math:`N`. One axis needs
    none: its table is a grid already.
    """
    if num_axes == 1:
        return []
    finest = 2 * num_nodes ** (1 / num_axes)
    return [
        size
        for size in (8, 16, 32, 64)
        if size**num_axes <= GRID_ROWS and size <= finest
    ][-2:]

"""Obstacle layouts as boolean masks, True where a cell is blocked.

Sizes follow from the counts that the paper prints: the U-shape blocks 64 cells
at side 40 and scales with the side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bcm_pyg.errors import BCMError


def ushape(side: int) -> np.ndarray:
    """A U that opens upward: 8 t wide, 5 t high, t thick, t = side / 20."""
    if side < 10:
        raise BCMError(
            f"layout 'ushape' needs a side of at least 10 (got {side})"
        )
    thick = max(1, round(side / 20))
    height, width = 5 * thick, 8 * thick
    top, left = (side - height) // 2, (side - width) // 2
    mask = np.zeros((side, side), dtype=bool)
    mask[top : top + height, left : left + width] = True
    mask[top : top + height - thick, left + thick : left + width - thick] = (
        False
    )
    return mask


def block(side: int) -> np.ndarray:
    """A centred square obstacle, a fifth of the side wide."""
    if side < 5:
        raise BCMError(f"layout 'block' needs a side of 5 (got {side})")
    size = side // 5
    first = (side - size) // 2
    mask = np.zeros((side, side), dtype=bool)
    mask[first : first + size, first : first + size] = True
    return mask


def wall(side: int) -> np.ndarray:
    """A wall across the middle column with a gap of one cell in the middle."""
    if side < 3:
        raise BCMError(f"layout 'wall' needs a side of 3 (got {side})")
    mask = np.zeros((side, side), dtype=bool)
    mask[:, side // 2] = True
    mask[side // 2, side // 2] = False
    return mask


def open_field(side: int) -> np.ndarray:
    """No obstacle at all."""
    if side < 2:
        raise BCMError(f"layout 'open' needs a side of 2 (got {side})")
    return np.zeros((side, side), dtype=bool)


LAYOUTS: dict[str, Callable[[int], np.ndarray]] = {
    'ushape': ushape,
    'block': block,
    'wall': wall,
    'open': open_field,
}


def layout_mask(layout: str, side: int) -> np.ndarray:
    """The named layout as a boolean mask :obj:`[side, side]`."""
    if layout not in LAYOUTS:
        raise BCMError(
            f'layout must be one of {tuple(LAYOUTS)} or a boolean mask (got '
            f'{layout!r})'
        )
    if isinstance(side, bool) or not isinstance(side, (int, np.integer)):
        raise BCMError(f'side must be an int (got {side!r})')
    return LAYOUTS[layout](int(side))

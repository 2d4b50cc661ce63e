"""Obstacle layouts as boolean masks, True where a cell is blocked."""

from collections.abc import Callable

import numpy as np

from bcm_pyg.errors import BCMError


def ushape(side: int) -> np.ndarray:
    """A U that opens upward: 8 t wide, 5 t high, t thick, t = side / 20.

    It blocks 64 cells at side 40, as the paper prints.
    """
    mask = _free('ushape', side, 10)
    thick = max(1, round(side / 20))
    height, width = 5 * thick, 8 * thick
    top, left = (side - height) // 2, (side - width) // 2
    box = mask[top : top + height, left : left + width]
    box[:] = True
    box[:-thick, thick:-thick] = False
    return mask


def block(side: int) -> np.ndarray:
    """A centred square obstacle, a fifth of the side wide."""
    mask = _free('block', side, 5)
    size = side // 5
    first = (side - size) // 2
    mask[first : first + size, first : first + size] = True
    return mask


def wall(side: int) -> np.ndarray:
    """A wall across the middle column with a gap of one cell in the middle."""
    mask = _free('wall', side, 3)
    mask[:, side // 2] = True
    mask[side // 2, side // 2] = False
    return mask


def open_field(side: int) -> np.ndarray:
    """No obstacle at all."""
    return _free('open', side, 2)


def _free(layout: str, side: int, least: int) -> np.ndarray:
    if side < least:
        raise BCMError(
            f'{layout!r} needs a side of at least {least} (got {side})'
        )
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

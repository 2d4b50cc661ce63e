"""A dense layout that the paper mentions but does not show."""

from __future__ import annotations

import numpy as np


def maze_mask(side: int, seed: int = 0, opened: float = 0.2) -> np.ndarray:
    """A maze of corridors one cell wide, True where a cell is blocked.

    Rooms are the cells of even row and column; a depth-first walk joins them
    all. A maze with one route for each pair leaves costs nothing to decide, so
    that a share of the other walls is opened too. On an even side the last row
    and column are wall.
    """
    rng = np.random.default_rng(seed)
    rooms = (side + 1) // 2
    mask = np.ones((side, side), dtype=bool)
    mask[::2, ::2] = False
    seen = np.zeros((rooms, rooms), dtype=bool)
    seen[0, 0] = True
    path = [(0, 0)]
    while path:
        row, column = path[-1]
        ways = [
            (row + down, column + right)
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))
            if 0 <= row + down < rooms
            and 0 <= column + right < rooms
            and not seen[row + down, column + right]
        ]
        if not ways:
            path.pop()
            continue
        there = ways[rng.integers(len(ways))]
        seen[there] = True
        mask[row + there[0], column + there[1]] = False  # the wall between
        path.append(there)
    between = np.zeros_like(mask)
    last = 2 * rooms - 1
    between[:last:2, 1:last:2] = between[1:last:2, :last:2] = True
    mask[between & (rng.random(mask.shape) < opened)] = False
    return mask

"""Checks of settings: names, integers, numbers."""

import math
from numbers import Integral, Real

from bcm_pyg.errors import BCMError

#: The largest that fits an int64.
MAX_INT = 2**63 - 1


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuses what is not one of :obj:`choices`."""
    if value not in choices:
        raise BCMError(f'{name} must be one of {choices} (got {value!r:.80})')


def check_int(
    name: str, value: object, least: int, most: int = MAX_INT
) -> None:
    """Refuses what is not an integer from :obj:`least` to :obj:`most`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Integral)
        or not least <= int(value) <= most
    ):
        wanted = f'from {least} to {most}'
        if most == MAX_INT:
            wanted = f'of at least {least}'
        raise BCMError(f'{name} must be an int {wanted} (got {value!r:.80})')


def check_float(name: str, value: object, *, positive: bool = False) -> None:
    """Refuses what is not a finite number, at least (or above) 0."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not math.isfinite(value)
        or value < 0
        or (positive and value == 0)
    ):
        sign = 'positive' if positive else 'non-negative'
        raise BCMError(f'{name} must be finite and {sign} (got {value!r:.80})')

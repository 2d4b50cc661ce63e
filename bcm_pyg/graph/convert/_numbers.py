"""Numbers from the attributes that nodes and edges carry in networkx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bcm_pyg.errors import BCMError

Attributes = Mapping[Any, Any]
#: What to call the node or edge at a place, in an error message.
Describe = Callable[[int], str]

#: What Python, NumPy and PyTorch raise of values that are no numbers.
NOT_A_NUMBER = (TypeError, ValueError, OverflowError, RuntimeError)


def attribute_names(items: Iterable[Attributes]) -> dict[str, list[str]]:
    """All names, under their spelling in lower case."""
    names = {name for item in items for name in item if isinstance(name, str)}
    out: dict[str, list[str]] = {}
    for name in sorted(names):
        out.setdefault(name.lower(), []).append(name)
    return out


def spellings(
    names: Mapping[str, list[str]], wanted: Sequence[str]
) -> list[tuple[str, ...]]:
    """How these attributes are spelt in a graph that has all of them.

    Several ways, if attributes differ in nothing but case.
    """
    out: list[tuple[str, ...]] = [()]
    for name in wanted:
        found = names.get(name, [])
        out = [(*before, spelt) for before in out for spelt in found]
    return out


def number_column(
    items: Sequence[Attributes], name: str, describe: Describe
) -> np.ndarray:
    """One finite number from each item, float64; strings are parsed."""
    return as_numbers([item.get(name) for item in items], name, describe)


def as_numbers(
    values: Sequence[Any], name: str, describe: Describe
) -> np.ndarray:
    """Finite numbers, float64."""
    try:
        out = np.array(values, dtype=np.float64)  # parses strings too
        if out.shape != (len(values),):
            raise ValueError
    except NOT_A_NUMBER:
        out = np.array([_number(value) for value in values])
    bad = ~np.isfinite(out)
    if bad.any():
        place = int(bad.argmax())
        value = values[place]
        if value is None:
            raise BCMError(
                f'{describe(place)} has no {name!r} ({int(bad.sum())} of '
                f'{len(values)} lack a number)'
            )
        raise BCMError(
            f'{describe(place)}: {name!r} must be a finite number (got '
            f'{value!r})'
        )
    return out


def vector_column(
    values: Sequence[Any], name: str, describe: Describe
) -> np.ndarray:
    """As many finite numbers from each item as from the first, [N, A]."""
    try:
        table = np.array(values, dtype=np.float64).reshape(len(values), -1)
        if table.size and np.isfinite(table).all():
            return table
    except NOT_A_NUMBER:
        pass
    rows: list[np.ndarray] = []  # something is wrong: what comes first?
    for place, value in enumerate(values):
        if value is None:
            raise BCMError(f'{describe(place)} has no {name!r}')
        try:
            row = np.asarray(value, dtype=np.float64).reshape(-1)
        except NOT_A_NUMBER:
            row = np.full(1, np.nan)
        if row.size == 0 or not np.isfinite(row).all():
            raise BCMError(
                f'{describe(place)}: {name!r} must hold finite coordinates '
                f'(got {value!r})'
            )
        if rows and row.size != rows[0].size:
            raise BCMError(
                f'{describe(place)}: {name!r} has {row.size} coordinates, '
                f'others have {rows[0].size}'
            )
        rows.append(row)
    return np.stack(rows)


def _number(value: object) -> float:
    """A number, or nan for what is none."""
    try:
        return float(value) if np.ndim(value) == 0 else np.nan  # type: ignore
    except NOT_A_NUMBER:
        return np.nan

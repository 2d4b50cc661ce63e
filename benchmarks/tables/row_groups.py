"""Rows of results, put together for tables and pictures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from benchmarks.lib.results import SECONDS, training_seconds

Row = dict[str, Any]

#: What makes two rows of other seeds one cell of a table.
SAME = (
    'layout',
    'side',
    'costs',
    'method',
    'encoder',
    'readout',
)


def time_share(row: Row) -> float:
    """The training time of a map over the usual one; 1 if there is none."""
    seconds = row.get('budget_seconds')
    if seconds is None or row['side'] not in SECONDS:
        return 1.0
    return seconds / training_seconds(row['side'], row['costs'])


def best_rows(rows: Iterable[Row]) -> list[Row]:
    """One row for each seed: nearest to full training, then most queries."""

    def worth(row: Row) -> tuple[float, float]:
        return -abs(time_share(row) - 1), row.get('num_queries') or 0

    out: dict[tuple, Row] = {}
    for row in rows:
        name = *(row.get(field) for field in SAME), row.get('seed')
        if name not in out or worth(row) > worth(out[name]):
            out[name] = row
    return list(out.values())


def select(rows: Iterable[Row], **fields: Any) -> list[Row]:
    """The rows with these fields, one for each seed, seeds in order."""
    return sorted(
        (
            row
            for row in best_rows(rows)
            if all(row.get(name) == value for name, value in fields.items())
        ),
        key=lambda row: row.get('seed') or 0,
    )


def values(rows: Iterable[Row], field: str) -> list[float]:
    """What the rows know of a field."""
    return [row[field] for row in rows if row.get(field) is not None]


def mean(rows: Iterable[Row], field: str) -> float | None:
    """The mean of a field, None without a value."""
    found = values(rows, field)
    return statistics.mean(found) if found else None

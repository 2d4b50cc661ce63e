"""Rows of results put together, and what the cells of tables say."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.lib.methods import MAPS, MINUTES, map_steps
from benchmarks.lib.results import Row
from benchmarks.tables.paper_numbers import Reported

#: What stands where nothing was run.
NOT_RUN = 'not run yet'


def markdown(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table, every cell as it prints."""
    head = list(head)
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    for row in rows:
        lines.append('| ' + ' | '.join(str(cell) for cell in row) + ' |')
    return '\n'.join(lines)


def spread(values: Sequence[float | None], digits: int) -> str:
    """Mean and, of several, standard deviation; a dash without a value."""
    known = [value for value in values if value is not None]
    if not known:
        return '-'
    text = f'{statistics.mean(known):.{digits}f}'
    if len(known) > 1:
        text += f' ± {statistics.stdev(known):.{digits}f}'
    return text


#: What makes two rows of other seeds one cell of a table.
SAME = (
    'layout',
    'side',
    'costs',
    'method',
    'encoder',
    'readout',
)


def is_earlier(row: Row) -> bool:
    """Whether it is of a map of an earlier version, 256 wide, by the clock."""
    return 'budget_seconds' in row


def time_share(row: Row) -> float:
    """The steps of a map over the usual ones; 1 if nothing is usual."""
    targets = str(row.get('method')).removeprefix('bcm_')
    known = row.get('side') in MINUTES or targets == 'paper'
    if 'budget_steps' not in row or targets not in MAPS or not known:
        return 1.0
    usual = map_steps(targets, row['side'], row['costs'])
    return row['budget_steps'] / usual


def best_rows(rows: Iterable[Row]) -> list[Row]:
    """One row for each seed: nearest to full training, then most queries.

    Maps of an earlier version count in cells without any of today.
    """

    def cell(row: Row) -> tuple:
        return tuple(row.get(field) for field in SAME)

    def worth(row: Row) -> tuple[float, float, float]:
        share = -abs(time_share(row) - 1)
        seconds = row.get('budget_seconds') or 0.0
        return share, seconds, row.get('num_queries') or 0

    rows = list(rows)
    of_today = {cell(row) for row in rows if not is_earlier(row)}
    out: dict[tuple, Row] = {}
    for row in rows:
        if is_earlier(row) and cell(row) in of_today:
            continue
        name = *cell(row), row.get('seed')
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


def seeds(found: list[list[Row]]) -> str:
    """How many seeds were run, regime by regime."""
    return '/'.join(str(len(part)) for part in found)


def gap(rows: list[Row]) -> str:
    """The Gap, and how much of the training a map had, if not just that."""
    found = values(rows, 'gap')
    digits = 1 if found and statistics.mean(found) >= 10 else 2
    return spread(found, digits) + of_the_time(rows)


def of_the_time(rows: list[Row]) -> str:
    """The shares of the training, if any map had more or less."""
    today = [row for row in rows if not is_earlier(row)]
    shares = sorted({round(100 * time_share(row)) for row in today})
    told = [f'{share} % steps' for share in shares]
    if len(today) < len(rows):
        told.append('earlier version')
    if told in ([], ['100 % steps']):
        return ''
    return f' [{" and ".join(told)}]'  # round brackets hold the paper's numbers


def rate_and_gap(rows: list[Row], published: Reported | None) -> list[str]:
    """Success rate and Gap of the seeds of a row, the paper's in brackets."""
    rate, text = success(rows), gap(rows) if rows else ''
    if published is None or published.gap is None:
        return [rate, text]
    known = str(published.gap)
    if published.gap_std is not None:
        known += f' ± {published.gap_std}'
    return [
        in_brackets(rate, number(published.success_rate, 2)),
        in_brackets(text or '-', known),
    ]


def in_brackets(text: str, published: float | str | None) -> str:
    """Ours, and the paper's in brackets where it has one."""
    return text if published in (None, '-') else f'{text} ({published})'


def success(rows: list[Row]) -> str:
    """The mean over seeds; nothing short of all is printed as 1."""
    rate = mean(rows, 'success_rate')
    if rate is None:
        return NOT_RUN
    return f'{min(rate, 0.999) if rate < 1 else 1:.3f}'


def gap_and_success(rows: list[Row]) -> str:
    """The Gap, and the success rate where it is not 1."""
    if not rows:
        return NOT_RUN
    text = gap(rows)
    rate = mean(rows, 'success_rate')
    return text if rate == 1 else f'{text}, SR {success(rows)}'


def number(value: float | None, digits: int) -> str:
    """A number, or a dash for none."""
    return '-' if value is None else f'{value:,.{digits}f}'

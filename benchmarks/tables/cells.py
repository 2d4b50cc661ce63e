"""What the cells of the tables say."""

from __future__ import annotations

from benchmarks.tables.markdown import NOT_RUN, spread
from benchmarks.tables.paper_numbers import Reported
from benchmarks.tables.row_groups import Row, mean, time_share, values


def seeds(found: list[list[Row]]) -> str:
    """How many seeds were run, regime by regime."""
    return '/'.join(str(len(part)) for part in found)


def cells(rows: list[Row]) -> list[str]:
    """Success rate, cost and Gap of the seeds of a row."""
    if not rows:
        return [NOT_RUN, '', '']
    return [success(rows), spread(values(rows, 'cost'), 1), gap(rows)]


def gap(rows: list[Row]) -> str:
    """The Gap, and how much of the time a map had, if not just that."""
    return spread(values(rows, 'gap'), 2) + of_the_time(rows)


def of_the_time(rows: list[Row]) -> str:
    """The shares of the training, if any map had more or less.

    Those that ran with ``--same-steps`` had a share of the steps.
    """
    shares = sorted(
        {
            (round(100 * time_share(row)), row.get('ended_by', 'time'))
            for row in rows
        }
    )
    if all(share == 100 for share, _ in shares):
        return ''
    text = ' and '.join(f'{share} % {kind}' for share, kind in shares)
    return f' ({text})'


def reported(cell: Reported | None) -> list[str]:
    """The same three of the paper."""
    if cell is None:
        return ['-', '-', '-']
    text = '-' if cell.gap is None else str(cell.gap)
    if cell.gap_std is not None:
        text += f' ± {cell.gap_std}'
    return [number(cell.success_rate, 2), number(cell.cost, 1), text]


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


def beside(value: float, published: float | None, digits: int = 3) -> str:
    """Ours, and the paper's in brackets."""
    text = f'{value:,.{digits}f}'
    return text if published is None else f'{text} ({published:.{digits}f})'

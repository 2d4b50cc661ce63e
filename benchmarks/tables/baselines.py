"""What the paper leaves open of its baselines, and how we chose it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from benchmarks.lib.methods import REGIMES
from benchmarks.lib.results import Results, Row
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.markdown import NOT_RUN, markdown, mean, values
from benchmarks.tables.paper_numbers import Reported

#: Layout, side, costs: the Gaps of EigenAgent that the paper prints.
SETTINGS: dict[tuple[str, int, str], Reported] = {
    **{('ushape', 40, c): paper.QUALITY['eigen', c] for c in REGIMES},
    **{
        (name, 40, costs): paper.LAYOUTS[name, 'eigen', costs]
        for name in ('block', 'wall')
        for costs in ('mild', 'wide')
    },
}


def cml_budget() -> str:
    """SR and Gap of CML by the number of its walks."""
    rows = Results('cml_budget').rows
    lines = []
    for walks in sorted({row['walks'] for row in rows}):
        same = [row for row in rows if row['walks'] == walks]
        error = statistics.mean(values(same, 'prediction_error'))
        line = [f'{walks:,}', f'{100 * error:.2g}']
        for costs in REGIMES:
            found = [row for row in same if row['costs'] == costs]
            rates, gaps = (values(found, f) for f in ('success_rate', 'gap'))
            line += [f'{statistics.mean(rates):.3f}' if rates else '-']
            line += [f'{statistics.mean(gaps):.0f}' if gaps else '-']
        lines.append(line)
    published = ['*paper*', '']
    for costs in REGIMES:
        cell = paper.QUALITY['cml', costs]
        published += [f'{cell.success_rate:.2f}', f'{cell.gap:.0f}']
    head = ['walks', 'prediction error %']
    for costs in REGIMES:
        head += [f'{costs}: SR', 'Gap %']
    return markdown(head, [*lines, published]) if lines else f'{NOT_RUN}.'


def eigen_potential() -> str:
    """Gaps of EigenAgent by its potential, and how far they are off."""
    rows = Results('eigen_potential').rows
    lines = []
    for name in dict.fromkeys(row['potential'] for row in rows):
        same = [row for row in rows if row['potential'] == name]
        line = [name, f'{min(values(same, "success_rate")):.3f}']
        off = []
        for setting, cell in SETTINGS.items():
            found = [row for row in same if _setting(row) == setting]
            gap = mean(found, 'gap')
            line.append('-' if gap is None else f'{gap:.1f}')
            if gap is not None and cell.gap is not None:
                off.append((gap - cell.gap) / _deviation(found, cell))
        size = math.sqrt(statistics.mean(x * x for x in off)) if off else None
        lines.append([*line, '-' if size is None else f'{size:.2f}'])
    published = [
        '*paper*',
        '1.00',
        *(str(c.gap) for c in SETTINGS.values()),
        '',
    ]
    labels = {'ushape': 'U', 'block': 'block', 'wall': 'wall'}
    head = ['potential', 'lowest SR']
    head += [f'{labels[name]}, {costs}' for name, _, costs in SETTINGS]
    head.append('misfit')
    return markdown(head, [*lines, published]) if lines else f'{NOT_RUN}.'


def _setting(row: Row) -> tuple[str, int, str]:
    return row['layout'], row['side'], row['costs']


def _deviation(rows: list[Row], cell: Reported) -> float:
    """As printed, or that of a mean of 100 queries on one draw of costs."""
    if cell.gap_std is not None:
        return cell.gap_std
    gaps = values(rows, 'gap')
    between = statistics.stdev(gaps) if len(gaps) > 1 else 0.0
    return math.hypot((mean(rows, 'gap_sd') or 0.0) / 10, between)


BASELINE_TABLES: dict[str, Callable[[], str]] = {
    'cml_budget': cml_budget,
    'eigen_potential': eigen_potential,
}

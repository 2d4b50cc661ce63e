"""Tables of how maps are trained, and how small they can be saved."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lib.methods import MINUTES, REGIMES
from benchmarks.lib.results import Results, Row
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.markdown import (
    NOT_RUN,
    gap,
    gap_and_success,
    markdown,
    mean,
    number,
    select,
    spread,
    success,
)

LABELS = {
    'sweeps': 'ours, self-supervised',
    'paper': "the paper's objective",
    'exact': 'exact targets (supervised)',
}


def _trained() -> dict[tuple[str, int], dict[str, list[Row]]]:
    """Rows of all seeds by costs and side of the U, and by objective."""
    rows = Results('table1_quality').rows + Results('figure3_scaling').rows
    out: dict[tuple[str, int], dict[str, list[Row]]] = {}
    for side in MINUTES:
        for costs in reversed(REGIMES):
            cell = {'layout': 'ushape', 'side': side, 'costs': costs}
            cell['readout'] = 'VisitedGreedy'
            found = {
                kind: select(rows, method=f'bcm_{kind}', **cell)
                for kind in LABELS
            }
            if any(found.values()):
                out[costs, side] = found
    return out


def training_summary() -> str:
    """One row per graph: what a reader wants to know first."""
    lines = []
    for (costs, side), found in _trained().items():
        line = [f'U, {costs}, N = {side**2:,}']
        line += [gap_and_success(rows) for rows in found.values()]
        lines.append([*line, paper.published_gap(costs, side)])
    head = ['graph', *LABELS.values(), 'the paper, as published']
    return markdown(head, lines) if lines else NOT_RUN


def _quality(group: list[Row]) -> str:
    """Gap, and the lowest success rate where some goal was missed."""
    text = spread([row['gap'] for row in group], 2)
    lowest = min(row['success_rate'] for row in group)
    return text if lowest == 1 else f'{text}, SR {lowest:.3f}'


def training_table() -> str:
    """Size, effort and quality by graph and objective, over all seeds."""
    lines = []
    for (costs, side), found in _trained().items():
        for kind, rows in found.items():
            if not rows:
                continue
            seconds = mean(rows, 'train_cpu_seconds')
            lines.append(
                [
                    f'U, {costs}, N = {side**2:,}',
                    LABELS[kind],
                    number(mean(rows, 'parameters'), 0),
                    number(mean(rows, 'train_steps'), 0),
                    number(None if seconds is None else seconds / 60, 0),
                    success(rows),
                    gap(rows),
                    paper.published_gap(costs, side),
                    ', '.join(str(row['seed']) for row in rows),
                ]
            )
    head = ['graph', 'objective', 'parameters', 'steps', 'CPU minutes', 'SR']
    head += ['Gap %', 'Gap % in the paper', 'seeds']
    return markdown(head, lines) if lines else NOT_RUN


def training_ablation() -> str:
    """One change of a default at a time, the best first."""
    found = sorted(Results('training_ablation').rows, key=lambda r: r['gap'])
    rows = [
        [row['name'], f'{row["steps"]:,}', _quality([row])] for row in found
    ]
    return markdown(['change', 'steps', 'Gap %'], rows) if rows else NOT_RUN


def training_profile() -> str:
    """Where a step goes, in milliseconds."""
    parts = ('targets', 'forward', 'backward', 'optimizer', 'bare_products')
    rows = [
        [
            f'{row["side"] ** 2:,}',
            row['profiled_threads'],
            *(f'{row[f"{part}_ms"]:.1f}' for part in parts),
        ]
        for row in Results('training_profile').rows
    ]
    head = ['N', 'threads', 'targets', 'forward', 'backward', 'optimiser']
    return markdown([*head, 'bare products'], rows) if rows else NOT_RUN


def compact_table() -> str:
    """One line for each size of map: kilobytes and Gap, all its seeds."""
    rows = Results('compact').rows
    dtypes = list(dict.fromkeys(row['dtype'] for row in rows))
    fields = ('costs', 'side', 'width', 'channels', 'parameters')
    groups: dict[tuple, dict[str, list[Row]]] = {}
    for row in rows:
        group = groups.setdefault(tuple(row[name] for name in fields), {})
        group.setdefault(row['dtype'], []).append(row)
    lines = []
    for (costs, side, width, channels, parameters), found in groups.items():
        line = [f'U, {costs}, N = {side * side:,}']
        line.append(f'{parameters:,} ({width}, {channels})')
        for dtype in dtypes:
            group = found.get(dtype, [])
            size = max((row['weight_bytes'] for row in group), default=0) / 1e3
            line += [f'{size:.1f}', _quality(group)] if group else ['-', '-']
        first = next(iter(found.values()))
        line.append(', '.join(str(row['seed']) for row in first))
        lines.append(line)
    head = ['graph', 'parameters (width, channels)']
    for dtype in dtypes:
        head += [f'{dtype}: kB', 'Gap %']
    return markdown([*head, 'seeds'], lines) if lines else NOT_RUN


TRAINING_TABLES: dict[str, Callable[[], str]] = {
    'training_summary': training_summary,
    'training_table': training_table,
    'training_ablation': training_ablation,
    'training_profile': training_profile,
    'compact': compact_table,
}

"""Tables of how maps are trained, and how small they can be saved."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.lib.results import Results
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.markdown import NOT_RUN, markdown, select, spread

LABELS = {
    'sweeps': 'ours, self-supervised',
    'paper': "the paper's objective",
    'exact': 'exact targets (supervised)',
}


def _trained() -> dict[tuple, list[dict[str, Any]]]:
    """Rows by side, costs and targets, in the order of the table."""
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in Results('training_table').rows:
        key = (row['side'], row['costs'], row['targets'])
        groups.setdefault(key, []).append(row)
    order = {name: index for index, name in enumerate(LABELS)}
    kinds = {'wide': 0, 'mild': 1, 'uniform': 2}
    return {
        key: groups[key]
        for key in sorted(
            groups, key=lambda key: (key[0], kinds[key[1]], order[key[2]])
        )
    }


def training_summary() -> str:
    """One row per graph: what a reader wants to know first.

    The paper's objective has steps of its own and stands in its tables.
    """
    groups = _trained()
    run = Results('table1_quality').rows + Results('figure3_scaling').rows
    rows = []
    for side, costs in list(dict.fromkeys(key[:2] for key in groups)):
        first = next(
            groups[side, costs, kind][0]
            for kind in LABELS
            if (side, costs, kind) in groups
        )
        groups[side, costs, 'paper'] = select(
            run, layout='ushape', method='bcm_paper', side=side, costs=costs
        )
        rows.append(
            [
                f'U, {costs}, N = {side * side}',
                f'{first["parameters"]:,}',
                f'{first["budget_seconds"] / 60:g}',
                *(_quality(groups.get((side, costs, kind))) for kind in LABELS),
                paper.published_gap(costs, side),
            ]
        )
    head = ['graph', 'parameters', 'minutes', *LABELS.values()]
    return markdown([*head, 'the paper, as published'], rows)


def _quality(group: list[dict[str, Any]] | None) -> str:
    """Gap, and the lowest success rate where some goal was missed."""
    if not group:
        return NOT_RUN
    gap = spread([row['gap'] for row in group], 2)
    lowest = min(row['success_rate'] for row in group)
    return gap if lowest == 1 else f'{gap}, SR {lowest:.3f}'


def training_table() -> str:
    """Gap by graph and targets, mean over the seeds that were run."""
    rows = []
    for (side, costs, targets), group in _trained().items():
        first = group[0]
        rows.append(
            [
                f'U, {costs}, N = {side * side}',
                LABELS[targets],
                first['sweeps'] if targets != 'exact' else 'converged',
                f'{first["parameters"]:,}',
                _timed_seconds(group),
                f'{statistics.mean(row["steps"] for row in group):.0f}',
                f'{min(row["success_rate"] for row in group):.3f}',
                spread([row['gap'] for row in group], 2),
                paper.published_gap(costs, side),
                ', '.join(str(row['seed']) for row in group),
            ]
        )
    head = ['graph', 'objective', 'k', 'parameters', 'seconds', 'steps', 'SR']
    head += ['Gap %', 'Gap % in the paper', 'seeds']
    return markdown(head, rows)


def _timed_seconds(group: list[dict[str, Any]]) -> str:
    """Mean time of the rows that a clock ended; the others shared a machine."""
    times = [
        row['train_seconds']
        for row in group
        if row.get('ended_by', 'time') == 'time'
    ]
    return f'{statistics.mean(times):.0f}' if times else 'by steps'


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
    groups: dict[tuple, dict[str, list[dict[str, Any]]]] = {}
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

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
        ours = groups[side, costs, 'sweeps']
        groups[side, costs, 'paper'] = select(
            run, layout='ushape', method='bcm_paper', side=side, costs=costs
        )
        rows.append(
            [
                f'U, {costs}, N = {side * side}',
                f'{ours[0]["parameters"]:,}',
                f'{ours[0]["budget_seconds"] / 60:g}',
                ours[0]['sweeps'],
                *(_quality(groups.get((side, costs, kind))) for kind in LABELS),
                _published(costs, side),
            ]
        )
    head = ['graph', 'parameters', 'minutes', 'k', *LABELS.values()]
    return markdown([*head, 'the paper, as published'], rows)


def _published(costs: str, side: int) -> str:
    """The Gap of the paper on the same U, in percent."""
    cell = None
    if side == 40:
        cell = paper.QUALITY['bcm', costs]
    elif costs == 'wide':
        cell = paper.SCALING.get(('bcm', side))
    return '-' if cell is None else str(cell.gap)


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
                first['terminal'],
                f'{first["parameters"]:,}',
                _timed_seconds(group),
                f'{statistics.mean(row["steps"] for row in group):.0f}',
                f'{min(row["success_rate"] for row in group):.3f}',
                spread([row['gap'] for row in group], 2),
                _published(costs, side),
                ', '.join(f'{row["seed"]} ({_commit(row)})' for row in group),
            ]
        )
    head = [
        'graph',
        'targets',
        'k',
        'terminal',
        'parameters',
        'seconds',
        'steps',
        'SR',
        'Gap %',
        'Gap % in the paper',
        'seeds (commits)',
    ]
    return markdown(head, rows)


def _commit(row: dict[str, Any]) -> str:
    """That of the training; old rows only know that of their own."""
    return row.get('trained_commit') or row['commit']


def _timed_seconds(group: list[dict[str, Any]]) -> str:
    """Mean time of the rows that a clock ended; the others shared a machine."""
    times = [
        row['train_seconds']
        for row in group
        if row.get('ended_by', 'time') == 'time'
    ]
    return f'{statistics.mean(times):.0f}' if times else 'by steps'


def training_ablation() -> str:
    """One change of a default at a time."""
    rows = [
        [
            row['name'],
            f'{row["budget_seconds"]:.0f}',
            row['steps'],
            f'{row["success_rate"]:.3f}',
            f'{row["gap"]:.2f}',
        ]
        for row in Results('training_ablation').rows
    ]
    return markdown(['change', 'seconds', 'steps', 'SR', 'Gap %'], rows)


def training_profile() -> str:
    """Where a step goes."""
    rows = [
        [
            row['side'] ** 2,
            row['profiled_threads'],
            *(
                f'{row[f"{part}_ms"]:.1f} ({100 * row[f"{part}_share"]:.0f} %)'
                for part in ('targets', 'forward', 'backward', 'optimizer')
            ),
            f'{row["bare_products_ms"]:.1f}',
            f'{row["bare_products_over_network"]:.2f}',
        ]
        for row in Results('training_profile').rows
    ]
    head = [
        'N',
        'threads',
        'targets ms',
        'forward ms',
        'backward ms',
        'optimiser ms',
        'bare products ms',
        'bare / (forward + backward)',
    ]
    return markdown(head, rows)


def training_compile() -> str:
    """A step with and without torch.compile."""
    rows = [
        [
            row['side'] ** 2,
            row['profiled_threads'],
            f'{row["plain_ms"]:.1f}',
            f'{row["compiled_ms"]:.1f}',
            f'{row["compile_seconds"]:.0f}',
        ]
        for row in Results('training_compile').rows
    ]
    head = ['N', 'threads', 'plain ms', 'compiled ms', 'compiling s']
    return markdown(head, rows)


def training_update() -> str:
    """Training on against training from scratch."""
    rows = [
        [
            row['name'],
            f'{row["gap_before"]:.2f}',
            f'{row["gap_after"]:.2f}',
            f'{row["gap_wanted"]:.2f}',
            row['update_steps'],
            f'{row["ratio"]:.3f}',
        ]
        for row in Results('training_update').rows
    ]
    head = [
        'change',
        'Gap % before',
        'Gap % after',
        'wanted',
        'steps',
        'of those from scratch',
    ]
    return markdown(head, rows)


def compact_table() -> str:
    """One line for each grid and dtype, Gap a mean over seeds."""
    rows = Results('compact').rows
    full = {_map(row): row['gap'] for row in rows if row['dtype'] == 'float32'}
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        key = row['side'], row['costs'], row['dtype']
        groups.setdefault(key, []).append(row)
    lines = []
    for (side, costs, dtype), group in groups.items():
        lost = [row['gap'] - full[_map(row)] for row in group]
        lines.append(
            [
                f'U, {costs}, N = {side * side}',
                dtype,
                f'{max(row["weight_bytes"] for row in group) / 1e6:.3f}',
                f'{max(row["folder_bytes"] for row in group) / 1e6:.3f}',
                f'{min(row["success_rate"] for row in group):.3f}',
                spread([row['gap'] for row in group], 2),
                '-'
                if dtype == 'float32'
                else f'{round(max(lost), 2) + 0.0:+.2f}',
                ', '.join(str(row['seed']) for row in group),
            ]
        )
    head = ['graph', 'dtype', 'weights MB', 'folder MB', 'SR', 'Gap %']
    head += ['Gap lost, points', 'seeds']
    return markdown(head, lines) if lines else NOT_RUN


def _map(row: dict[str, Any]) -> tuple:
    names = ('side', 'costs', 'seed', 'budget_seconds', 'num_queries')
    return tuple(row[name] for name in names)


TRAINING_TABLES: dict[str, Callable[[], str]] = {
    'training_summary': training_summary,
    'training_table': training_table,
    'training_ablation': training_ablation,
    'training_profile': training_profile,
    'training_compile': training_compile,
    'training_update': training_update,
    'compact': compact_table,
}

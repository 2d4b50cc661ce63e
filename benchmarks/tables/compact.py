"""The table of compact.py."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import NOT_RUN, markdown, spread


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

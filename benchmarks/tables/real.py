"""The table of real graphs: one row per graph, no averages."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import NOT_RUN, markdown

#: Readouts with their Gap and share of nodes expanded, if a row has them.
SEARCHES = (
    'Backtracking',
    'BestFirst',
    'BestFirst(1.2)',
    'Corridor',
    'Corridor of walks',
)


def real_graphs() -> str:
    """How good maps are, by graph and readout, and what they take."""
    found = _rows()
    searches = [
        name
        for name in SEARCHES
        if any(name in row['methods'] for row in found)
    ]
    rows = [
        [
            row['graph'],
            f'{row["nodes"]:,}',
            f'{row["decisions"]:,}',
            f'{row["parameters"]:,}',
            f'{row["megabytes"]:.2f}',
            f'{row["train_seconds"]:.0f}',
            row['threads'],
            row['steps'],
            f'{row["mre"]:.1f}',
            _walk(row['methods']['VisitedGreedy']),
            *(_search(row['methods'], name) for name in searches),
        ]
        for row in found
    ]
    head = ['graph', 'N', 'simplified N', 'parameters', 'MB', 'seconds']
    head += ['cores', 'steps', 'MRE %', 'VisitedGreedy: SR, Gap %']
    head += [f'{name}: Gap %, expanded %' for name in searches]
    return markdown(head, rows) if rows else NOT_RUN


def real_peers() -> str:
    """The exact planners on the same queries, in size and work."""
    rows = []
    for row in _rows():
        methods = row['methods']
        cells: list[Any] = [row['graph'], f'{row["megabytes"]:.2f}']
        cells.append(_milliseconds(methods['Corridor']))
        cells.append(_milliseconds(methods['Dijkstra']))
        guided = methods['A*, 16 landmarks']
        cells.append(f'{guided["megabytes"]:.2f}')
        cells.append(f'{_expanded(guided, methods):.1f}')
        for name in ('CCH', 'CPD'):
            peer = methods.get(name)
            cells.append('-' if peer is None else f'{peer["megabytes"]:.2f}')
            cells.append('-' if peer is None else _milliseconds(peer))
        rows.append(cells)
    head = ['graph', 'BCM MB', 'Corridor ms', 'Dijkstra ms']
    head += ['landmarks MB', 'A* with them: expanded %']
    head += ['CCH MB', 'CCH ms', 'CPD MB', 'CPD ms']
    return markdown(head, rows) if rows else NOT_RUN


def _rows() -> list[dict[str, Any]]:
    """One row for each graph: of several, the one with most training."""
    rows = Results('real_graphs').rows
    best = {
        row['graph']: row
        for row in sorted(rows, key=lambda row: row['train_seconds'])
    }
    return sorted(best.values(), key=lambda row: row['nodes'])


def _walk(method: dict[str, Any]) -> str:
    return f'{method["success_rate"]:.3f}, {_gap(method)}'


def _search(methods: dict[str, Any], name: str) -> str:
    if name not in methods:  # rows from before it came
        return '-'
    method = methods[name]
    text = f'{_gap(method)}, {_expanded(method, methods):.1f}'
    missed = method['success_rate'] < 1
    return f'{text} (SR {method["success_rate"]:.3f})' if missed else text


def _gap(method: dict[str, Any]) -> str:
    return '-' if method['gap'] is None else f'{method["gap"]:.2f}'


def _expanded(method: dict[str, Any], methods: dict[str, Any]) -> float:
    return 100 * method['expansions'] / methods['Dijkstra']['expansions']


def _milliseconds(method: dict[str, Any]) -> str:
    return f'{1e3 * method["seconds_per_query"]:.2f}'


def heavy_tails() -> str:
    """What one change at a time does on the roads of Andorra."""
    rows = [
        [
            row['change'],
            f'{row["nodes"]:,}',
            row['steps'],
            f'{row["mre"]:.1f}',
            _walk(row['methods']['VisitedGreedy']),
            _gap(row['methods']['BestFirst']),
            row['seed'],
        ]
        for row in Results('heavy_tails').rows
    ]
    head = ['change', 'nodes trained on', 'steps', 'MRE %']
    head += ['VisitedGreedy: SR, Gap %', 'BestFirst: Gap %', 'seed']
    return markdown(head, rows) if rows else NOT_RUN


def encoders_real() -> str:
    """Error of distances and routes of each encoder, and its size.

    Of several runs the one with most steps.
    """
    runs = sorted(Results('encoders_real').rows, key=lambda row: row['steps'])
    names = ('graph', 'targets', 'encoder', 'seed')
    best = {tuple(row[name] for name in names): row for row in runs}
    rows = [
        [
            row['graph'],
            row['encoder'],
            f'{row["parameters"]:,}',
            f'{row["megabytes"]:.2f}',
            row['steps'],
            f'{row["train_seconds"]:.0f}',
            f'{row["mre"]:.2f}',
            f'{row["success_rate"]:.3f}',
            _gap(row),
            f'{row["success_rate"] / row["megabytes"]:.2f}',
            row['seed'],
        ]
        for row in best.values()
    ]
    head = ['graph', 'encoder', 'parameters', 'MB', 'steps', 'seconds']
    head += ['MRE %', 'SR', 'Gap %', 'SR per MB', 'seed']
    return markdown(head, rows) if rows else NOT_RUN


REAL_TABLES = {
    'real_graphs': real_graphs,
    'real_peers': real_peers,
    'heavy_tails': heavy_tails,
    'encoders_real': encoders_real,
}

"""The table of real graphs: one row per graph, no averages."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import NOT_RUN, markdown

#: Readouts with their Gap and share of nodes expanded, if a row has them.
SEARCHES = ('BestFirst', 'Corridor')


def real_graphs() -> str:
    """How good maps are, by graph and readout, beside the exact ways."""
    rows = []
    for row in one_row_a_graph():
        methods = row['methods']
        guided, cch = methods.get('A*, 16 landmarks'), methods.get('CCH')
        rows.append(
            [
                row['graph'],
                f'{row["nodes"]:,}',
                f'{row["decisions"]:,}',
                f'{row["train_seconds"] * row["threads"] / 60:.0f}',
                f'{row["mre"]:.1f}',
                _walk(methods['VisitedGreedy']),
                *(_search(methods, name) for name in SEARCHES),
                '-' if guided is None else f'{expanded(guided, methods):.1f}',
                f'{row["megabytes"]:.2f}',
                '-' if cch is None else f'{cch["megabytes"]:.2f}',
            ]
        )
    head = ['graph', 'N', 'simplified N', 'core minutes', 'MRE %']
    head += ['`VisitedGreedy`: SR, Gap %']
    head += [f'`{name}`: Gap %, expanded %' for name in SEARCHES]
    head += ['A*: expanded %', 'map MB', 'CCH MB']
    return markdown(head, rows) if rows else NOT_RUN


def one_row_a_graph() -> list[dict[str, Any]]:
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
    text = f'{_gap(method)}, {expanded(method, methods):.1f}'
    missed = method['success_rate'] < 1
    return f'{text} (SR {method["success_rate"]:.3f})' if missed else text


def _gap(method: dict[str, Any]) -> str:
    return '-' if method['gap'] is None else f'{method["gap"]:.2f}'


def expanded(method: dict[str, Any], methods: dict[str, Any]) -> float:
    return 100 * method['expansions'] / methods['Dijkstra']['expansions']


def heavy_tails() -> str:
    """What one change at a time does on the roads of Andorra."""
    rows = [
        [
            row['change'],
            f'{row["nodes"]:,}',
            f'{row["mre"]:.1f}',
            _walk(row['methods']['VisitedGreedy']),
            _gap(row['methods']['BestFirst']),
        ]
        for row in Results('heavy_tails').rows
    ]
    head = ['change', 'nodes trained on', 'MRE %']
    head += ['`VisitedGreedy`: SR, Gap %', '`BestFirst`: Gap %']
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
            row['steps'],
            f'{row["train_seconds"]:.0f}',
            f'{row["mre"]:.2f}',
            f'{row["success_rate"]:.3f}',
            _gap(row),
        ]
        for row in best.values()
    ]
    head = ['graph', 'encoder', 'parameters', 'steps', 'seconds']
    head += ['MRE %', 'SR', 'Gap %']
    return markdown(head, rows) if rows else NOT_RUN


def near_distances() -> str:
    """Error and time against the expansions of the exact search."""
    lines = []
    kinds = {'exact': ', labels', 'sweeps': ', self-supervised'}
    for row in Results('near_distances').rows:
        cells = [
            f'{found["mre"]:.2f}, {100 * found["exact"]:.0f}, '
            f'{found["cpu_us"]:.0f}'
            for found in row['within'].values()
        ]
        way = f'a map{kinds.get(row["targets"], "")}' if row['map'] else ''
        if row['landmarks'] or not way:
            way += f'{" + " if way else ""}{row["landmarks"]} landmarks'
        size = row['int8_bytes'] + row['landmark_bytes']
        lines.append([row['graph'], way, f'{size / 1e6:.2f}', *cells])
        limits = [f'n = {limit}' for limit in row['within']]
    if not lines:
        return f'{NOT_RUN}.'
    return markdown(['graph', 'by', 'MB', *limits], lines)


REAL_TABLES = {
    'real_graphs': real_graphs,
    'heavy_tails': heavy_tails,
    'encoders_real': encoders_real,
    'near_distances': near_distances,
}

"""The tables of real graphs: one row per graph, and what holds on how many."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import NOT_RUN, markdown

#: Searches with their Gap and share of nodes expanded, if a row has them.
SEARCHES = {'chosen': '*chosen*', 'Corridor': '`Corridor`'}
#: What time and bytes are compared, and what the head calls them.
TIMED = {
    'VisitedGreedy': 'walk',
    'chosen': '*chosen*',
    'Dijkstra': 'Dijkstra',
    'Dijkstra, simplified': 'the same, simplified',
    'CCH': 'CCH',
    'CPD': 'CPD',
}
SIZED = ('CCH', 'CPD')
#: Of a readout that came after a row.
NO_GAP = {'gap': None}
#: Good routes for little work: percent of Gap and of nodes expanded.
GOOD_GAP, LITTLE_WORK = 0.1, 8.0
#: Walks are for graphs of up to so many nodes.
WALKED_NODES = 30_000


def real_graphs() -> str:
    """How good maps are, by graph and readout."""
    rows = []
    for row in one_row_a_graph():
        methods = row['methods']
        same = methods.get('A*, bytes of the map')
        rows.append(
            [
                row['graph'],
                f'{row["nodes"]:,}',
                f'{row["decisions"]:,}',
                f'{row["steps"] / 1000:.0f}',
                f'{row["mre"]:.1f}',
                _walk(methods['VisitedGreedy']),
                _gap(methods.get('Backtracking', NO_GAP)),
                *(_search(methods, name) for name in SEARCHES),
                '-' if same is None else f'{expanded(same, methods):.1f}',
            ]
        )
    head = ['graph', 'N', 'simplified N', '1000 steps', 'MRE %']
    head += ['`VisitedGreedy`: SR, Gap %', '`Backtracking`: Gap %']
    head += [f'{name}: Gap %, expanded %' for name in SEARCHES.values()]
    head += ['A\\*: expanded %']
    return markdown(head, rows) if rows else NOT_RUN


def real_graphs_time() -> str:
    """Time of a query and bytes, beside the exact ways."""
    rows = []
    for row in one_row_a_graph():
        methods = row['methods']
        times = [
            f'{1e6 * methods[name]["seconds_per_query"]:.0f}'
            if name in methods
            else '-'
            for name in TIMED
        ]
        sizes = [
            f'{methods[name]["megabytes"]:.2f}' if name in methods else '-'
            for name in SIZED
        ]
        size = row.get('int8_megabytes')  # not of rows from before it came
        map_size = '-' if size is None else f'{size:.2f}'
        rows.append([row['graph'], *times, map_size, *sizes])
    head = ['graph', *(f'{name}: µs' for name in TIMED.values())]
    head += ['map: MB', *(f'{name}: MB' for name in SIZED)]
    return markdown(head, rows) if rows else NOT_RUN


def real_graphs_counts() -> str:
    """What holds on how many graphs."""
    rows = [row for row in one_row_a_graph() if 'chosen' in row['methods']]
    if not rows:
        return NOT_RUN
    good = sum(
        (row['methods']['chosen']['gap'] or 0) <= GOOD_GAP
        and expanded(row['methods']['chosen'], row['methods']) <= LITTLE_WORK
        for row in rows
    )
    lines = [
        [
            f'*chosen*: Gap of {GOOD_GAP} % at {LITTLE_WORK:.0f} % expanded',
            f'{good} of {len(rows)} graphs',
        ]
    ]
    small = [row['methods'] for row in rows if row['nodes'] <= WALKED_NODES]
    for name in ('VisitedGreedy', 'Backtracking') if small else ():
        walks = [methods[name] for methods in small]
        rates = [walk['success_rate'] for walk in walks]
        gaps = [walk['gap'] for walk in walks if walk['gap'] is not None]
        lines.append(
            [
                f'`{name}`, up to {WALKED_NODES:,} nodes',
                f'SR at least {min(rates):.3f}; Gap {median(gaps):.2f} % in '
                f'the median of {len(small)} graphs, at most {max(gaps):.0f} %',
            ]
        )
    return markdown(['what', 'where'], lines)


def one_row_a_graph() -> list[dict[str, Any]]:
    """One row for each graph: of several, the one that came last."""
    last = {row['graph']: row for row in Results('real_graphs').rows}
    return sorted(last.values(), key=lambda row: row['nodes'])


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


def updates() -> str:
    """Gap after a change, by what was trained since."""
    lines = []
    for row in Results('updates').rows:
        for part in row['shares']:
            ways = (part['kept'], part['chosen'])
            lines.append(
                [
                    row['graph'],
                    row['change'],
                    f'{100 * part["share"]:g}',
                    f'{part["cpu_seconds"]:.0f}',
                    *map(_walk, ways),
                    f'{part["choice_cpu_seconds"]:.1f}',
                ]
            )
    head = ['graph', 'change', '% of the training', 'CPU s']
    head += ['corridor of before: SR, Gap %', 'chosen anew: SR, Gap %']
    return markdown([*head, 'its CPU s'], lines) if lines else NOT_RUN


REAL_TABLES = {
    'real_graphs': real_graphs,
    'real_graphs_counts': real_graphs_counts,
    'real_graphs_time': real_graphs_time,
    'heavy_tails': heavy_tails,
    'encoders_real': encoders_real,
    'near_distances': near_distances,
    'updates': updates,
}

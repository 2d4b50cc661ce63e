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
                walk_cell(methods['VisitedGreedy']),
                gap_cell(methods.get('Backtracking', NO_GAP)),
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


def walk_cell(method: dict[str, Any]) -> str:
    """Success rate and Gap."""
    return f'{method["success_rate"]:.3f}, {gap_cell(method)}'


def _search(methods: dict[str, Any], name: str) -> str:
    if name not in methods:  # rows from before it came
        return '-'
    method = methods[name]
    text = f'{gap_cell(method)}, {expanded(method, methods):.1f}'
    missed = method['success_rate'] < 1
    return f'{text} (SR {method["success_rate"]:.3f})' if missed else text


def gap_cell(method: dict[str, Any]) -> str:
    """The Gap in percent, a dash without a success."""
    gap = method['gap']  # rounding may be a hair below 0
    return '-' if gap is None else f'{round(gap, 2) + 0.0:.2f}'


def expanded(method: dict[str, Any], methods: dict[str, Any]) -> float:
    """Percent of the nodes that Dijkstra settles."""
    return 100 * method['expansions'] / methods['Dijkstra']['expansions']


REAL_TABLES = {
    'real_graphs': real_graphs,
    'real_graphs_counts': real_graphs_counts,
    'real_graphs_time': real_graphs_time,
}

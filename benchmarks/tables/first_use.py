"""Tables of a first use: quality after a minute, distances, imports."""

from __future__ import annotations

from benchmarks.lib.results import Results, Row
from benchmarks.tables.markdown import NOT_RUN, markdown, success

#: What a budget is measured with.
CLOCKS = {'wall': 'clock', 'cpu': 'CPU'}


def _rows(part: str) -> list[Row]:
    return [row for row in Results('first_use').rows if row['part'] == part]


def first_use() -> str:
    """One line for each graph: a minute of training, then single routes."""
    cells = [
        [
            row['graph'],
            f'{row["nodes"]:,}',
            f'{row["budget_seconds"]:.0f} on the {CLOCKS[row["clock"]]}',
            f'{row["train_cpu_seconds"]:.0f}',
            success([row]),
            f'{row["gap"]:.3f}',
            f'{row["route_ms"]:.2f} / {row["route_cpu_ms"]:.2f}',
            f'{row["search_cpu_ms"]:.2f}',
            row['load'],
        ]
        for row in _rows('learn')
    ]
    head = ['graph', 'nodes', 'budget, s', 'CPU s', 'SR', 'Gap %']
    head += ['one route, ms / CPU ms', 'one search, CPU ms', 'load']
    return markdown(head, cells) if cells else NOT_RUN


def distances() -> str:
    """Microseconds of a pair, and when exact search is faster."""
    cells = [
        [
            _name(row),
            f'{row["nodes"]:,}',
            f'{row["pair_us"]:.2f}',
            f'{row["pair_one_thread_cpu_us"]:.2f}',
            f'{row["distance_error"]:.1f}',
            f'{_search_ms(row):.2f}',
            _goals(row),
            row['load'],
        ]
        for row in _rows('distance')
    ]
    head = ['graph', 'nodes', 'a pair, us', 'one thread, CPU us', 'MRE %']
    head += ['one search, CPU ms', 'search is faster from', 'load']
    return markdown(head, cells) if cells else NOT_RUN


def crossovers() -> str:
    """The same in short: from how many goals on a search is faster."""
    cells = [
        [
            _name(row),
            f'{row["nodes"]:,}',
            _goals(row),
            f'{row["distance_error"]:.1f}',
        ]
        for row in _rows('distance')
    ]
    head = [
        'graph',
        'nodes',
        'exact search is faster from',
        'error of a map, %',
    ]
    return markdown(head, cells) if cells else NOT_RUN


def imports() -> str:
    """What the package adds to an import of torch_geometric."""
    rows = _rows('imports')
    if not rows:
        return f'{NOT_RUN}.'
    row = rows[-1]
    return (
        f'`import bcm_pyg` adds {row["package_seconds"]:.3f} s to '
        f'`import torch_geometric` ({row["torch_geometric_seconds"]:.1f} s), '
        f'and all its names {row["all_names_seconds"]:.2f} s (CPU time '
        f'{row["package_cpu_seconds"]:.3f}, '
        f'{row["torch_geometric_cpu_seconds"]:.1f} and '
        f'{row["all_names_cpu_seconds"]:.2f} s; load {row["load"]}).'
    )


def _name(row: Row) -> str:
    name = row['graph']
    return 'U, wide' if name.startswith('ushape') else name


def _search_ms(row: Row) -> float:
    return (row['search_cpu_ms'] + row['search_cpu_ms_after']) / 2


def _goals(row: Row) -> str:
    goals = row['crossover']
    if goals is None:
        return 'never'
    return f'{goals:,} goal{"s" if goals > 1 else ""} of a start'


FIRST_USE_TABLES = {
    'first_use': first_use,
    'distances': distances,
    'crossovers': crossovers,
    'imports': imports,
}

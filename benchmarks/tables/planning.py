"""Tables of how fast and how good readouts are."""

from __future__ import annotations

from benchmarks.lib.results import Results, Row
from benchmarks.tables.markdown import NOT_RUN, markdown

#: The maps of most tables: the default width.
WIDTH = 128
#: Queries handed over at once, and what they are called in the results.
BATCHES = ('1', '10', '100', '1000', '10000')
#: Names as one would type them: all else is the default.
SHORT = {
    'Corridor(radius=2, guide=BestFirst(weight=1.0), bidirectional=True)': (
        'Corridor()'
    ),
    'Corridor(radius=2, guide=VisitedGreedy(), bidirectional=True)': (
        'Corridor(guide=VisitedGreedy())'
    ),
    'BestFirst(weight=1.0)': 'BestFirst()',
    'Lookahead(depth=2)': 'Lookahead(2)',
    'Beam(width=4)': 'Beam(4)',
}


def planning_quality() -> str:
    """Every readout at the default width: quality against work."""
    found: dict[str, dict[int, Row]] = {}
    for row in Results('planning_quality').rows:
        if row['width'] == WIDTH:
            found.setdefault(row['readout'], {})[row['side'] ** 2] = row
    sizes = sorted({nodes for rows in found.values() for nodes in rows})
    lines = []
    for name, rows in found.items():
        line = [f'`{name}`']
        for nodes in sizes:
            line += _quality(rows[nodes]) if nodes in rows else 4 * ['-']
        lines.append(line)
    head = ['readout']
    for nodes in sizes:
        head += [f'N = {nodes:,}: SR', 'Gap %', 'expanded %', 'time']
    return markdown(head, lines) if lines else NOT_RUN


def _quality(row: Row) -> list[str]:
    return [
        f'{row["success_rate"]:.3f}',
        f'{row["gap"]:.3f}',
        f'{100 * row["touched"]:.1f}',
        f'{1e3 * row["seconds_per_query"] / row["search_ms"]:.2f}',
    ]


def planning_batches() -> str:
    """Readouts at N = 1600, by how many queries come at once."""
    row = Results('planning_speed').find(nodes=1600, width=WIDTH)
    if row is None:
        return NOT_RUN
    ratio = row['ratio']
    first = 'VisitedGreedy, planner(int, int)'
    names = dict.fromkeys(
        name.removesuffix(', 1') for name in ratio if name.endswith(', 1')
    )
    lines = []
    for name in names:
        # A batch of 1000 was measured first and has no number.
        cells = [
            _ratio(row, f'{name}, {batch}')
            if f'{name}, {batch}' in ratio
            else _ratio(row, name)
            for batch in BATCHES
        ]
        lines.append([f'`{_short(name)}`', *cells])
    lines.append(['`VisitedGreedy`, two ints', _ratio(row, first), *4 * ['']])
    head = (f'{int(batch):,}' for batch in BATCHES)
    return markdown(['queries at once', *head], lines)


def planning_speed() -> str:
    """Walks by size and width, in units of one search of scipy."""
    rows = Results('planning_speed').rows
    if not rows:
        return NOT_RUN
    widths = sorted({row['width'] for row in rows})
    names = {'one': 'VisitedGreedy, planner(int, int)'}
    names['1000'] = 'VisitedGreedy, 1000'
    lines = []
    for nodes in sorted({row['nodes'] for row in rows}):
        same = {row['width']: row for row in rows if row['nodes'] == nodes}
        line = [f'{nodes:,}', f'{_search_ms(next(iter(same.values()))):.2f}']
        for name in names.values():
            for width in widths:
                row = same.get(width)
                line.append('-' if row is None else _ratio(row, name))
        row = same.get(WIDTH)
        line.append('-' if row is None else _ratio(row, 'CCH'))
        lines.append(line)
    head = ['N', 'one search, ms']
    for label in names:
        head += [f'{label}, width {width}' for width in widths]
    return markdown([*head, 'CCH'], lines)


def road_speed() -> str:
    """Readouts on road networks, in units of one search of the full graph."""
    cells = []
    for row in Results('road_speed').rows:
        search = _full_search_ms(row)
        graph = f'{row["graph"]}, {row["nodes"]:,} nodes'
        cells += [
            [
                graph,
                f'`{_short(name)}`' if name.endswith(')') else name,
                f'{one["success_rate"]:.3f}',
                f'{one["gap"]:.2f}',
                f'{one["expansions"]:.0f}',
                f'{one["ms"]:.2f}',
                f'{one["ms"] / search:.3f}',
            ]
            for name, one in row['readouts'].items()
            if name != 'CCH, simplified graph'
        ]
    head = ['graph', 'planner', 'SR', 'Gap %', 'expanded', 'ms']
    return markdown([*head, 'of a search'], cells) if cells else NOT_RUN


def road_summary() -> str:
    """One line for each road network: a map, one search, CCH."""
    cells = []
    for row in Results('road_speed').rows:
        planned = row['readouts']
        corridor = next(planned[k] for k in planned if k.startswith('Corridor'))
        cells.append(
            [
                row['graph'],
                f'{row["nodes"]:,}',
                f'{corridor["gap"]:.2f}',
                f'{planned["VisitedGreedy()"]["success_rate"]:.3f}',
                f'{corridor["ms"]:.2f}',
                f'{_full_search_ms(row):.2f}',
                f'{planned["CCH, full graph"]["ms"]:.2f}',
            ]
        )
    head = ['graph', 'nodes', 'Gap %, `Corridor`', 'SR, `VisitedGreedy`']
    head += ['ms, `Corridor`', 'ms, one search', 'ms, CCH']
    return markdown(head, cells) if cells else NOT_RUN


def _short(name: str) -> str:
    return SHORT.get(name, name)


def _full_search_ms(row: Row) -> float:
    return (row['full_search_ms'] + row['full_search_ms_after']) / 2


def planning_compile() -> str:
    """Seconds until the first planner of a process is built."""
    rows = Results('planning_compile').rows
    if not rows:
        return f'{NOT_RUN}.'
    return (
        f'That takes {rows[-1]["fresh_seconds"]:.1f} s the first time, and '
        f'{rows[-1]["kept_seconds"]:.1f} s when it is kept on disk.'
    )


def planning_maps() -> str:
    """The maps that readouts are timed with."""
    cells = [
        [
            row['map'],
            row['width'],
            f'{row["nodes"]:,}',
            f'{row["parameters"]:,}',
            f'{row["steps"]:,}',
            f'{row["seconds"]:.0f}',
            row['threads'],
        ]
        for row in Results('planning_maps').rows
    ]
    head = ['map', 'width', 'nodes', 'parameters', 'steps', 's', 'threads']
    return markdown(head, cells) if cells else NOT_RUN


def planning_memory() -> str:
    """Peak memory of many queries on a large graph."""
    rows = Results('planning_memory').rows
    lines = [
        f'{row["queries"]:,} walks at N = {row["nodes"]:,}: '
        f'{row["peak_gigabytes"]:.2f} GB at the peak, '
        f'{row["graph_gigabytes"]:.2f} GB before planning.'
        for row in rows
    ]
    return '\n'.join(lines) if lines else f'{NOT_RUN}.'


def _ratio(row: Row, name: str) -> str:
    """In units of the mean of the search before and after all else."""
    value = row['ratio'].get(name)
    if value is None:
        return '-'
    drift = row['search_ms'] / _search_ms(row)
    return f'{value * drift:.2g}'


def _search_ms(row: Row) -> float:
    return (row['search_ms'] + row['search_ms_after']) / 2


PLANNING_TABLES = {
    'planning_quality': planning_quality,
    'planning_batches': planning_batches,
    'planning_speed': planning_speed,
    'planning_memory': planning_memory,
    'planning_compile': planning_compile,
    'planning_maps': planning_maps,
    'road_speed': road_speed,
    'road_summary': road_summary,
}

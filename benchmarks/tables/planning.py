"""Tables of how fast and how good readouts are."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import NOT_RUN, markdown


def planning_quality() -> str:
    """Every readout on two maps: quality against work."""
    rows = [
        [
            row['side'] ** 2,
            row['width'],
            f'`{row["readout"]}`',
            f'{row["success_rate"]:.3f}',
            f'{row["gap"]:.3f}',
            f'{100 * row["touched"]:.1f}',
            f'{1e3 * row["seconds_per_query"] / row["search_ms"]:.2f}',
        ]
        for row in Results('planning_quality').rows
    ]
    head = ['N', 'width', 'readout', 'SR', 'Gap %']
    head += ['nodes expanded, % of Dijkstra', 'time of one search']
    return markdown(head, rows) if rows else NOT_RUN


def planning_speed() -> str:
    """Time per query in units of one search of scipy, by size."""
    rows = Results('planning_speed').rows
    if not rows:
        return NOT_RUN
    rows = sorted(rows, key=lambda row: (row['nodes'], row['width']))
    names = list(dict.fromkeys(name for row in rows for name in row['ratio']))
    cells = [
        [name, *(_ratio(row, name) for row in rows)]
        for name in sorted(names, key=_order)
    ]
    cells.append(
        ['a hop / a bare product', *(f'{r["hop_over_gemm"]:.1f}' for r in rows)]
    )
    cells.append(['hops of a route', *(f'{row["hops"]:.0f}' for row in rows)])
    cells.append(
        ['scipy, one search, ms', *(f'{_search_ms(row):.2f}' for row in rows)]
    )
    head = (f'{row["nodes"]:,} / {row["width"]}' for row in rows)
    return markdown(['N / width', *head], cells)


def road_speed() -> str:
    """Readouts on road networks, in units of one search of either graph."""
    cells = []
    for row in Results('road_speed').rows:
        full, core = (
            (row[f'{kind}_search_ms'] + row[f'{kind}_search_ms_after']) / 2
            for kind in ('full', 'simplified')
        )
        cells += [
            [
                row['graph'],
                f'{row["nodes"]:,} / {row["simplified_nodes"]:,}',
                f'`{name}`' if name.endswith(')') else name,
                f'{one["success_rate"]:.3f}',
                f'{one["gap"]:.2f}',
                f'{one["expansions"]:.0f}',
                f'{one["ms"]:.2f}',
                f'{one["ms"] / full:.3f}',
                f'{one["ms"] / core:.3f}',
            ]
            for name, one in row['readouts'].items()
        ]
    head = ['graph', 'nodes, full / simplified', 'planner', 'SR', 'Gap %']
    head += ['expanded', 'ms', 'of a full search', 'of a simplified search']
    return markdown(head, cells) if cells else NOT_RUN


def planning_compile() -> str:
    """Seconds until the first planner of a process is built."""
    cells = [
        [
            f'{row["fresh_seconds"]:.1f}',
            f'{row["kept_seconds"]:.1f}',
            f'{row["load"]:.1f}',
        ]
        for row in Results('planning_compile').rows
    ]
    head = ['nothing compiled yet, s', 'compiled before, s', 'load beside']
    return markdown(head, cells) if cells else NOT_RUN


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
    rows = [
        [
            f'{row["nodes"]:,}',
            f'{row["queries"]:,}',
            'yes' if row['cached_edges'] else 'no',
            f'{row["success_rate"]:.3f}',
            f'{row["graph_gigabytes"]:.2f}',
            f'{row["peak_gigabytes"]:.2f}',
        ]
        for row in Results('planning_memory').rows
    ]
    head = [
        'N',
        'queries',
        'slopes kept',
        'SR',
        'GB before planning',
        'peak GB',
    ]
    return markdown(head, rows) if rows else NOT_RUN


def _order(name: str) -> tuple[bool, int]:
    size = name.rpartition(', ')[2]
    return not size.isdigit(), int(size) if size.isdigit() else 0


def _ratio(row: dict[str, Any], name: str) -> str:
    """In units of the mean of the search before and after all else."""
    value = row['ratio'].get(name)
    if value is None:
        return '-'
    drift = row['search_ms'] / _search_ms(row)
    return f'{value * drift:.3g}'


def _search_ms(row: dict[str, Any]) -> float:
    return (row['search_ms'] + row['search_ms_after']) / 2


PLANNING_TABLES = {
    'planning_quality': planning_quality,
    'planning_speed': planning_speed,
    'planning_memory': planning_memory,
    'planning_compile': planning_compile,
    'planning_maps': planning_maps,
    'road_speed': road_speed,
}

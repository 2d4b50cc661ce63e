"""Tables of small maps: how wide, and how they are trained."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from benchmarks.lib.results import Results, Row
from benchmarks.tables.markdown import NOT_RUN, markdown, number, spread
from benchmarks.tables.paper_numbers import published_gap

GRAPHS = {'ushape40': 'U, wide, N = 1600', 'ushape100': 'U, wide, N = 10,000'}
#: Rows of the headline that stand in README.md.
SHORT = (
    'wide20',
    'wide40',
    'small40',
    'tiny40',
    'wide60',
    'wide100',
    'wide200',
)
CLOCKS = {'cpu': 'CPU s, one thread', 'wall': 's, all cores'}


def _groups(name: str, *fields: str) -> dict[tuple, list[Row]]:
    """Rows that differ by their seed alone."""
    out: dict[tuple, list[Row]] = {}
    for row in Results(name).rows:
        out.setdefault(tuple(row[field] for field in fields), []).append(row)
    return out


def widths_table() -> str:
    """One line for each map, graph by graph, small maps first."""
    fields = ('graph', 'budget_seconds', 'clock', 'parameters')
    groups = _groups('widths', *fields)
    lines = []
    for (graph, seconds, clock, parameters), rows in sorted(groups.items()):
        first = rows[0]
        size, more = first['int8_bytes'], first['graph_bytes']
        lines.append(
            [
                GRAPHS.get(graph, graph),
                f'{first["width"]}, {first["channels"]}',
                f'{parameters:,}',
                f'{first["float32_bytes"] / 1e3:.1f}',
                f'{size / 1e3:.1f} ({(size + more) / 1e3:.1f})',
                f'{seconds:g} {CLOCKS[clock]}',
                number(first['steps'], 0),
                f'{first["step_ms"]:.1f}',
                f'{first["hop_us"]:.1f}',
                f'{min(row["success_rate"] for row in rows):.3f}',
                spread([row['gap'] for row in rows], 2),
                spread([row['int8_gap'] for row in rows], 2),
                spread([row['corridor_gap'] for row in rows], 3),
                spread([row['distance_error'] for row in rows], 1),
            ]
        )
    head = ['graph', 'width, channels', 'parameters', 'float32 kB']
    head += ['int8 kB (with the graph)', 'training', 'steps', 'step ms']
    head += ['hop µs', 'SR', 'Gap %', 'in int8', 'Corridor Gap %', 'MRE %']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def headline_table(names: Collection[str] = ()) -> str:
    """One line for each row of the headline, or for some, all their seeds."""
    fields = ('costs', 'side', 'width', 'channels', 'budget_minutes')
    groups = _groups('headline', *fields)
    lines = []
    if names:
        groups = {
            key: rows for key, rows in groups.items() if rows[0]['row'] in names
        }

    def place(key: tuple) -> tuple:
        costs, side, width, *_ = key
        return ('wide', 'mild', 'uniform').index(costs), side, -width

    for key in sorted(groups, key=place):
        costs, side, width, channels, minutes = key
        rows = groups[key]
        first = rows[0]
        lines.append(
            [
                f'U, {costs}, N = {side**2:,}',
                f'{first["parameters"]:,} ({width}, {channels})',
                f'{first["int8_bytes"] / 1e3:.0f}',
                f'{minutes:g}',
                number(first['train_steps'], 0),
                f'{min(row["success_rate"] for row in rows):.3f}',
                spread([row['gap'] for row in rows], 2),
                spread([row['corridor_gap'] for row in rows], 3),
                _share(rows, 'corridor'),
                spread([row['chosen_gap'] for row in rows], 3),
                _share(rows, 'chosen'),
                spread([row['distance_error'] for row in rows], 1),
                published_gap(costs, side),
                ', '.join(str(row['seed']) for row in rows),
            ]
        )
    head = ['graph', 'parameters (width, channels)', 'kB in int8', 'minutes']
    head += ['steps', 'SR', 'Gap %', 'Corridor Gap %', 'expanded %']
    head += ['chosen Gap %', 'expanded %', 'MRE %']
    head += ['Gap % in the paper', 'seeds']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def _share(rows: list[Row], readout: str) -> str:
    """Expanded nodes, in percent of those that Dijkstra settles."""
    field = f'{readout}_expansions'
    return spread(
        [100 * row[field] / row['dijkstra_expansions'] for row in rows], 1
    )


def tuning_table() -> str:
    """One line for each setting, all seeds: how many steps they had differs."""
    lines = []
    fields = ('side', 'cpu_seconds', 'name')
    for (side, seconds, name), rows in _groups('tuning', *fields).items():
        lines.append(
            [
                f'U, wide, N = {side**2:,}',
                f'{seconds:g}',
                name,
                ' / '.join(number(row['steps'], 0) for row in rows),
                ' / '.join(f'{row["step_ms"]:.1f}' for row in rows),
                ' / '.join(f'{row["gap"]:.2f}' for row in rows),
                ' / '.join(f'{row["distance_error"]:.2f}' for row in rows),
                ', '.join(str(row['seed']) for row in rows),
            ]
        )
    head = ['graph', 'CPU s', 'change', 'steps', 'step ms', 'Gap %', 'MRE %']
    return markdown([*head, 'seeds'], lines) if lines else f'{NOT_RUN}.'


def distillation_table() -> str:
    """Students of their own and of a teacher, all seeds."""
    lines = []
    fields = ('side', 'parameters', 'cpu_seconds', 'taught')
    for (side, parameters, seconds, taught), rows in _groups(
        'distillation', *fields
    ).items():
        lines.append(
            [
                f'U, wide, N = {side**2:,}',
                f'{parameters:,}',
                f'{seconds:g}',
                'a default map, for half of the time'
                if taught
                else 'the graph',
                spread([row['gap'] for row in rows], 2),
                spread([row['distance_error'] for row in rows], 2),
                spread([row['teacher_gap'] for row in rows], 2)
                if taught
                else '-',
                ', '.join(str(row['seed']) for row in rows),
            ]
        )
    head = ['graph', 'parameters', 'CPU s in all', 'learns from', 'Gap %']
    head += ['MRE %', "the teacher's Gap %", 'seeds']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


WIDTH_TABLES: dict[str, Callable[[], str]] = {
    'headline': headline_table,
    'headline_short': partial(headline_table, SHORT),
    'widths': widths_table,
    'tuning': tuning_table,
    'distillation': distillation_table,
}

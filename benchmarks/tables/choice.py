"""When to use a map, and when exact search, with what was measured."""

from __future__ import annotations

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import NOT_RUN, markdown

#: Road networks of the table, small ones first.
GRAPHS = ('sydney', 'rome_length')
USES = [
    [
        'a map',
        'what is kept must stay small however large the graph is, distances '
        'of many scattered pairs are wanted roughly, or scores with gradients',
        'no, unless `epsilon` proves it',
    ],
    [
        '`Dijkstra`',
        'routes are wanted now and then, or costs change between queries',
        'yes',
    ],
    [
        '`CCH`',
        'many shortest routes are wanted, and an index that grows with the '
        'graph is no trouble',
        'yes',
    ],
]


def choice() -> str:
    """A map, Dijkstra and CCH on road networks: latency, size and Gap."""
    head, rows = ['', 'use it if', 'exact'], [list(use) for use in USES]
    for graph in GRAPHS:
        found = _measured(graph)
        if found is None:
            continue
        head.append(
            f'{graph}, {found[0]:,} nodes: ms a query / MB / Gap % / '
            'seconds to build'
        )
        for row, cell in zip(rows, found[1], strict=True):
            row.append(cell)
    return markdown(head, rows) if len(head) > 3 else NOT_RUN


def _measured(graph: str) -> tuple[int, list[str]] | None:
    """Nodes of a graph, and a cell for each planner; None if one is missing."""
    row = Results('road_speed').find(graph=graph)
    trained = Results('planning_maps').find(map=graph)
    peers = Results('real_graphs').find(graph=graph)
    if row is None or trained is None or peers is None:
        return None
    planned, peer = row['readouts'], peers['methods']['CCH']
    corridor = next(planned[k] for k in planned if k.startswith('Corridor'))
    cch = planned['CCH, full graph']
    search = (row['full_search_ms'] + row['full_search_ms_after']) / 2
    size = 4 * row['parameters'] / 1e6
    return row['nodes'], [
        _cell(corridor['ms'], size, corridor['gap'], trained['seconds']),
        _cell(search, 0, 0, 0),
        _cell(cch['ms'], peer['megabytes'], cch['gap'], peer['build_seconds']),
    ]


def _cell(ms: float, megabytes: float, gap: float, seconds: float) -> str:
    return f'{ms:.2f} / {megabytes:.2f} / {gap:.2f} / {seconds:.0f}'


CHOICE_TABLES = {'choice': choice}

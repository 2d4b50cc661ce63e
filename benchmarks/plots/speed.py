"""Time of a query against the number of nodes, on grids and on roads."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.results import Results, Row

#: Lines of the grids, of maps 128 wide: label and name in the results.
GRIDS = {
    'one search (scipy)': None,
    'VisitedGreedy, one query': 'VisitedGreedy, planner(int, int)',
    'VisitedGreedy, in a batch of 1000': 'VisitedGreedy, 1000',
    'Corridor, in a batch of 1000': 'Corridor(radius=2, guide=BestFirst('
    'weight=1.0), bidirectional=True)',
    'CCH (exact)': 'CCH',
}
#: Those of the roads, by how names in the results begin.
ROADS = {
    'one search (scipy)': None,
    'VisitedGreedy, in a batch of 200': 'VisitedGreedy',
    'Corridor, in a batch of 200': 'Corridor',
    'CCH (exact)': 'CCH, full',
}
COLORS = ('#000000', '#d55e00', '#e69f00', '#009e73', '#8c564b')


def points() -> dict[str, Any]:
    """Nodes and milliseconds by line, in each panel."""
    rows = Results('planning_speed').rows
    grids = sorted((r for r in rows if r['width'] == 128), key=_nodes)
    roads = sorted(Results('road_speed').rows, key=_nodes)
    panels = {
        'grids': {
            label: [point for row in grids if (point := _on_grid(row, name))]
            for label, name in GRIDS.items()
        },
        'roads': {
            label: [point for row in roads if (point := _on_road(row, name))]
            for label, name in ROADS.items()
        },
    }
    return {name: one for name, one in panels.items() if any(one.values())}


def _nodes(row: Row) -> int:
    return row['nodes']


def _on_grid(row: Row, name: str | None) -> list[float] | None:
    """In the time of the search before, as the ratios are."""
    ratio = 1.0 if name is None else row['ratio'].get(name)
    return None if ratio is None else [row['nodes'], ratio * row['search_ms']]


def _on_road(row: Row, name: str | None) -> list[float] | None:
    if name is None:
        return [row['nodes'], row['full_search_ms']]
    for readout, one in row['readouts'].items():
        if readout.startswith(name):
            return [row['nodes'], one['ms']]
    return None


def draw(points: dict[str, Any]) -> Any:
    """Grids on the left, roads on the right."""
    from benchmarks.lib.figures import plain_ticks, plt

    count = max(1, len(points))
    figure, axes = plt.subplots(
        1, count, figsize=(4.5 * count, 3.6), sharey=True, squeeze=False
    )
    for ax, (name, lines) in zip(axes[0], points.items(), strict=False):
        colors = dict(zip(GRIDS, COLORS, strict=True))
        for label, line in lines.items():
            color = colors.get(label.replace('200', '1000'))
            ax.plot(*zip(*line, strict=True), 'o-', color=color, label=label)
        ax.set_xscale('log')
        ax.set_yscale('log')
        plain_ticks(ax.xaxis, *((1,) if name == 'grids' else (1, 2, 5)))
        plain_ticks(ax.yaxis)
        ax.set(xlabel='nodes', title=name)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7, loc='upper left')
    axes[0][0].set_ylabel('ms a query')
    return figure

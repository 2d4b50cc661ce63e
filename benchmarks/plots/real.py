"""Nodes expanded against Gap, on all real graphs."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.tables.real import expanded, one_row_a_graph

#: Readouts that are shown, with colour and marker.
READOUTS = {
    'BestFirst(1.2)': ('#56b4e9', 'v'),
    'BestFirst': ('#0072b2', 'o'),
    'chosen': ('#e69f00', 's'),
    'Corridor': ('#d55e00', 'D'),
}
EXACT = 'A*, 16 landmarks'


def points() -> dict[str, Any]:
    """Percent of the nodes of Dijkstra and Gap, a point for each graph."""
    out: dict[str, Any] = {}
    for row in one_row_a_graph():
        for name in (*READOUTS, EXACT):
            method = row['methods'].get(name)
            if method is None or method['gap'] is None:
                continue
            share = round(expanded(method, row['methods']), 3)
            gap = round(max(method['gap'], 0.0), 4)
            out.setdefault(name, []).append([share, gap])
    return out


def draw(points: dict[str, Any]) -> Any:
    """A cloud for each readout, and its medians."""
    from benchmarks.lib.figures import plain_ticks, plt

    figure, ax = plt.subplots(figsize=(6.5, 4.2))
    for name, (color, marker) in READOUTS.items():
        if name not in points:
            continue
        share, gap = zip(*points[name], strict=True)
        style = {'color': color, 'marker': marker, 'linestyle': ''}
        ax.plot(share, gap, **style, markersize=4, alpha=0.6)
        middle = statistics.median(share), statistics.median(gap)
        ax.plot(*middle, **style, markersize=11, mec='black', label=name)
    if EXACT in points:
        share = [one[0] for one in points[EXACT]]
        label = f'{EXACT} (exact)'
        ax.plot(share, [0] * len(share), '|', color='black', label=label)
        ax.plot(statistics.median(share), 0, '|', color='black', markersize=16)
    ax.set_xscale('log')
    ax.set_yscale('symlog', linthresh=0.01)
    ax.set_ylim(bottom=-0.003, top=30)
    plain_ticks(ax.xaxis)
    ax.set_yticks([0, 0.01, 0.1, 1, 10], ['0', '0.01', '0.1', '1', '10'])
    ax.set_xlabel('nodes expanded, % of those of Dijkstra')
    ax.set_ylabel('Gap %')
    ax.grid(alpha=0.3)
    if points:
        _legend(ax)
    return figure


def _legend(ax: Any) -> None:
    ax.legend(
        fontsize=7,
        title='large: median of all graphs',
        title_fontsize=7,
        markerscale=0.6,
        loc='lower left',
        bbox_to_anchor=(0.0, 0.1),
    )

"""Gap against time of training, for the three objectives."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.lib.results import Results, Row

LABELS = {
    'paper': "the paper's objective",
    'sweeps': 'ours, self-supervised',
    'exact': 'exact targets (supervised)',
}

#: The runs that are shown.
SHOWN = {'layout': 'ushape', 'costs': 'wide', 'encoder': 'interaction'}


def points() -> dict[str, Any]:
    """Core minutes and Gap by number of nodes and objective.

    Of several runs that of the smallest map, the one of today; of several seeds
    the run that took least: others had a busier machine.
    """
    out: dict[str, Any] = {}
    rows = [
        row
        for row in Results('learning_curves').rows
        if SHOWN.items() <= row.items()
    ]
    for row in sorted(rows, key=_place):
        panel = out.setdefault(str(row['side'] ** 2), {})
        panel.setdefault(row['targets'], _curve(row))
    return dict(sorted(out.items(), key=lambda item: int(item[0])))


def _place(row: Row) -> tuple[float, float]:
    return row.get('parameters') or math.inf, _core_seconds(row)


def _core_seconds(row: Row) -> float:
    """CPU time where it was taken, else wall time of all threads."""
    if row['cpu_seconds'] is not None:
        return row['cpu_seconds']
    return row['train_seconds'] * row['threads']


def _curve(row: Row) -> list[list[float]]:
    """Points of a run, those without a success left out."""
    minutes = _core_seconds(row) / 60 / row['train_steps']
    return [
        [round(step * minutes, 3), round(gap, 3)]
        for step, _, gap, _ in row['curve']
        if gap is not None
    ]


def draw(points: dict[str, Any]) -> Any:
    """A panel for each size."""
    from benchmarks.lib.figures import COLORS, plain_ticks, plt

    count = max(1, len(points))
    figure, axes = plt.subplots(
        1, count, figsize=(3.4 * count, 3.2), sharey=True, squeeze=False
    )
    for ax, (nodes, lines) in zip(axes[0], points.items(), strict=False):
        for kind, label in LABELS.items():
            curve = lines.get(kind, [])
            if not curve:
                label += ': not run yet'
            ax.plot(
                [minutes for minutes, _ in curve],
                [gap for _, gap in curve],
                '.-',
                color=COLORS[f'bcm_{kind}'],
                label=label,
            )
        ax.set_xscale('log')
        ax.set_yscale('log')
        plain_ticks(ax.xaxis, 1, 2, 5)
        plain_ticks(ax.yaxis)
        ax.set(xlabel='core minutes', title=f'N = {int(nodes):,}')
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7, loc='lower left')
    axes[0][0].set_ylabel('Gap %, VisitedGreedy')
    return figure

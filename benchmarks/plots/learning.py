"""Gap against time of training, for the three objectives."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.methods import MAPS
from benchmarks.lib.results import Results, Row

LABELS = {
    'paper': "the paper's objective",
    'sweeps': 'ours, self-supervised',
    'exact': 'exact targets (supervised)',
}


def points() -> dict[str, Any]:
    """Core minutes and Gap by number of nodes and objective.

    Of several seeds the run that took least: others had a busier machine.
    """
    out: dict[str, Any] = {}
    for kind, rows in _runs().items():
        for row in sorted(rows, key=_core_seconds):
            panel = out.setdefault(str(row['side'] ** 2), {})
            if kind not in panel:
                panel[kind] = _curve(row)
    return dict(sorted(out.items(), key=lambda item: int(item[0])))


def _runs() -> dict[str, list[Row]]:
    """The runs on the U under wide costs that have a curve, by objective."""
    found: dict[str, list[Row]] = {kind: [] for kind in MAPS}
    for row in Results('training_table').rows:
        if row['costs'] == 'wide' and row.get('curve'):
            found[row['targets']].append(row)
    for row in Results('paper_curves').rows:
        wanted = ('ushape', 'wide', 'interaction')
        if (row['layout'], row['costs'], row['encoder']) == wanted:
            found['paper'].append(row)
    return found


def _core_seconds(row: Row) -> float:
    """CPU time where it was taken, else wall time of all threads."""
    for name in ('cpu_seconds', 'train_cpu_seconds'):
        if row.get(name) is not None:
            return row[name]
    return row['train_seconds'] * row['threads']


def _curve(row: Row) -> list[list[float]]:
    """Points of a run, those without a success left out."""
    curve = row['curve']
    if 'train_steps' in row:  # step, loss, Gap, success rate
        pairs = [(one[0] / row['train_steps'], one[2]) for one in curve]
    else:  # seconds, Gap
        pairs = [(at / row['train_seconds'], gap) for at, gap in curve]
    minutes = _core_seconds(row) / 60
    return [
        [round(share * minutes, 3), round(gap, 3)]
        for share, gap in pairs
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

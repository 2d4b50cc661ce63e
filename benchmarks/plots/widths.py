"""Bytes against Gap on the U: maps of all widths, and the others."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import mean, select
from benchmarks.tables.paper_numbers import MEGABYTES, QUALITY

SIDE = 40
#: Channels of maps: how they are drawn, and whether names stand above.
STYLES = {64: ('o-', False), 32: ('^--', True)}
#: The others, their labels, and the field of their size.
OTHERS = {
    'cch': ('CCH', 'megabytes'),
    'cpd': ('CPD', 'megabytes'),
    'apsp': ('APSP, packed', 'packed_megabytes'),
    'eigen': ('EigenAgent', 'megabytes'),
}


def points() -> dict[str, Any]:
    """Kilobytes and Gap: of the others, of walks and of corridors."""
    out: dict[str, Any] = {'others': [], 'walks': [], 'corridors': []}
    scaling = Results('figure3_scaling').rows
    for name, (label, field) in OTHERS.items():
        found = select(scaling, method=name, side=SIDE, costs='wide')
        size, gap = mean(found, field), mean(found, 'gap')
        if size is not None and gap is not None:
            out['others'].append([name, label, 1e3 * size, gap])
    size, gap = MEGABYTES['bcm'][SIDE], QUALITY['bcm', 'wide'].gap
    out['others'].append(['bcm_paper', 'BCM, paper', 1e3 * size, gap])
    rows = [r for r in Results('widths').rows if r['graph'] == f'ushape{SIDE}']
    longest = max((row['budget_seconds'] for row in rows), default=0)
    rows = [row for row in rows if row['budget_seconds'] == longest]
    for key in sorted({(row['width'], row['channels']) for row in rows}):
        same = [row for row in rows if (row['width'], row['channels']) == key]
        label = [str(key[0]), key[1]]
        size, graph = (mean(same, f'{n}_bytes') for n in ('int8', 'graph'))
        out['walks'].append([*label, size / 1e3, mean(same, 'int8_gap')])
        at = (size + graph) / 1e3, mean(same, 'corridor_gap')
        out['corridors'].append([*label, *at])
    return out


def draw(points: dict[str, Any]) -> Any:
    """Colours as in the other pictures."""
    from benchmarks.lib.figures import COLORS, plain_ticks, plt

    figure, ax = plt.subplots(figsize=(6.5, 4.2))
    for name, label, size, gap in points['others']:
        ax.plot(size, gap, 'o', color=COLORS[name])
        _name(ax, label, size, gap, *((5, 3) if gap > 1e-3 else (0, -12)))
    for kind, text in (
        ('walks', 'our maps in int8, VisitedGreedy'),
        ('corridors', 'the same with the graph, Corridor'),
    ):
        if not points[kind]:
            ax.plot([], [], ' ', label=f'{text}: not run yet')
        for channels, (line, above) in STYLES.items():
            found = [one for one in points[kind] if one[1] == channels]
            ax.plot(
                [one[2] for one in found],
                [one[3] for one in found],
                line,
                color=COLORS['bcm_sweeps'],
                mfc=None if kind == 'walks' else 'white',
                label=f'{text}, {channels} channels' if found else None,
            )
            for label, _, size, gap in found if kind == 'walks' else []:
                _name(ax, label, size, gap, 0, 7 if above else -13)
    ax.set_xscale('log')
    ax.set_yscale('symlog', linthresh=0.1)
    ax.set_ylim(bottom=-0.04, top=100)
    ax.margins(x=0.2)
    plain_ticks(ax.xaxis, 1, 3)
    ax.set_yticks([0, 0.1, 1, 10, 100], ['0', '0.1', '1', '10', '100'])
    title = f'U, wide costs, N = {SIDE**2:,}; numbers are widths'
    ax.set(xlabel='kB', ylabel='Gap %', title=title)
    ax.legend(fontsize=7, loc='upper left')
    return figure


def _name(
    ax: Any, label: str, size: float, gap: float, right: int = 5, up: int = 3
) -> None:
    style = {'textcoords': 'offset points', 'fontsize': 7}
    side = 'left' if right else 'center'
    ax.annotate(label, (size, gap), xytext=(right, up), ha=side, **style)

"""Figure 3: size and quality from N = 400 to 10,000, and both together.

The U under wide costs. EigenAgent is solved densely and stops at N = 3600, its
weighted variants and CML, whose random walks are chosen for that size, at N =
1600; their sizes are known beyond. Maps that are not there are trained (2 to 15
minutes each on two free cores, those of the paper's objective up to hours).
``--quick`` takes two minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.lib.flags import QUICK_SIDE, paper_flags, parse
from benchmarks.lib.methods import BASELINES, MAPS, METHODS

SIDES = (20, 30, 40, 60, 80, 100)
#: Where methods that are too slow or too large for more than a size stop.
LARGEST_SIDE = {'eigen': 60, 'eigen_inverse': 40, 'eigen_rbf': 40, 'cml': 40}

FLAGS = paper_flags(__doc__, methods=[*BASELINES, 'bcm'], sides=SIDES)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from matplotlib.axes import Axes
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.plotting import plot_scaling
from bcm_pyg.utils import Adjacency
from benchmarks.lib.figures import COLORS, plt, save
from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import baseline_job
from benchmarks.lib.results import (
    Job,
    Row,
    figure_folder,
    results_for,
    run_jobs,
)
from benchmarks.lib.trained_maps import map_job
from benchmarks.tables.markdown import mean, select, values
from benchmarks.tables.paper_numbers import MEGABYTES, SCALING


def scaling_jobs(args: argparse.Namespace) -> list[Job]:
    """Sizes first: they need no map."""
    sides = (QUICK_SIDE, QUICK_SIDE + 4) if args.quick else args.sides
    jobs = [storage_job(side) for side in sides]
    for seed in args.seeds:
        for side in sides:
            grid = Grid('ushape', side, 'wide', seed)
            for name in BASELINES:
                stays = side <= LARGEST_SIDE.get(name, side)
                if name in args.methods and stays:
                    jobs.append(baseline_job(grid, name, args.pairs))
            if 'bcm' in args.methods:
                jobs += [map_job(grid, kind, args) for kind in args.targets]
    return jobs


def storage_job(side: int) -> Job:
    """Sizes do not depend on costs or seeds."""
    grid = Grid('ushape', side, 'wide', 42)
    key = {'method': 'storage', 'layout': grid.layout, 'side': side}
    return Job(key, lambda: storage_row(grid.data()))


def storage_row(data: Data) -> dict[str, Any]:
    """Megabytes on a connected grid, by the paper's counts.

    BCM: parameters, of which those of the transition encoder are the same for
    every graph. EigenAgent: modes and eigenvalues. APSP: distances and next
    hops, 12 bytes a pair; packed: 2 bits for each pair of free cells. CML: all
    of Q, V and W.
    """
    data = planning_graph(data)
    nodes = int(data.num_nodes)
    degree = Adjacency.from_data(data).degree()
    free, edges = int((degree > 0).sum()), int(data.num_edges)
    bits = (int(degree.max()) - 1).bit_length()
    model = BCM.paper(data)
    coordinates = 4 * sum(p.numel() for p in model.encoder.parameters())
    sizes = {
        'bcm': model.storage_bytes(),
        'bcm_fixed': model.storage_bytes() - coordinates,
        'bcm_coordinates': coordinates,
        'eigen': 4 * (nodes + 1) * (free - 2),
        'apsp': 12 * nodes**2,
        'apsp_packed': -(-bits * free * (free - 1) // 8),
        'cml': 4 * 1000 * (nodes + 2 * edges),
    }
    return {
        'nodes': nodes,
        'free_nodes': free,
        'directed_edges': edges,
        **{f'{name}_megabytes': size / 1e6 for name, size in sizes.items()},
    }


#: Lines of the first panel: size, label, style.
SIZES = {
    'apsp': ('APSP, 12 bytes a pair', '-'),
    'cml': ('CML', '-'),
    'eigen': ('EigenAgent', '-'),
    'apsp_packed': ('APSP, packed next hops', '--'),
    'bcm': ('BCM', '-'),
    'bcm_coordinates': ('BCM, coordinate-dependent part', ':'),
}


def draw(rows: list[Row], plane: int, folder: Path, paper: bool) -> None:
    """Size and Gap against N, and both together at one side."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 5))
    draw_sizes(axes[0], rows)
    draw_gaps(axes[1], rows, paper)
    draw_plane(axes[2], rows, plane, paper)
    save(figure, folder, 'figure3_scaling')


def draw_sizes(ax: Axes, rows: list[Row]) -> None:
    """(a) Sizes; those of the exact peers as they were built."""
    stored = sorted(select(rows, method='storage'), key=lambda row: row['side'])
    nodes = [row['nodes'] for row in stored]
    lines, styles = {}, {}
    for name, (label, style) in SIZES.items():
        size = [row[f'{name}_megabytes'] for row in stored]
        lines[label] = list(zip(nodes, size, strict=True))
        color = COLORS.get(name, COLORS['bcm_sweeps'])
        styles[label] = {'color': color, 'linestyle': style, 'marker': '.'}
    for name in ('cpd', 'cch'):
        label = METHODS[name].label
        lines[label] = _by_side(rows, name, 'megabytes')
        color = COLORS[name]
        styles[label] = {'color': color, 'linestyle': '-.', 'marker': '.'}
    plot_scaling(lines, ax, ylabel='MB', styles=styles)
    ax.set_title('(a) size')
    _finish(ax, nodes)


def draw_gaps(ax: Axes, rows: list[Row], paper: bool) -> None:
    """(b) Gap; hollow where less than every query succeeded."""
    lines, styles, hollow = {}, {}, []
    for name in ('eigen', *(f'bcm_{kind}' for kind in MAPS)):
        label = label_of(name)
        points = lines[label] = _by_side(rows, name, 'gap')
        styles[label] = {'color': COLORS[name]}
        rates = dict(_by_side(rows, name, 'success_rate'))
        hollow += [(nodes, gap) for nodes, gap in points if rates[nodes] < 1]
    for name, color in (('bcm', 'bcm_sweeps'), ('eigen', 'eigen')):
        label = f'{"BCM" if name == "bcm" else "EigenAgent"}, paper'
        lines[label] = [
            (side**2, reported.gap)
            for (method, side), reported in SCALING.items()
            if paper and method == name
        ]
        styles[label] = {
            'color': COLORS[color],
            'linestyle': '',
            'marker': 's',
            'markerfacecolor': 'none',
        }
    plot_scaling(lines, ax, ylabel='Gap %', styles=styles, hollow=hollow)
    ax.set_title('(b) Gap; hollow: some queries fail')
    _finish(ax, sorted({row['side'] ** 2 for row in rows}))


def draw_plane(ax: Axes, rows: list[Row], side: int, paper: bool) -> None:
    """(c) Gap against size; hollow where less than every query succeeded."""
    names = [*BASELINES, *(f'bcm_{kind}' for kind in MAPS)]
    for name in names:
        found = select(rows, method=name, side=side)
        size, gap = mean(found, 'megabytes'), mean(found, 'gap')
        if size is None or gap is None:
            continue
        full = min(values(found, 'success_rate')) == 1
        _point(ax, size, gap, name, full)
        packed = mean(found, 'packed_megabytes')
        if packed is not None:
            _point(ax, packed, gap, 'apsp_packed', full)
    published = MEGABYTES['bcm'].get(side), SCALING.get(('bcm', side))
    if paper and published[0] and published[1] and published[1].gap:
        at = published[0], published[1].gap
        color = COLORS['bcm_sweeps']
        ax.plot(*at, 's', color=color, markerfacecolor='none')
        ax.annotate('BCM, paper', at, xytext=(5, 3), **_SMALL)
    ax.set_xscale('symlog', linthresh=0.01)  # some keep nothing
    ax.set_yscale('symlog', linthresh=0.1)
    ax.margins(x=0.3, y=0.1)
    title = f'(c) N = {side**2}; hollow: some queries fail'
    ax.set(xlabel='MB', ylabel='Gap %', title=title)
    ax.set_ylim(bottom=-0.05)
    ax.set_xlim(left=-0.005)


#: Names that would lie on each other.
_OFFSETS = {
    'eigen_rbf': (6, 5),
    'eigen_inverse': (6, -11),
    'bcm_sweeps': (6, 2),
    'bcm_exact': (6, -9),
}
_SMALL: dict[str, Any] = {'textcoords': 'offset points', 'fontsize': 7}


def _point(ax: Axes, size: float, gap: float, name: str, full: bool) -> None:
    color = COLORS[name]
    face = color if full else 'none'
    ax.plot(size, gap, 'o', color=color, markerfacecolor=face)
    label = 'APSP, packed' if name == 'apsp_packed' else label_of(name)
    style: dict[str, Any] = {'xytext': _OFFSETS.get(name, (6, -3))}
    if name == 'bcm_paper':  # to the left: others are on the right
        style = {'xytext': (-6, -3), 'ha': 'right'}
    if gap < 1e-3:  # the exact ones lie on one line: names stand on end
        style = {'rotation': 55, 'xytext': (0, 6)}
    ax.annotate(label, (size, gap), **_SMALL, **style)


def _finish(ax: Axes, nodes: list[int]) -> None:
    """Ticks where there are results, the legend below."""
    ax.set_xlabel('N')
    ax.set_xticks(nodes, [str(number) for number in nodes], rotation=45)
    ax.minorticks_off()
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc='upper center',
            bbox_to_anchor=(0.5, -0.22),
            ncols=2,
            fontsize=7,
        )


def label_of(name: str) -> str:
    """Short names, since a picture has little room."""
    short = {
        'bcm_paper': "BCM, paper's objective",
        'bcm_sweeps': 'BCM, ours',
        'bcm_exact': 'BCM, exact targets',
    }
    return short[name] if name in short else METHODS[name].label


def _by_side(
    rows: list[Row], method: str, field: str
) -> list[tuple[int, float]]:
    found = select(rows, method=method)
    sides = sorted({row['side'] for row in found})
    points = [
        (side**2, mean([r for r in found if r['side'] == side], field))
        for side in sides
    ]
    return [(nodes, value) for nodes, value in points if value]


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    out = results_for('figure3_scaling', args.quick)
    run_jobs(out, scaling_jobs(args))
    plane = QUICK_SIDE if args.quick else 40
    draw(out.rows, plane, figure_folder(args.quick), paper=not args.quick)


if __name__ == '__main__':
    main()

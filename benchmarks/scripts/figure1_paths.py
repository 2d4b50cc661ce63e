"""Figure 1: the same query on the same U for every method.

Wide costs, N = 1600, from inside the U to below it: the straight way is
blocked. Walks that fail are drawn too. Maps come from the cache or are trained
(10 minutes each); CML takes a minute. ``--quick`` takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bcm_pyg import Planner
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.planning import VisitedGreedy
from benchmarks.lib.figures import COLORS, plt, save
from benchmarks.lib.jobs import (
    QUICK_SIDE,
    Grid,
    Job,
    figure_folder,
    flags,
    parse,
    results,
    run_jobs,
)
from benchmarks.lib.methods import BASELINES, MAPS
from benchmarks.lib.trained_maps import load_or_train, map_seconds
from benchmarks.lib.walks import apf_walk, cml_walk

METHODS = (
    'dijkstra',
    'eigen',
    'eigen_inverse',
    'eigen_rbf',
    'cml',
    'apf',
    'bcm',
)
WALKS: dict[str, Callable[[Any, int, int], list[int]]] = {
    'apf': apf_walk,
    'cml': cml_walk,
}


def query(side: int) -> tuple[int, int]:
    """From the middle of the U to below it."""
    start = (side // 2) * side + side // 2
    return start, (side - side // 8) * side + side // 2


def path_job(grid: Grid, method: str, args: Any) -> Job:
    """One route, and what it costs more than the best."""
    start, goal = query(grid.side)
    key = {**asdict(grid), 'method': method, 'start': start, 'goal': goal}
    targets = method.removeprefix('bcm_')
    if targets in MAPS:
        key['budget_seconds'] = map_seconds(grid, args)

    def run() -> dict[str, Any] | None:
        data = grid.data()
        if targets in MAPS:
            model = load_or_train(grid, targets, args)
            if model is None:
                return None
            planner = Planner(model, data, VisitedGreedy())
        else:
            build = BASELINES[method].build
            assert build is not None
            planner = build(data, grid.seed)
        plan = planner(start, goal)
        success = bool(plan.success[0])
        walk = plan.path(0)
        if not success and method in WALKS:
            walk = WALKS[method](planner, start, goal)
        best = float(Dijkstra(data)(start, goal).cost[0])
        cost = float(plan.cost[0])
        return {
            'success': success,
            'cost': cost if success else None,
            'excess_percent': 100 * (cost / best - 1) if success else None,
            'steps': max(len(walk) - 1, 0),
            'walk': ' '.join(map(str, walk)),
        }

    return Job(key, run)


def background(ax: Axes, grid: Grid) -> None:
    """Cells and the edges between them, darker where dear; walls black."""
    data, side = grid.data(), grid.side
    cost = np.full((2 * side - 1, 2 * side - 1), np.nan)
    tail, head = data.pos[data.edge_index].round().long().numpy()
    cost[tuple((tail + head).T)] = data.edge_cost.numpy()
    blocked = data.blocked.view(side, side).numpy()
    # A cell shows the mean of its edges.
    total = np.zeros(side * side)
    np.add.at(total, data.edge_index[0].numpy(), data.edge_cost.numpy())
    degree = np.bincount(data.edge_index[0].numpy(), minlength=side * side)
    mean = total / np.maximum(degree, 1)
    cost[::2, ::2] = np.where(blocked, np.nan, mean.reshape(side, side))
    # So does the corner between four edges.
    around = cost[:-2:2, 1::2], cost[2::2, 1::2], cost[1::2, :-2:2]
    cost[1::2, 1::2] = np.mean([*around, cost[1::2, 2::2]], axis=0)
    few = plt.get_cmap('Greys', 12)  # colours, for small files
    colors = few.with_extremes(bad='#3b4a5e')
    ends = -0.25, side - 0.75
    ax.imshow(
        cost,
        cmap=colors,
        vmax=1.7 * np.nanmax(cost),
        extent=(ends[0], ends[1], ends[1], ends[0]),
        interpolation='none',
    )


def draw(ax: Axes, grid: Grid, row: dict[str, Any]) -> None:
    """One panel."""
    background(ax, grid)
    side = grid.side
    walk = np.array(row['walk'].split(), dtype=int)
    # A failed walk repeats itself: after its last new step, all is drawn.
    _, first = np.unique(np.c_[walk[:-1], walk[1:]], axis=0, return_index=True)
    walk = walk[: first.max(initial=0) + 2]
    ax.plot(
        walk % side,
        walk // side,
        color=COLORS[row['method']],
        linewidth=2.2,
        solid_capstyle='round',
    )
    for node, marker in ((row['start'], 'o'), (row['goal'], '*')):
        ax.plot(node % side, node // side, marker, color='k', markersize=6)
    excess = row['excess_percent']
    if excess is None:
        verdict = f'fails, {row["steps"]} steps' if row['steps'] else 'fails'
    else:
        verdict = f'cost {row["cost"]:.1f} ({excess:+.1f} %)'
    name = row['method']
    targets = name.removeprefix('bcm_')
    label = MAPS[targets].label if targets in MAPS else BASELINES[name].label
    ax.set_title(f'{label}\n{verdict}', fontsize=7.5)
    ax.set_axis_off()


def main() -> None:
    parser = flags(__doc__, METHODS)
    args = parse(parser)
    if len(args.seeds) > 1:
        parser.error(f'one picture is of one seed (got {args.seeds})')
    side = QUICK_SIDE if args.quick else 40
    grid = Grid('ushape', side, 'wide', args.seeds[0])
    methods = [name for name in METHODS if name in args.methods]
    if 'bcm' in methods:
        methods.remove('bcm')
        methods += [f'bcm_{kind}' for kind in args.targets]
    out = results('figure1_paths', args.quick)
    jobs = [path_job(grid, name, args) for name in methods]
    run_jobs(out, jobs)

    found = [out.find(**job.key) for job in jobs]
    rows = [row for row in found if row is not None]
    columns = min(5, len(rows))
    lines = -(-len(rows) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(2.3 * columns, 2.65 * lines), squeeze=False
    )
    for ax in axes.flat[len(rows) :]:
        ax.set_axis_off()
    for ax, row in zip(axes.flat, rows, strict=False):
        draw(ax, grid, row)
    save(figure, figure_folder(args.quick), 'figure1_paths')


if __name__ == '__main__':
    main()

"""Figure 1: the same query on the same U for every method.

Wide costs, N = 1600, from inside the U to below it: the straight way is
blocked. Walks that fail are drawn too. Maps are those of table1_quality.py, or
are trained as there; CML takes a minute. ``--quick`` takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.lib.flags import QUICK_SIDE, paper_flags, parse
from benchmarks.lib.methods import BASELINES, MAPS, METHODS

SHOWN = (
    'dijkstra',
    'eigen',
    'eigen_inverse',
    'eigen_rbf',
    'cml',
    'apf',
    'bcm',
)
FLAGS = paper_flags(__doc__, methods=SHOWN)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import numpy as np
import torch
from matplotlib.axes import Axes

from bcm_pyg import Planner
from bcm_pyg.baselines import APF, CML, Dijkstra
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.utils import Adjacency
from benchmarks.lib.figures import COLORS, plt, save
from benchmarks.lib.graphs import Grid
from benchmarks.lib.results import Job, figure_folder, results_for, run_jobs
from benchmarks.lib.trained_maps import load_or_train, map_budget


def query(side: int) -> tuple[int, int]:
    """From the middle of the U to below it."""
    start = (side // 2) * side + side // 2
    return start, (side - side // 8) * side + side // 2


def apf_walk(planner: APF, start: int, goal: int) -> list[int]:
    """Downhill, until the goal or the second visit of a node."""
    walk = [start]
    while walk[-1] != goal and len(set(walk)) == len(walk):
        heads = _heads(planner.adjacency, walk[-1])[1]
        goals = torch.full_like(heads, goal)
        walk.append(int(heads[planner.potential(heads, goals).argmin()]))
    return walk


def cml_walk(planner: CML, start: int, goal: int) -> list[int]:
    """By W among unused actions, else by V among all, for N steps at most."""
    by_inverse, by_action = planner.utilities(torch.tensor([goal]))
    used = torch.zeros(planner.adjacency.num_edges, dtype=torch.bool)
    walk = [start]
    while walk[-1] != goal and len(walk) <= planner.adjacency.num_nodes:
        edges, heads = _heads(planner.adjacency, walk[-1])
        unused = by_inverse[0, edges].masked_fill(used[edges], 0.0)
        best = unused.argmax()
        if unused[best] <= 0:
            best = by_action[0, edges].argmax()
        used[edges[best]] = True
        walk.append(int(heads[best]))
    return walk


def _heads(
    adjacency: Adjacency, node: int
) -> tuple[torch.Tensor, torch.Tensor]:
    edges, _ = adjacency.out_edges(torch.tensor([node]))
    return edges, adjacency.dst[edges]


#: Where methods go that fail: a Plan holds no route for a query that failed,
#: and a picture of why needs the walk, step by step as the planner chooses.
WALKS: dict[str, Callable[[Any, int, int], list[int]]] = {
    'apf': apf_walk,
    'cml': cml_walk,
}


def path_job(grid: Grid, method: str, args: Any) -> Job:
    """One route, and what it costs more than the best."""
    start, goal = query(grid.side)
    key = {**asdict(grid), 'method': method, 'start': start, 'goal': goal}
    targets = method.removeprefix('bcm_')
    if targets in MAPS:
        key |= map_budget(grid, targets, args)

    def run() -> dict[str, Any] | None:
        data = grid.data()
        if targets in MAPS:
            model = load_or_train(grid, targets, args)
            if model is None:
                return None
            planner = Planner(model, data, VisitedGreedy())
        else:
            planner = BASELINES[method].build(data, grid.seed)
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
    ax.set_title(f'{METHODS[name].label}\n{verdict}', fontsize=7.5)
    ax.set_axis_off()


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    if len(args.seeds) > 1:
        FLAGS.error(f'one picture is of one seed (got {args.seeds})')
    side = QUICK_SIDE if args.quick else 40
    grid = Grid('ushape', side, 'wide', args.seeds[0])
    methods = [name for name in SHOWN if name in args.methods]
    if 'bcm' in methods:
        methods.remove('bcm')
        methods += [f'bcm_{kind}' for kind in args.targets]
    out = results_for('figure1_paths', args.quick)
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

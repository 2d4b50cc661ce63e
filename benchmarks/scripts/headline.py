"""What the README promises: the default map on the paper's grids.

A row has its minutes on all cores, and the machine should have nothing else to
do. With ``--by-steps`` it makes as many steps as two cores make in that time
when nothing else runs, on one thread, however busy the machine is; then maps of
the default size are those of the paper's tables. Maps are kept in ``maps/`` in
float16 and measured as they are kept. Resumable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from benchmarks.lib.flags import flags, parse
from benchmarks.lib.methods import STEP_MS, steps_in


class Headline(NamedTuple):
    """A row: costs and side of the U, minutes, and the size of the map."""

    costs: str
    side: int
    minutes: float
    width: int = 128
    channels: int = 64


ROWS = {
    'wide20': Headline('wide', 20, 2),
    'wide40': Headline('wide', 40, 10),
    'mild40': Headline('mild', 40, 10),
    'uniform40': Headline('uniform', 40, 5),
    'wide60': Headline('wide', 60, 12),
    'demo40': Headline('wide', 40, 3),
    'mid40': Headline('wide', 40, 10, width=96),
    'small40': Headline('wide', 40, 10, width=64, channels=32),
    'tiny40': Headline('wide', 40, 10, width=32, channels=32),
    'wide100': Headline('wide', 100, 15, channels=192),
    'wide200': Headline('wide', 200, 20, channels=192),
}
FLAGS = flags(__doc__)
FLAGS.add_argument('--rows', nargs='+', choices=ROWS, default=[*ROWS])
FLAGS.add_argument(
    '--by-steps', action='store_true', help='for a machine that is busy'
)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch

from bcm_pyg import BCM
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.planning import Corridor, VisitedGreedy, choose_corridor
from benchmarks.lib.graphs import Grid, Queries, sampled
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import Job, Row, results_for, run_jobs
from benchmarks.lib.trained_maps import (
    cache_name,
    ended_by,
    fit_config,
    grid_map,
    grid_map_name,
    trained_map,
    training_of,
)

#: Milliseconds of a step by the side of the U and the width of the map, where
#: that is not the default. A width of 96 takes as long as 128.
OTHER_STEP_MS = {(40, 96): 10.1, (40, 64): 5.5, (40, 32): 4.6}
QUICK_STEPS = 20


def step_ms(row: Headline) -> float:
    """Milliseconds of a step on two cores that do nothing else."""
    if row.width == 128:
        return STEP_MS[row.side]
    return OTHER_STEP_MS[row.side, row.width]


def has_default_size(row: Headline, grid: Grid) -> bool:
    """Whether the map of a row is as large as one of the tables."""
    default = BCM.from_data(grid.data(), 'interaction')
    sizes = default.transition.hidden_channels, default.encoder.channels
    return sizes == (row.width, row.channels)


def map_name(row: Headline, grid: Grid, steps: int | None) -> str:
    """The name of the map of a row: that of the tables, or by its size."""
    if steps is not None and has_default_size(row, grid):
        return grid_map_name(grid, 'sweeps', steps)
    size = f'{row.width}x{row.channels}'
    graph = grid.layout, grid.costs, grid.side, size
    seconds = 60 * row.minutes
    return cache_name(*graph, seconds=seconds, steps=steps, seed=grid.seed)


def map_of(row: Headline, grid: Grid, steps: int | None, keep: bool) -> BCM:
    """The map of a row, found or trained."""
    if steps is not None and has_default_size(row, grid):
        return grid_map(grid, 'sweeps', steps, keep=keep)
    budget: Row = {'steps': steps}
    if steps is None:
        budget = {'time_budget': 60 * row.minutes}
    return trained_map(
        map_name(row, grid, steps),
        grid.data(),
        fit_config(seed=grid.seed, **budget),
        keep=keep,
        hidden_channels=row.width,
        channels=row.channels,
    )


def measure_headline(row: Headline, key: Row, keep: bool) -> Row:
    """Trains the map of a row, or finds it, and measures it."""
    grid = Grid('ushape', row.side, row.costs, key['seed'])
    data, steps = grid.data(), key['budget_steps']
    model = map_of(row, grid, steps, keep)
    training = training_of(model)
    queries: Queries = sampled(data, key['num_queries'], grid.seed)
    walk = planner_of(model, data, None, VisitedGreedy())
    corridor = planner_of(model, data, None, Corridor())
    near = quality(corridor, data, queries)
    search = quality(Dijkstra(data), data, queries)
    chosen = choose_corridor(corridor)  # by queries of its own
    narrow = quality(planner_of(model, data, None, chosen), data, queries)
    return {
        'map': map_name(row, grid, steps),
        'ended_by': ended_by(model),
        'terminal': model.terminal,
        'train_seconds': training['train_seconds'],
        'train_cpu_seconds': training['cpu_seconds'],
        'train_steps': training['steps'],
        'trained_commit': training['trained_commit'],
        'curve': training['learning'],
        'parameters': model.num_parameters(),
        'float32_bytes': model.storage_bytes('float32'),
        'int8_bytes': model.storage_bytes('int8'),
        **quality(walk, data, queries),
        'distance_error': distance_error(walk, queries),
        **{f'corridor_{field}': value for field, value in near.items()},
        'dijkstra_expansions': search['expansions'],
        'chosen': str(chosen),
        **{f'chosen_{field}': value for field, value in narrow.items()},
    }


def jobs_of(args: Any) -> list[Job]:
    """Row by row, the seeds of a row one after the other."""
    jobs = []
    for name in args.rows:
        row = ROWS[name]
        row = row._replace(minutes=row.minutes * args.budget)
        steps = None
        if args.quick:
            row, steps = row._replace(side=10), QUICK_STEPS
        elif args.by_steps:
            steps = steps_in(row.minutes, step_ms(row))
        for seed in args.seeds:
            key = {
                'row': name,
                'costs': row.costs,
                'side': row.side,
                'width': row.width,
                'channels': row.channels,
                'seed': seed,
                'budget_minutes': row.minutes,
                'budget_steps': steps,
                'num_queries': args.pairs,
            }
            run = partial(measure_headline, row, key, keep=not args.quick)
            jobs.append(Job(key, run))
    return jobs


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    if args.by_steps:
        torch.set_num_threads(1)
    run_jobs(results_for('headline', args.quick), jobs_of(args))


if __name__ == '__main__':
    main()

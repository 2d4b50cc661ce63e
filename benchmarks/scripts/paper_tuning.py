"""Settings of the paper's objective, one change at a time.

Each row has the same steps, on one thread; queries and costs are of other seeds
than those of the tables, so that these are not tuned to. Resumable.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import flags, parse

FLAGS = flags(__doc__)
FLAGS.set_defaults(seeds=[7])
FLAGS.add_argument('--side', type=int, default=20)
FLAGS.add_argument('--costs', default='wide')
FLAGS.add_argument('--steps', type=int, default=4000)
FLAGS.add_argument('--rows', nargs='+', help='names, such as chosen')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch_geometric import seed_everything

from bcm_pyg import BCM, FitConfig, fit
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.training import OneStepTargets
from benchmarks.lib.graphs import Grid, sampled
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import Job, Row, results_for, run_jobs

#: Changes of the configuration; ``tables`` is a factor on the initial ones.
ROWS: dict[str, dict[str, Any]] = {
    'chosen': {},
    'values of the map as it is': {'targets': OneStepTargets(average=1)},
    'no goals in their patch': {'targets': OneStepTargets(own_goals=0)},
    'one rate for all': {'encoder_lr': 1.0},
    'lr 2e-3': {'lr': 2e-3},
    'lr 8e-3': {'lr': 8e-3},
    'tables of a fifth at first': {'tables': 0.2},
    'tables of twice at first': {'tables': 2.0},
    'patches of 8': {'targets': OneStepTargets(patch=8)},
    'patches of 32': {'targets': OneStepTargets(patch=32)},
    '32 x 32': {'sources': 32, 'goals': 32},
    'Adam 1e-3': {'optimizer': 'adam', 'lr': 1e-3},
}


def run_row(change: dict[str, Any], grid: Grid, steps: int) -> Row:
    """Trains and measures."""
    data, settings = grid.data(), dict(change)
    scale = settings.pop('tables', 1.0)
    seed_everything(grid.seed)
    model = BCM.paper(data)
    with torch.no_grad():
        for table in model.encoder.parameters():
            table.mul_(scale)
    config = FitConfig.paper(
        steps=steps, seed=grid.seed, validations=5, **settings
    )
    began = time.process_time()
    history = fit(model, data, config)
    spent = time.process_time() - began
    queries = sampled(data, 1000, grid.seed)
    planner = planner_of(model, data, None, VisitedGreedy())
    found = quality(planner, data, queries)
    return {
        'train_cpu_seconds': round(spent, 1),
        **{name: found[name] for name in ('gap', 'success_rate')},
        'distance_error': distance_error(planner, queries),
        'fields': ['step', 'loss', 'gap', 'success_rate'],
        'curve': [
            [step, *(round(x, 4) for x in metrics)]
            for step, *metrics in zip(
                history.step,
                history.loss,
                history.gap,
                history.success_rate,
                strict=True,
            )
        ],
    }


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    torch.set_num_threads(1)
    side = 10 if args.quick else args.side
    steps = 20 if args.quick else round(args.steps * args.budget)
    jobs = []
    for seed in args.seeds:
        grid = Grid('ushape', side, args.costs, seed)
        for name, change in ROWS.items():
            if args.rows and name not in args.rows:
                continue
            key = {'name': name, 'side': side, 'costs': args.costs}
            key['seed'] = seed
            key['train_steps'] = steps

            def run(change: Any = change, grid: Grid = grid) -> Row:
                return run_row(change, grid, steps)

            jobs.append(Job(key, run))
    run_jobs(results_for('paper_tuning', args.quick), jobs)


if __name__ == '__main__':
    main()

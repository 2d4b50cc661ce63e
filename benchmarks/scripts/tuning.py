"""Settings of training at the default width, one change at a time.

Each row has the same CPU time, on one thread; queries and costs are of other
seeds than those of the tables, so that these are not tuned to. Resumable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import flags, parse

FLAGS = flags(__doc__)
FLAGS.set_defaults(seeds=[7, 8, 9])
FLAGS.add_argument('--side', type=int, default=40)
FLAGS.add_argument('--rows', nargs='+', help='names, such as default')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch

from bcm_pyg import BCM
from bcm_pyg.planning import VisitedGreedy
from benchmarks.lib.cpu_time import fit_for_cpu_seconds
from benchmarks.lib.graphs import Grid, sampled
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import Job, Row, results_for, run_jobs
from benchmarks.lib.trained_maps import fit_config, library_soap

#: Seconds of a row.
SECONDS = 90.0

ROWS: dict[str, dict[str, Any]] = {
    'default': {},
    'block 32 x 32': {'sources': 32, 'goals': 32},
    'block 128 x 8': {'sources': 128, 'goals': 8},
    'lr 9e-3': {'lr': 9e-3},
    'lr 4e-3': {'lr': 4e-3},
    'no regret': {'regret': 0.0},
    'regret 1': {'regret': 1.0},
    'pool of 128': {'goal_pool': 128},
    'refreshed every 16 steps': {'refresh_every': 16},
    '2 samples': {'bootstrap_samples': 2},
    'a quarter near goals': {'near_goal_fraction': 0.25},
    'SOAP of pytorch-optimizer': {'optimizer': library_soap},
}


def run_row(change: dict[str, Any], grid: Grid, seconds: float) -> Row:
    """Trains and measures."""
    data = grid.data()
    settings = {'seed': grid.seed, 'validations': 0, **change}
    model = BCM.from_data(data)
    history, step = fit_for_cpu_seconds(
        model, data, fit_config(steps=1, **settings), seconds
    )
    queries = sampled(data, 1000, grid.seed)
    planner = planner_of(model, data, None, VisitedGreedy())
    found = quality(planner, data, queries)
    return {
        'parameters': model.num_parameters(),
        'steps': history.steps,
        'step_ms': round(step, 3),
        **{name: found[name] for name in ('gap', 'success_rate')},
        'distance_error': distance_error(planner, queries),
    }


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    torch.set_num_threads(1)
    side = 10 if args.quick else args.side
    seconds = (1.0 if args.quick else SECONDS) * args.budget
    jobs = []
    for seed in args.seeds:
        grid = Grid('ushape', side, 'wide', seed)
        for name, change in ROWS.items():
            if args.rows and name not in args.rows:
                continue
            key = {'name': name, 'side': side, 'seed': seed}
            key['cpu_seconds'] = seconds

            def run(change: Any = change, grid: Grid = grid) -> Row:
                return run_row(change, grid, seconds)

            jobs.append(Job(key, run))
    run_jobs(results_for('tuning', args.quick), jobs)


if __name__ == '__main__':
    main()

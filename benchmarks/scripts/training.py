"""How well maps are trained.

``--table``     the target table: graphs x seeds x targets, each within its time
``--ablation``  every default of FitConfig against its alternative; one of them
                needs ``pip install --no-deps pytorch-optimizer``

Each part is resumable: rows that are in its JSON are not run again. Run it
alone on the machine, or with ``--same-steps``: then a row takes as many steps
as our own row of seed 42 took in its time, however busy the machine is.
``--table --quick`` takes about two minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import part_flags, run_parts

FLAGS = part_flags(__doc__, 'table', 'ablation')
FLAGS.add_argument('--targets', nargs='+', default=['sweeps', 'exact'])
FLAGS.add_argument('--rows', nargs='+', help='such as wide40')
FLAGS.add_argument(
    '--same-steps', action='store_true', help='for a machine that is busy'
)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from torch import Tensor
from torch_geometric import seed_everything

from bcm_pyg import BCM, fit
from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import walk_quality
from benchmarks.lib.methods import training_seconds
from benchmarks.lib.results import Results, Row, results_for
from benchmarks.lib.trained_maps import (
    ended_by,
    fit_config,
    grid_map_name,
    library_soap,
    settings_of,
    trained_map,
    training_of,
)

#: Costs and side of the rows of the target table.
TABLE = [
    ('wide', 20),
    ('wide', 40),
    ('mild', 40),
    ('uniform', 40),
    ('wide', 60),
]
QUICK_TABLE, QUICK_SECONDS = [('wide', 20), ('uniform', 20)], 20


def run_table(args: Any) -> None:
    results = results_for('training_table', args.quick)
    jobs = [
        (seed, targets, row)
        for seed in args.seeds
        for targets in args.targets
        for row in (QUICK_TABLE if args.quick else TABLE)
        if not args.rows or f'{row[0]}{row[1]}' in args.rows
    ]
    for seed, targets, (costs, side) in jobs:
        grid = Grid('ushape', side, costs, seed)
        seconds = training_seconds(side, costs, args.budget)
        if args.quick:
            seconds = QUICK_SECONDS * args.budget
        key = {
            'layout': grid.layout,
            'costs': costs,
            'side': side,
            'targets': targets,
            'seed': seed,
            'budget_seconds': seconds,
        }
        if results.find(**key):
            continue
        print(key)
        budget: dict[str, Any] = {'time_budget': seconds}
        if args.same_steps:
            timed = {**key, 'targets': 'sweeps', 'seed': 42}
            budget = {'steps': _steps_in_time(results, timed)}
        model = trained_map(
            grid_map_name(grid, targets, seconds),
            grid.data(),
            fit_config(targets, seed=seed, **budget),
            paper=targets == 'paper',
        )
        row = {
            **key,
            'ended_by': ended_by(model),
            'readout': 'VisitedGreedy',
            'terminal': model.terminal,
            'sweeps': settings_of(model)['sweeps'],
            'parameters': model.num_parameters(),
            'megabytes': model.storage_bytes() / 1e6,
            **training_of(model),
            **walk_quality(model, grid.data(), args.pairs, seed),
        }
        print(f'Gap {row["gap"]:.2f} %, SR {row["success_rate"]:.3f}')
        results.add(row)


def _steps_in_time(results: Results, key: Row) -> int:
    row = results.find(**key)
    if row is None or row.get('ended_by', 'time') != 'time':
        raise SystemExit(f'--same-steps needs this row first: {key}')
    return row['steps']


AVERAGED = 'weights: mean of the last tenth'

#: What each default was chosen against, one change at a time.
ABLATIONS: dict[str, dict[str, Any]] = {
    'default': {},
    'default, once more': {},
    'targets: paper (one backup)': {'targets': 'paper'},
    'targets: exact (labels)': {'targets': 'exact'},
    'sweeps: half as many': {'num_backups': 12},
    'sweeps: half as many again': {'num_backups': 35},
    'draws: 1 of as many nodes': {
        'bootstrap_samples': 1,
        'bootstrap_nodes': 384,
    },
    'draws: 1, same seeds': {'bootstrap_samples': 1},
    'seeds: half as many': {'bootstrap_nodes': 48},
    'seeds: twice as many': {'bootstrap_nodes': 192},
    'pool: 256, renewed rarely': {'goal_pool': 256, 'refresh_every': 20},
    'renewed half as often': {'refresh_every': 16},
    'block: 32 x 32': {'sources': 32, 'goals': 32},
    'block: 32 x 64': {'sources': 32, 'goals': 64},
    'sources: half near the goals': {'near_goal_fraction': 0.5},
    'errors: absolute': {'relative': False, 'ranking': 0.1},
    'ranking: none': {'ranking': 0.0},
    'ranking: three times': {'ranking': 0.012},
    'ranking temperature: 0.2': {'ranking_temperature': 0.2},
    'optimizer: Adam 3e-3': {'optimizer': 'adam', 'lr': 3e-3},
    'lr: half': {'lr': 3e-3},
    'lr: double': {'lr': 1.2e-2},
    'init: random tables': {},
    AVERAGED: {},
    'optimizer: SOAP of pytorch-optimizer': {'optimizer': library_soap},
}


def run_ablation(args: Any) -> None:
    results = results_for('training_ablation', args.quick)
    side, seconds = (20, 5.0) if args.quick else (40, 90.0)
    seconds = seconds * args.budget
    for seed in args.seeds:
        data = Grid('ushape', side, 'wide', seed).data()
        for name, change in ABLATIONS.items():
            key = {
                'name': name,
                'side': side,
                'seed': seed,
                'budget_seconds': seconds,
            }
            if results.find(**key):
                continue
            seed_everything(seed)
            init = {'init': 'random'} if name.startswith('init') else {}
            model = BCM.from_data(data, 'interaction', **init)
            mean = None
            if name == AVERAGED:
                mean = WeightMean(model, seconds)
                change = {'validations': 400, 'validation_queries': 0}
            config = fit_config(
                **{
                    'time_budget': seconds,
                    'seed': seed,
                    'validations': 0,
                    **change,
                }
            )
            history = fit(model, data, config, callback=mean)
            if mean is not None:
                mean.apply()
            told = {
                field: getattr(value, '__qualname__', value)
                for field, value in change.items()
            }
            row = {**key, 'change': told, 'steps': history.steps}
            row |= walk_quality(model, data, args.pairs, seed)
            print(f'{name:32} Gap {row["gap"]:6.2f} %, {history.steps} steps')
            results.add(row)


class WeightMean:
    """A callback that averages the weights over the last tenth of a run."""

    def __init__(self, model: BCM, seconds: float) -> None:
        self.model, self.begin = model, 0.9 * seconds
        self.total: dict[str, Tensor] = {}
        self.count = 0

    def __call__(self, step: int, metrics: dict[str, float]) -> None:
        """Takes the weights of this moment in."""
        if metrics['seconds'] < self.begin:
            return
        self.count += 1
        for name, value in self.model.state_dict().items():
            self.total[name] = self.total.get(name, 0) + value.double()

    def apply(self) -> None:
        """Gives the map the mean."""
        self.model.load_state_dict(
            {name: value / self.count for name, value in self.total.items()}
        )


def main(given: Sequence[str] | None = None) -> None:
    run_parts(FLAGS, given, table=run_table, ablation=run_ablation)


if __name__ == '__main__':
    main()

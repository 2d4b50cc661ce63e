"""What the defaults of training were chosen against.

Every default of FitConfig against its alternative, one change at a time, each
for the same time: run it alone on the machine. One of them needs ``pip install
--no-deps pytorch-optimizer``. Rows that are there are not run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import flags, parse

FLAGS = flags(__doc__)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from torch import Tensor
from torch_geometric import seed_everything

from bcm_pyg import BCM, fit
from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import walk_quality
from benchmarks.lib.results import results_for
from benchmarks.lib.trained_maps import fit_config, library_soap

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
    run_ablation(parse(FLAGS, given))


if __name__ == '__main__':
    main()

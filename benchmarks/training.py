"""How well and how fast maps are trained.

``--table``     the target table: graphs x seeds x targets, each within its time
``--ablation``  every default of FitConfig against its alternative; one of them
                needs ``pip install --no-deps pytorch-optimizer``
``--profile``   where a training step goes, and how near it is to bare GEMMs
``--compile``   whether torch.compile makes a step faster
``--update``    training on after costs or edges changed, against from scratch

Each part is resumable: rows that are in its JSON are not run again. Run it
alone on the machine, or with ``--same-steps``: then a row takes as many steps
as our own row of seed 42 took in its time, however busy the machine is.
``--quick`` takes about two minutes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from common import Results, parser, results_for, trained_map
from step_profile import profile_compiled, profile_step
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, Planner, evaluate, fit, planning_graph
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.training import trainer

#: Costs, side and seconds of the rows of the target table.
TABLE = [
    ('wide', 20, 120),
    ('wide', 40, 600),
    ('mild', 40, 600),
    ('uniform', 40, 300),
    ('wide', 60, 1200),
]
QUICK_TABLE = [('wide', 20, 20), ('uniform', 20, 20)]

AVERAGED = 'weights: mean of the last tenth'
LIBRARY_SOAP = 'optimizer: SOAP of pytorch-optimizer'

#: What each default was chosen against, one change at a time.
ABLATIONS: dict[str, dict[str, Any]] = {
    'default': {},
    'default, once more': {},
    'targets: paper (one backup)': {'targets': 'paper'},
    'targets: exact (labels)': {'targets': 'exact'},
    'sweeps: half as many': {'sweeps': 12},
    'sweeps: half as many again': {'sweeps': 35},
    'draws: 1 of as many nodes': {'draws': 1, 'seeds': 384},
    'draws: 1, same seeds': {'draws': 1},
    'seeds: half as many': {'seeds': 48},
    'seeds: twice as many': {'seeds': 192},
    'pool: 256, renewed rarely': {'pool': 256, 'renew_every': 20},
    'renewed half as often': {'renew_every': 16},
    'block: 64 sources x 16 goals': {'sources': 64, 'goals': 16},
    'block: 32 x 64': {'goals': 64},
    'sources: half near the goals': {'near': 0.5},
    'errors: absolute': {'relative': False, 'ranking': 0.1},
    'ranking: none': {'ranking': 0.0},
    'ranking: three times': {'ranking': 0.012},
    'ranking temperature: 0.2': {'ranking_temperature': 0.2},
    'optimizer: Adam 3e-3': {'optimizer': 'adam', 'lr': 3e-3},
    LIBRARY_SOAP: {},
    'lr: half': {'lr': 3e-3},
    'lr: double': {'lr': 1.2e-2},
    'init: random tables': {},
    AVERAGED: {},
}


def config_for(targets: str, seed: int, **budget: Any) -> FitConfig:
    if targets == 'paper':
        return FitConfig.paper(seed=seed, **budget)
    return FitConfig(seed=seed, targets=targets, **budget)


def score(model: BCM, data: Data, pairs: int, seed: int) -> dict[str, Any]:
    starts, goals = sample_queries(data, pairs, seed=seed)
    planner = Planner(model, data, VisitedGreedy())
    return evaluate(planner, data, starts, goals).as_dict()


def run_table(args: Any) -> None:
    results = results_for('training_table', args.quick)
    jobs = [
        (seed, targets, row)
        for seed in args.seeds
        for targets in args.targets
        for row in (QUICK_TABLE if args.quick else TABLE)
        if not args.rows or f'{row[0]}{row[1]}' in args.rows
    ]
    for seed, targets, (costs, side, seconds) in jobs:
        seconds = seconds * args.budget
        key = {
            'layout': 'ushape',
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
        data = weighted_grid('ushape', side, costs, seed)
        model, training = trained_map(
            f'ushape-{costs}-{side}-{targets}-{seconds:g}s-{seed}',
            data,
            config_for(targets, seed, **budget),
            seed,
            paper=targets == 'paper',
        )
        trained = model.info.training['config']
        row = {
            **key,
            'ended_by': 'time' if trained['steps'] is None else 'steps',
            'readout': 'VisitedGreedy',
            'terminal': model.terminal,
            'sweeps': trained['sweeps'],
            'parameters': model.num_parameters(),
            'megabytes': model.storage_bytes() / 1e6,
            **training,
            **score(model, data, args.pairs, seed),
        }
        print(f'Gap {row["gap"]:.2f} %, SR {row["success_rate"]:.3f}')
        results.add(row)


def _steps_in_time(results: Results, key: dict[str, Any]) -> int:
    row = results.find(**key)
    if row is None or row.get('ended_by', 'time') != 'time':
        raise SystemExit(f'--same-steps needs this row first: {key}')
    return row['steps']


def run_ablation(args: Any) -> None:
    results = results_for('training_ablation', args.quick)
    side, seconds = (20, 5.0) if args.quick else (40, 90.0)
    seconds = seconds * args.budget
    for seed in args.seeds:
        data = weighted_grid('ushape', side, 'wide', seed)
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
            config = FitConfig(time_budget=seconds, seed=seed, validations=0)
            mean = None
            if name == AVERAGED:
                mean = WeightMean(model, seconds)
                change = {'validations': 400, 'validation_queries': 0}
            with library_soap(name == LIBRARY_SOAP):
                history = fit(
                    model, data, replace(config, **change), callback=mean
                )
            if mean is not None:
                mean.apply()
            row = {**key, 'change': change, 'steps': history.steps}
            row |= score(model, data, args.pairs, seed)
            print(f'{name:32} Gap {row["gap"]:6.2f} %, {history.steps} steps')
            results.add(row)


@contextmanager
def library_soap(wanted: bool) -> Iterator[None]:
    """Puts the optimiser of another library in the place of ours."""
    ours = trainer.make_optimizer
    if wanted:
        from pytorch_optimizer import SOAP

        trainer.make_optimizer = lambda model, config: SOAP(
            model.parameters(), lr=config.lr, weight_decay=0.0
        )
    try:
        yield
    finally:
        trainer.make_optimizer = ours


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


def changed_costs(data: Data, share: float, seed: int) -> Data:
    """The graph with some undirected costs drawn anew."""
    return _changed(data, share, seed, remove=False)


def removed_edges(data: Data, share: float, seed: int) -> Data:
    """The graph without some of its undirected edges."""
    return _changed(data, share, seed, remove=True)


def _changed(data: Data, share: float, seed: int, remove: bool) -> Data:
    rng = np.random.default_rng(seed + 1000)
    tail, head = data.edge_index
    pair = torch.minimum(tail, head) * data.num_nodes
    pair = (pair + torch.maximum(tail, head)).unique(return_inverse=True)[1]
    count = int(pair.max()) + 1
    hit = torch.from_numpy(rng.random(count) < share)[pair]
    fresh = torch.from_numpy(rng.uniform(1, 10, count)).float()[pair]
    out = data.clone()
    out.edge_cost = torch.where(hit, fresh, data.edge_cost)
    if remove:
        out.edge_cost = data.edge_cost[~hit]
        out.edge_index = data.edge_index[:, ~hit]
    return planning_graph(out)


def run_update(args: Any) -> None:
    """Steps until the Gap is within half a point of the old map's."""
    results = results_for('training_update', args.quick)
    side, seconds = (20, 20.0) if args.quick else (40, 600.0)
    seconds *= args.budget
    kinds = {
        '10 % of the costs drawn anew': (changed_costs, 0.10),
        '2 % of the edges removed': (removed_edges, 0.02),
    }
    for seed in args.seeds:
        data = weighted_grid('ushape', side, 'wide', seed)
        config = FitConfig(time_budget=seconds, seed=seed)
        old, training = trained_map(
            f'ushape-wide-{side}-sweeps-{seconds:g}s-{seed}', data, config, seed
        )
        scratch = training['steps']
        wanted = score(old, data, args.pairs, seed)['gap'] + 0.5
        for name, (change, share) in kinds.items():
            key = {'name': name, 'side': side, 'seed': seed}
            key['scratch_steps'] = scratch
            if results.find(**key):
                continue
            new_data = change(data, share, seed)
            before = score(old, new_data, args.pairs, seed)
            row = {**key, 'gap_wanted': wanted, 'gap_before': before['gap']}
            # The shortest of growing budgets that gets there: a schedule that
            # knows its end is worth more than a long one cut short.
            for part in (0.025, 0.05, 0.1, 0.2, 0.4, 0.8):
                seed_everything(seed)
                model = BCM.from_data(new_data)
                model.load_state_dict(old.state_dict())
                steps = round(part * scratch)
                began = time.perf_counter()
                fit(model, new_data, FitConfig(steps=steps, seed=seed))
                row['update_seconds'] = time.perf_counter() - began
                row['update_steps'] = steps
                after = score(model, new_data, args.pairs, seed)
                row['gap_after'] = after['gap']
                if row['gap_after'] <= wanted:
                    break
            row['reached'] = row['gap_after'] <= wanted
            row['ratio'] = row['update_steps'] / scratch
            print(row)
            results.add(row)


def run_profile(args: Any) -> None:
    results = results_for('training_profile', args.quick)
    threads = torch.get_num_threads()
    for side in (20,) if args.quick else (20, 40, 60):
        key = {'side': side, 'profiled_threads': threads}
        if results.find(**key):
            continue
        row = profile_step(side) | key
        for name, value in row.items():
            print(f'{name:40} {value}')
        results.add(row)


def run_compile(args: Any) -> None:
    results = results_for('training_compile', args.quick)
    for side in (20,) if args.quick else (20, 40):
        key = {'side': side, 'profiled_threads': torch.get_num_threads()}
        if not results.find(**key):
            row = profile_compiled(side) | key
            print(row)
            results.add(row)


def main() -> None:
    flags = parser(__doc__)
    for part in ('table', 'ablation', 'profile', 'compile', 'update'):
        flags.add_argument(f'--{part}', action='store_true')
    flags.add_argument(
        '--targets', nargs='+', default=['sweeps', 'paper', 'exact']
    )
    flags.add_argument('--rows', nargs='+', help='such as wide40')
    flags.add_argument(
        '--same-steps', action='store_true', help='for a machine that is busy'
    )
    args = flags.parse_args()
    chosen = [
        args.table,
        args.ablation,
        args.profile,
        args.compile,
        args.update,
    ]
    if args.table or (args.quick and not any(chosen)):
        run_table(args)
    if args.ablation:
        run_ablation(args)
    if args.profile:
        run_profile(args)
    if args.compile:
        run_compile(args)
    if args.update:
        run_update(args)
    if not any(chosen) and not args.quick:
        flags.error(
            'choose --table, --ablation, --profile, --compile or --update'
        )


if __name__ == '__main__':
    main()

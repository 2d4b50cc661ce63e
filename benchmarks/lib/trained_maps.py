"""Maps that benchmarks share: trained once, kept, and found again by name.

Maps of grids by our default and the paper's objective are in ``maps/`` in
float16, as they are measured; others are in ``cache/`` (not in git). Settings
of training go through :func:`fit_config`, and all that a map knows of its
training through :func:`settings_of`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

import torch
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, Planner, fit
from bcm_pyg.planning import Readout, VisitedGreedy
from bcm_pyg.training import ExactTargets, OneStepTargets, SweepTargets
from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import measure
from benchmarks.lib.methods import map_steps
from benchmarks.lib.results import FOLDER, Job, Results, Row, provenance

CACHE = FOLDER / 'cache'
MAPS = FOLDER / 'maps'
#: Steps of a quick look.
QUICK_STEPS = 60
#: How closely the trainings of maps of grids are followed.
FOLLOWED = {'validations': 20, 'validation_queries': 200}
#: The readout of the paper.
VISITED = VisitedGreedy()

#: Settings of the targets, and what rows of results call them.
SETTINGS = {
    'num_backups': 'sweeps',
    'bootstrap_samples': 'draws',
    'bootstrap_nodes': 'seeds',
    'near_goal_fraction': 'near',
    'goal_pool': 'pool',
    'refresh': 'renew',
    'refresh_every': 'renew_every',
}
#: Those that a row tells, in its own words.
TOLD = ('sweeps', 'draws', 'seeds', 'renew_every', 'near', 'sources', 'goals')


#: Targets by the name that rows have.
TARGETS = {
    'sweeps': SweepTargets,
    'paper': OneStepTargets,
    'exact': ExactTargets,
}


def fit_config(targets: str = 'sweeps', **settings: Any) -> FitConfig:
    """How a map is trained, by the settings of a benchmark."""
    own = {name: settings.pop(name) for name in SETTINGS if name in settings}
    settings['targets'] = TARGETS[targets](**own)
    make = FitConfig.paper if targets == 'paper' else FitConfig
    return make(**settings)


def library_soap(
    parameters: Iterable[Tensor], lr: float
) -> torch.optim.Optimizer:
    """The optimiser of another library instead of ours."""
    from pytorch_optimizer import SOAP

    return SOAP(parameters, lr=lr, weight_decay=0.0)


def settings_of(model: BCM) -> Row:
    """Settings of the training of a map, defaults filled in."""
    config = _in_words_of_rows(model.info.training['config'])
    config.setdefault('sweeps', 1 if config['targets'] == 'paper' else None)
    return {name: config.get(name) for name in TOLD}


def _in_words_of_rows(config: Row) -> Row:
    """A recorded configuration; older maps have it in these words already."""
    if not isinstance(config.get('targets'), dict):
        return dict(config)
    own = config['targets']
    words = {SETTINGS[name]: own[name] for name in SETTINGS if name in own}
    return {**config, 'targets': own['name'], **words}


def ended_by(model: BCM) -> str:
    """Whether time or steps ended the training of a map."""
    return 'time' if model.info.training['config']['steps'] is None else 'steps'


def training_of(model: BCM) -> Row:
    """How the training of a map of the cache went."""
    return model.info.training['benchmark']


def cache_name(
    *graph: object,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int,
    encoder: str = 'interaction',
) -> str:
    """The folder of a map: the one name it has."""
    budget = f'{seconds:g}s' if steps is None else f'{steps}steps'
    name = '-'.join([*map(str, graph), budget, str(seed)])
    return name if encoder == 'interaction' else f'{name}-{encoder}'


def grid_map_name(
    grid: Grid,
    targets: str,
    steps: int,
    encoder: str = 'interaction',
) -> str:
    """The same for a map of a grid, of the size that its objective has."""
    return cache_name(
        grid.layout,
        grid.costs,
        grid.side,
        targets,
        steps=steps,
        seed=grid.seed,
        encoder=encoder,
    )


def is_cached(name: str) -> bool:
    """Whether there is this map, in the cache or kept for good."""
    return any((at / name / 'config.json').exists() for at in (CACHE, MAPS))


def cached_map(name: str, data: Data) -> BCM:
    """A map of the cache, or one that is kept."""
    kept = (MAPS / name).exists()
    return BCM.load((MAPS if kept else CACHE) / name, data)


def trained_map(
    name: str,
    data: Data,
    config: FitConfig,
    paper: bool = False,
    encoder: str | None = None,
    keep: bool = False,
    **sizes: int,
) -> BCM:
    """A trained map from the cache, or a new one, which is put there.

    A training that is stopped is not cached; the next call goes on with it. One
    that is to be kept goes to ``maps/`` in float16. Sizes are those that
    :meth:`BCM.from_data` takes.
    """
    if is_cached(name):
        model = cached_map(name, data)
        _check_config(name, model.info.training['config'], config, data)
        return model
    checkpoint = CACHE / f'{name}.ckpt'
    seed_everything(config.seed)
    build = BCM.paper if paper else BCM.from_data
    model = build(data, encoder, **sizes)
    provenance()  # before the checkout moves on
    resumed, began = checkpoint.exists(), time.process_time()
    history = fit(model, data, config, progress=True, checkpoint=checkpoint)
    if history.interrupted:  # fit keeps that to itself
        raise KeyboardInterrupt
    model.info.training['benchmark'] = {
        'train_seconds': round(model.info.training['seconds'], 1),
        'steps': history.steps,
        # What a run took before it was stopped is not known.
        'cpu_seconds': None
        if resumed
        else round(time.process_time() - began, 1),
        'rows_per_second': round(history.rows_per_second),
        # A row may be of a later command and commit.
        'trained_by': provenance()['command'],
        'trained_commit': provenance()['commit'],
        'curve': [
            [round(seconds, 1), round(gap, 3)]
            for seconds, gap in zip(history.seconds, history.gap, strict=True)
        ],
        'learning': [
            [step, *(round(x, 4) if isfinite(x) else None for x in metrics)]
            for step, *metrics in zip(
                history.step,
                history.loss,
                history.gap,
                history.success_rate,
                strict=True,
            )
        ],
    }
    if keep:
        model.save(MAPS / name, 'float16')
    else:
        model.save(CACHE / name)
    checkpoint.unlink(missing_ok=True)  # another process may have had it
    return cached_map(name, data)


def _check_config(name: str, there: Row, asked: FitConfig, data: Data) -> None:
    """A map of other defaults than today's must not pass for one of these.

    Some defaults depend on the graph: a training of no steps fills them in.
    Maps from before a setting came do not have it.
    """
    other = BCM.from_data(data)
    none: dict[str, Any] = {
        'steps': 0,
        'time_budget': None,
        'validation_queries': 0,
    }
    fit(other, data, replace(asked, **none))
    today = _in_words_of_rows(other.info.training['config'])
    there = _in_words_of_rows(there)
    today['validation_queries'] = asked.validation_queries
    odd = [
        field
        for field, value in today.items()
        if field not in ('steps', 'time_budget')  # those are in its name
        and there.get(field, value) != value
    ]
    if odd:
        raise SystemExit(f'the map {name} has another {odd}: remove it')


def map_job(
    grid: Grid,
    targets: str,
    args: argparse.Namespace,
    encoder: str = 'interaction',
    readout: Readout = VISITED,
) -> Job:
    """A trained map on a grid."""
    key = {
        **asdict(grid),
        'method': f'bcm_{targets}',
        'encoder': encoder,
        'readout': type(readout).__name__,
        **map_budget(grid, targets, args),
        'num_queries': args.pairs,
    }

    def run() -> Row | None:
        model = load_or_train(grid, targets, args, encoder)
        if model is None:
            return None
        training = training_of(model)
        if not args.quick:
            curve = {**asdict(grid), 'targets': targets, 'encoder': encoder}
            _add_curve(curve, model)
        planner = Planner(model, grid.data(), readout)
        return {
            'sweeps': settings_of(model)['sweeps'],
            'terminal': model.terminal,
            'ended_by': ended_by(model),
            'train_seconds': training['train_seconds'],
            'train_steps': training['steps'],
            'train_cpu_seconds': training.get('cpu_seconds'),
            'trained_by': training.get('trained_by'),
            'trained_commit': training.get('trained_commit'),
            'parameters': model.num_parameters(),
            'megabytes': model.storage_bytes('float32') / 1e6,
            **measure(planner, grid.data(), *grid.queries(args.pairs)),
        }

    return Job(key, run)


def _add_curve(key: Row, model: BCM) -> None:
    """How a training went, beside the rows, which tell how it ended."""
    curves, training = Results('learning_curves'), training_of(model)
    key = {**key, 'train_steps': training['steps']}
    if curves.find(**key) is None:
        names = ('train_seconds', 'cpu_seconds', 'trained_by', 'trained_commit')
        told = {name: training[name] for name in names}
        told['parameters'] = model.num_parameters()
        fields = ['step', 'loss', 'gap', 'success_rate']
        curve = {'fields': fields, 'curve': training['learning']}
        curves.add({**key, **told, **curve})


def map_budget(grid: Grid, targets: str, args: argparse.Namespace) -> Row:
    """What the training of a map may take, as rows call it.

    All have steps, so that it does not matter what else the machine does.
    """
    steps = round(QUICK_STEPS * args.budget)
    if not args.quick:
        steps = map_steps(targets, grid.side, grid.costs, args.budget)
    return {'budget_steps': steps}


def load_or_train(
    grid: Grid,
    targets: str,
    args: argparse.Namespace,
    encoder: str = 'interaction',
) -> BCM | None:
    """A map that is there, or trained; None if it must not be."""
    steps = map_budget(grid, targets, args)['budget_steps']
    name = grid_map_name(grid, targets, steps, encoder)
    if args.cached_only and not is_cached(name):
        return None
    return grid_map(grid, targets, steps, encoder, keep=not args.quick)


def grid_map(
    grid: Grid,
    targets: str,
    steps: int,
    encoder: str = 'interaction',
    keep: bool = False,
) -> BCM:
    """A map of a grid, the same for all tables that have it.

    To keep it does nothing for exact targets: they are a bound, not a rival.
    """
    return trained_map(
        grid_map_name(grid, targets, steps, encoder),
        grid.data(),
        fit_config(targets, seed=grid.seed, steps=steps, **FOLLOWED),
        paper=targets == 'paper',
        encoder=encoder,
        keep=keep and targets != 'exact',
    )

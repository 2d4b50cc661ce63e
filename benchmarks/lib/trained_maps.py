"""Maps that benchmarks share: trained once, kept, and found again by name.

Maps of tables are in ``cache/`` (not in git), those that readouts are timed
with in ``maps/``. All settings of training go through :func:`fit_config`, and
all that a map knows of its training through :func:`settings_of`.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, Planner, fit, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import SimplifiedGraph, largest_component, simplify_graph
from bcm_pyg.nn import NodeEncoder, Transition
from bcm_pyg.planning import Readout, VisitedGreedy
from bcm_pyg.training import ExactTargets, OneStepTargets, SweepTargets
from benchmarks.lib.graphs import Grid, load
from benchmarks.lib.measure import measure
from benchmarks.lib.methods import training_seconds
from benchmarks.lib.results import FOLDER, Job, Results, Row, provenance

CACHE = FOLDER / 'cache'
MAPS = FOLDER / 'maps'
#: Training time of a quick look.
QUICK_SECONDS = 2.0
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
    *graph: object, seconds: float, seed: int, encoder: str = 'interaction'
) -> str:
    """The folder of a map in the cache: the one name it has."""
    name = '-'.join([*map(str, graph), f'{seconds:g}s', str(seed)])
    return name if encoder == 'interaction' else f'{name}-{encoder}'


def grid_map_name(
    grid: Grid, targets: str, seconds: float, encoder: str = 'interaction'
) -> str:
    """The same for a map of a grid."""
    return cache_name(
        grid.layout,
        grid.costs,
        grid.side,
        targets,
        seconds=seconds,
        seed=grid.seed,
        encoder=encoder,
    )


def is_cached(name: str) -> bool:
    """Whether the cache has this map."""
    return (CACHE / name / 'config.json').exists()


def cached_map(name: str, data: Data) -> BCM:
    """A map of the cache."""
    return BCM.load(CACHE / name, data)


def trained_map(
    name: str,
    data: Data,
    config: FitConfig,
    paper: bool = False,
    encoder: str = 'interaction',
) -> BCM:
    """A trained map from the cache, or a new one, which is put there.

    A training that is stopped is not cached; the next call goes on with it.
    """
    if is_cached(name):
        model = cached_map(name, data)
        _check_config(name, model.info.training['config'], config, data)
        return model
    checkpoint = CACHE / f'{name}.ckpt'
    seed_everything(config.seed)
    build = BCM.paper if paper else BCM.from_data
    model = build(data, encoder)
    history = fit(model, data, config, progress=True, checkpoint=checkpoint)
    if history.interrupted:  # fit keeps that to itself
        raise KeyboardInterrupt
    model.info.training['benchmark'] = {
        'train_seconds': round(model.info.training['seconds'], 1),
        'steps': history.steps,
        'rows_per_second': round(history.rows_per_second),
        # A row may be of a later command and commit.
        'trained_by': provenance()['command'],
        'trained_commit': provenance()['commit'],
        'curve': [
            [round(seconds, 1), round(gap, 3)]
            for seconds, gap in zip(history.seconds, history.gap, strict=True)
        ],
    }
    model.save(CACHE / name)
    checkpoint.unlink(missing_ok=True)  # another process may have had it
    return model


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
        'budget_seconds': map_seconds(grid, args),
        'num_queries': args.pairs,
    }

    def run() -> Row | None:
        model = load_or_train(grid, targets, args, encoder)
        if model is None:
            return None
        training = training_of(model)
        planner = Planner(model, grid.data(), readout)
        return {
            'sweeps': settings_of(model)['sweeps'],
            'terminal': model.terminal,
            'ended_by': ended_by(model),
            'train_seconds': training['train_seconds'],
            'train_steps': training['steps'],
            'trained_by': training.get('trained_by'),
            'trained_commit': training.get('trained_commit'),
            'parameters': model.num_parameters(),
            'megabytes': model.storage_bytes() / 1e6,
            **measure(planner, grid.data(), *grid.queries(args.pairs)),
        }

    return Job(key, run)


def map_seconds(grid: Grid, args: argparse.Namespace) -> float:
    """Seconds of training of a map."""
    if args.quick:
        return QUICK_SECONDS * args.budget
    return training_seconds(grid.side, grid.costs, args.budget)


def load_or_train(
    grid: Grid,
    targets: str,
    args: argparse.Namespace,
    encoder: str = 'interaction',
) -> BCM | None:
    """A map from the cache, or trained; None if that must or can not be."""
    seconds = map_seconds(grid, args)
    name = grid_map_name(grid, targets, seconds, encoder)
    if args.cached_only and not is_cached(name):
        return None
    budget: dict[str, Any] = {'time_budget': seconds}
    if args.same_steps and not is_cached(name):
        steps = steps_in_time(grid, seconds)
        if steps is None:
            return None
        budget = {'steps': steps}
    return trained_map(
        name,
        grid.data(),
        fit_config(targets, seed=grid.seed, **budget),
        paper=targets == 'paper',
        encoder=encoder,
    )


def steps_in_time(grid: Grid, seconds: float) -> int | None:
    """Steps that our default makes on the U of this size; None if not known.

    In proportion to the row of the training table with most time, of the same
    costs if there is one: under others a step takes about as long.
    """
    timed = [
        row
        for row in Results('training_table').rows
        if row['layout'] == 'ushape'
        and row['side'] == grid.side
        and row['targets'] == 'sweeps'
        and row['seed'] == 42
        and row.get('ended_by', 'time') == 'time'
    ]
    if not timed:
        return None

    def worth(row: Row) -> tuple[bool, float]:
        return row['costs'] == grid.costs, row['budget_seconds']

    best = max(timed, key=worth)
    return round(best['steps'] * seconds / best['budget_seconds'])


#: Side of a U and width of its map; name of a road network and width of its.
TIMED_GRIDS = ((40, 128), (40, 256), (60, 128), (60, 256))
TIMED_ROADS = (
    ('sydney', 128),
    ('malta_full', 128),
    ('rome_length', 128),
    ('seattle_length', 128),
)


def timed_grid(side: int) -> Data:
    """The U with wide costs whose maps readouts are timed with."""
    return planning_graph(weighted_grid('ushape', side, 'wide', 7))


def timed_road(name: str) -> SimplifiedGraph:
    """The largest strong component of a road network, simplified."""
    return simplify_graph(largest_component(load(name, 1)[0]))


def timed_map_folder(name: str, width: int) -> Path:
    """Where a map is kept that readouts are timed with."""
    return MAPS / f'{name}-{width}'


def timed_map(name: str, width: int, data: Data) -> BCM | None:
    """Such a map, if there is one."""
    folder = timed_map_folder(name, width)
    return BCM.load(folder, data) if folder.exists() else None


class Coordinates(NodeEncoder):
    """Embeds a node by its coordinates in the plane."""

    out_channels = 2
    per_node = True

    def forward(self, data: Data) -> Tensor:
        """The coordinates."""
        return data.pos


@torch.no_grad()
def straight_map(width: int) -> BCM:
    r"""A map with :math:`D_i(j; g) = \lVert x_j - x_g \rVert^2`, by hand.

    Its walks go straight to their goals on grids without walls. How long a
    walk takes depends on its hops and the size of the layers, not on the
    weights, so that large graphs can be timed without training a map of them.

    As :math:`x = \sigma(x) - \sigma(-x)`, four hidden values carry both
    coordinates through a layer. The others are drawn and do not count.
    """
    seed_everything(0)
    phi = Transition(2, width, width)
    signs = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    phi.lin1.weight[:4] = signs
    phi.lin2.weight[:4] = 0.0
    phi.lin2.weight[:4, :4] = signs @ signs.T
    phi.lin3.weight.zero_()
    phi.lin3.weight[:2, :4] = signs.T
    return BCM(Coordinates(), phi, terminal='paper')

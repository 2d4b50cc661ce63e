"""Rows of trained maps, from the cache that all benchmarks share."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from common import Results, is_cached, map_name, trained_map, training_seconds
from experiment import Grid, Job
from methods import measure

from bcm_pyg import BCM, FitConfig, Planner
from bcm_pyg.planning import Readout, VisitedGreedy

#: Training time of a quick look.
QUICK_SECONDS = 2.0
#: The readout of the paper.
VISITED = VisitedGreedy()


def map_job(
    grid: Grid,
    targets: str,
    args: argparse.Namespace,
    encoder: str = 'interaction',
    readout: Readout = VISITED,
) -> Job:
    """A trained map on a graph."""
    seconds = map_seconds(grid, args)
    key = {
        **asdict(grid),
        'method': f'bcm_{targets}',
        'encoder': encoder,
        'readout': type(readout).__name__,
        'budget_seconds': seconds,
        'num_queries': args.pairs,
    }

    def run() -> dict[str, Any] | None:
        model = load_or_train(grid, targets, args, encoder)
        if model is None:
            return None
        record = model.info.training
        config, training = record['config'], record['benchmark']
        return {
            'sweeps': config['sweeps'],
            'terminal': model.terminal,
            'ended_by': 'time' if config['steps'] is None else 'steps',
            'train_seconds': training['train_seconds'],
            'train_steps': training['steps'],
            'trained_by': training.get('trained_by'),
            'trained_commit': training.get('trained_commit'),
            'parameters': model.num_parameters(),
            'megabytes': model.storage_bytes() / 1e6,
            **measure(
                Planner(model, grid.data(), readout),
                grid.data(),
                *grid.queries(args.pairs),
            ),
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
    name = map_name(
        grid.layout,
        grid.costs,
        grid.side,
        targets,
        seconds,
        grid.seed,
        encoder,
    )
    if args.cached_only and not is_cached(name):
        return None
    budget: dict[str, Any] = {'time_budget': seconds}
    if args.same_steps and not is_cached(name):
        steps = steps_in_time(grid, seconds)
        if steps is None:
            return None
        budget = {'steps': steps}
    config = FitConfig.paper if targets == 'paper' else FitConfig
    model, _ = trained_map(
        name,
        grid.data(),
        config(targets=targets, seed=grid.seed, **budget),
        grid.seed,
        paper=targets == 'paper',
        encoder=encoder,
    )
    return model


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

    def worth(row: dict[str, Any]) -> tuple[bool, float]:
        return row['costs'] == grid.costs, row['budget_seconds']

    best = max(timed, key=worth)
    return round(best['steps'] * seconds / best['budget_seconds'])

"""Maps are trained once, also if stopped on the way, and found again."""

import argparse

import pytest
import torch

from bcm_pyg import FitConfig, fit
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.io import read_file, write_file
from bcm_pyg.training import checkpoint as checkpoints
from bcm_pyg.training import targets
from bcm_pyg.training.checkpoint import FORMAT
from benchmarks.lib import trained_maps
from benchmarks.lib.graphs import Grid
from benchmarks.lib.methods import paper_steps, training_seconds
from benchmarks.lib.results import Results, provenance
from benchmarks.lib.trained_maps import (
    cache_name,
    fit_config,
    grid_map_name,
    is_cached,
    load_or_train,
    map_job,
    steps_in_time,
    trained_map,
    training_of,
)
from benchmarks.scripts.near_distances import TRIPS
from benchmarks.scripts.real_ablation import CHANGES
from benchmarks.scripts.training import ABLATIONS


def test_map_names_are_those_of_the_training_table():
    seconds = training_seconds(40, 'wide')
    name = grid_map_name(Grid('ushape', 40, 'wide', 42), 'sweeps', seconds)
    assert name == 'ushape-wide-40-sweeps-600s-42'
    name = grid_map_name(Grid('wall', 20, 'mild', 1), 'exact', 1.5, 'k_hot')
    assert name == 'wall-mild-20-exact-1.5s-1-k_hot'
    name = cache_name('real', 'andorra', seconds=600.0, seed=42)
    assert name == 'real-andorra-600s-42'
    assert training_seconds(40, 'uniform') == 300
    assert training_seconds(20, 'uniform', 0.5) == 60


def arguments(**changes):
    plain = {
        'quick': True,
        'budget': 0.05,
        'pairs': 20,
        'cached_only': False,
        'same_steps': False,
    }
    return argparse.Namespace(**{**plain, **changes})


def test_maps_are_trained_once_and_found_again(folders):
    grid = Grid('ushape', 10, 'wide', 42)
    waiting = arguments(cached_only=True)
    assert map_job(grid, 'sweeps', waiting, 'k_hot').run() is None
    model = load_or_train(grid, 'sweeps', arguments(), 'k_hot')
    folder = folders / 'cache' / 'ushape-wide-10-sweeps-0.1s-42-k_hot'
    assert (folder / 'config.json').exists()
    again = load_or_train(grid, 'sweeps', waiting, 'k_hot')
    assert all(map(torch.equal, model.parameters(), again.parameters()))
    row = map_job(grid, 'sweeps', waiting, 'k_hot').run()
    assert row['parameters'] == model.num_parameters()
    assert row['ended_by'] == 'time' and row['num_queries'] == 20
    assert row['trained_commit'] == provenance()['commit']
    assert load_or_train(grid, 'exact', waiting, 'k_hot') is None


def test_a_stopped_training_is_not_cached_and_goes_on(folders, monkeypatch):
    data = weighted_grid('open', 8)
    config = FitConfig(steps=12, validations=3, seed=1)
    whole = trained_map('whole', data, config)

    def stop(step, metrics):
        raise KeyboardInterrupt

    def stopped(*args, **kwargs):
        return fit(*args, **kwargs, callback=stop)

    monkeypatch.setattr(checkpoints, 'CHECKPOINT_EVERY', 0.0)
    monkeypatch.setattr(trained_maps, 'fit', stopped)
    with pytest.raises(KeyboardInterrupt):
        trained_map('cut', data, config)
    checkpoint = folders / 'cache' / 'cut.ckpt'
    assert checkpoint.exists() and not is_cached('cut')

    monkeypatch.setattr(trained_maps, 'fit', fit)
    content = checkpoint.read_bytes()
    identity, tensors = read_file(content, FORMAT, checkpoint)
    counts = tensors['run.counts']
    assert 0 < counts[0] < 12
    counts[-1] = 1000.0  # seconds
    write_file(checkpoint, FORMAT, identity, tensors)
    model = trained_map('cut', data, config)
    record = training_of(model)
    assert is_cached('cut') and not checkpoint.exists()
    assert record['steps'] == 12
    assert 1000 < record['train_seconds'] < 1100  # both parts count
    assert all(map(torch.equal, model.parameters(), whole.parameters()))


def test_maps_of_other_settings_are_refused(folders, monkeypatch):
    data = weighted_grid('open', 8)
    record = training_of(trained_map('map', data, FitConfig(steps=1)))
    assert record['trained_commit'] == provenance()['commit']
    again = trained_map('map', data, FitConfig(steps=2))
    assert training_of(again) == record
    with pytest.raises(SystemExit, match=r"the map map has another \['lr'\]"):
        trained_map('map', data, FitConfig(steps=1, lr=1e-3))
    # Nobody asks for this one: it depends on the graph.
    monkeypatch.setattr(targets, 'NODE_SHARE', 1.0)
    with pytest.raises(SystemExit, match=r"another \['seeds'\]"):
        trained_map('map', data, FitConfig(steps=1))
    older = {'lr': 6e-3}  # and nothing else that could differ
    trained_maps._check_config('map', older, FitConfig(steps=1), data)


def timed_row(**fields):
    plain = {
        'layout': 'ushape',
        'costs': 'wide',
        'side': 10,
        'targets': 'sweeps',
        'seed': 42,
        'budget_seconds': 0.4,
        'steps': 12,
    }
    return {**plain, **fields}


def test_same_steps_needs_a_timed_row(folders):
    grid = Grid('ushape', 10, 'wide', 42)
    busy = arguments(same_steps=True)
    assert load_or_train(grid, 'sweeps', busy) is None
    results = Results('training_table')
    for other in (
        {'side': 20},
        {'seed': 1},
        {'targets': 'paper'},
        {'ended_by': 'steps'},
    ):
        results.add(timed_row(**other))
    assert map_job(grid, 'sweeps', busy).run() is None
    results.add(timed_row())
    model = load_or_train(grid, 'exact', busy)
    assert model.info.training['steps'] == 3
    row = map_job(grid, 'exact', arguments()).run()
    assert row['ended_by'] == 'steps'


def test_maps_of_the_paper_have_steps_and_are_kept(folders):
    grid = Grid('open', 6, 'wide', 42)
    args = arguments(quick=False, budget=0.01, same_steps=True)
    job = map_job(grid, 'paper', args)
    assert job.key['budget_steps'] == paper_steps(6, 'wide', 0.01) == 12
    assert 'budget_seconds' not in job.key
    row = job.run()
    assert row['terminal'] == 'paper' and row['sweeps'] == 1
    assert row['ended_by'] == 'steps' and row['train_steps'] == 12
    (folder,) = (folders / 'maps').iterdir()
    assert folder.name == 'open-wide-6-paper-12steps-42'
    model = load_or_train(grid, 'paper', arguments(**vars(args)))
    assert model.info.dtype == 'float16'
    assert row['megabytes'] == 4 * model.num_parameters() / 1e6
    again = job.run()  # of what is kept
    assert again['gap'] == row['gap']
    (curve,) = Results('paper_curves').rows
    assert curve['curve'][-1][0] == 12 and curve['side'] == 6
    assert curve['fields'] == ['step', 'loss', 'gap', 'success_rate']


def test_same_steps_are_those_of_the_time(folders):
    results = Results('training_table')
    full = {'side': 40, 'costs': 'mild', 'budget_seconds': 600.0}
    results.add(timed_row(**full, steps=20_000))
    wall = Grid('wall', 40, 'wide', 111)
    assert steps_in_time(wall, 150.0) == 5000  # for want of its own costs
    results.add(timed_row(**{**full, 'costs': 'wide'}, steps=18_000))
    short = {'side': 40, 'budget_seconds': 60.0}
    results.add(timed_row(**short, steps=1))
    assert steps_in_time(wall, 600.0) == 18_000
    assert steps_in_time(wall, 150.0) == 4500
    assert steps_in_time(Grid('ushape', 80, 'wide', 42), 1800.0) is None


def test_settings_of_benchmarks_are_those_of_fit():
    """Each is taken, and makes a difference where it should."""
    default = fit_config(steps=1)
    for settings in (*ABLATIONS.values(), *CHANGES.values(), TRIPS):
        if not callable(settings.get('optimizer')):
            config = fit_config(**{'steps': 1, **settings})
            assert (config == default) == (settings == {})
    assert fit_config('paper', steps=1) == FitConfig.paper(steps=1)

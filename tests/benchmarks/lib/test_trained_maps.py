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
from benchmarks.lib.methods import MINUTES, STEP_MS, map_steps
from benchmarks.lib.results import Results, provenance
from benchmarks.lib.trained_maps import (
    FOLLOWED,
    QUICK_STEPS,
    TARGETS,
    cache_name,
    fit_config,
    grid_map_name,
    is_cached,
    load_or_train,
    map_budget,
    map_job,
    trained_map,
    training_of,
)
from benchmarks.scripts.figure3_scaling import SIDES
from benchmarks.scripts.near_distances import TRIPS
from benchmarks.scripts.real_ablation import CHANGES
from benchmarks.scripts.training import ABLATIONS


def test_names_of_maps():
    name = grid_map_name(Grid('ushape', 40, 'wide', 42), 'sweeps', 59406)
    assert name == 'ushape-wide-40-sweeps-59406steps-42'
    name = grid_map_name(Grid('wall', 20, 'mild', 1), 'exact', 9, 'k_hot')
    assert name == 'wall-mild-20-exact-9steps-1-k_hot'
    name = cache_name('real', 'andorra', seconds=600.0, seed=42)
    assert name == 'real-andorra-600s-42'


def test_steps_of_maps():
    """By hand, from minutes and milliseconds."""
    steps = {20: 13_187, 40: 59_406, 60: 69_231, 100: 60_811, 200: 61_224}
    for kind in ('sweeps', 'exact'):
        found = {side: map_steps(kind, side, 'wide') for side in steps}
        assert found == steps
        assert map_steps(kind, 40, 'mild') == 59_406
        assert map_steps(kind, 40, 'uniform') == 29_703
        assert map_steps(kind, 20, 'uniform') == 13_187
        assert map_steps(kind, 40, 'wide', 0.5) == 29_703
    assert map_steps('paper', 40, 'wide') == 32 * 1600
    assert map_steps('paper', 40, 'mild', 0.5) == 8 * 1600
    assert map_steps('paper', 6, 'uniform', 0.01) == 6
    assert set(MINUTES) == set(STEP_MS) >= {*SIDES}


def arguments(**changes):
    plain = {
        'quick': True,
        'budget': 0.05,
        'pairs': 20,
        'cached_only': False,
    }
    return argparse.Namespace(**{**plain, **changes})


def test_maps_are_trained_once_and_found_again(folders):
    grid = Grid('ushape', 10, 'wide', 42)
    waiting = arguments(cached_only=True)
    assert map_job(grid, 'sweeps', waiting, 'k_hot').run() is None
    model = load_or_train(grid, 'sweeps', arguments(), 'k_hot')
    folder = folders / 'cache' / 'ushape-wide-10-sweeps-3steps-42-k_hot'
    assert (folder / 'config.json').exists()
    again = load_or_train(grid, 'sweeps', waiting, 'k_hot')
    assert all(map(torch.equal, model.parameters(), again.parameters()))
    row = map_job(grid, 'sweeps', waiting, 'k_hot').run()
    assert row['parameters'] == model.num_parameters()
    assert row['ended_by'] == 'steps' and row['num_queries'] == 20
    assert row['train_steps'] == 3
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


@pytest.mark.parametrize('kind', TARGETS)
def test_budgets_are_steps(kind):
    grid = Grid('ushape', 20, 'wide', 42)
    budget = map_budget(grid, kind, arguments(quick=False, budget=0.5))
    assert budget == {'budget_steps': map_steps(kind, 20, 'wide', 0.5)}
    quick = map_budget(grid, kind, arguments(budget=0.5))
    assert quick == {'budget_steps': QUICK_STEPS / 2}
    assert map_job(grid, kind, arguments()).key['budget_steps'] == 3


#: Two steps of each, and the size of a map at side 20.
TWO_STEPS = {'sweeps': 2 / 13_187, 'exact': 2 / 13_187, 'paper': 2 / 12_800}
#: By hand: tables of 64 numbers for 40 codes, and three layers.
WIDE, NARROW = 2560 + 180_992, 2560 + 57_728


@pytest.mark.parametrize('kind', TARGETS)
def test_maps_of_tables(kind, folders):
    """By steps, followed alike, and kept but for exact targets."""
    grid = Grid('ushape', 20, 'wide', 42)
    args = arguments(quick=False, budget=TWO_STEPS[kind], pairs=5)
    job = map_job(grid, kind, args)
    row = job.run()
    assert row['ended_by'] == 'steps' and row['train_steps'] == 2
    assert row['parameters'] == (WIDE if kind == 'paper' else NARROW)
    assert row['megabytes'] == 4 * row['parameters'] / 1e6
    is_paper = kind == 'paper'
    assert row['terminal'] == ('paper' if is_paper else 'calibrated')
    there = 'cache' if kind == 'exact' else 'maps'
    (folder,) = (folders / there).glob('ushape*')
    assert folder.name == f'ushape-wide-20-{kind}-2steps-42'
    (other,) = {'cache', 'maps'} - {there}
    assert not [*(folders / other).glob('ushape*')]
    model = load_or_train(grid, kind, args)
    assert model.info.dtype == ('float32' if kind == 'exact' else 'float16')
    config = model.info.training['config']
    assert config['targets']['name'] == kind
    assert {name: config[name] for name in FOLLOWED} == FOLLOWED
    assert job.run()['gap'] == row['gap']  # of what is there


def test_curves_of_all_objectives(folders):
    grid = Grid('ushape', 20, 'wide', 42)
    for kind in (*TARGETS, *TARGETS):  # once more: they are there
        args = arguments(quick=False, budget=TWO_STEPS[kind], pairs=5)
        map_job(grid, kind, args).run()
    map_job(Grid('ushape', 10, 'wide', 42), 'sweeps', arguments()).run()
    rows = Results('learning_curves').rows
    assert [row['targets'] for row in rows] == [*TARGETS]  # not the quick one
    for row in rows:
        assert row['layout'] == 'ushape' and row['encoder'] == 'interaction'
        assert row['side'] == 20 and row['train_steps'] == 2
        assert row['fields'] == ['step', 'loss', 'gap', 'success_rate']
        assert row['curve'][-1][0] == 2 and len(row['curve'][-1]) == 4
        assert row['parameters'] in (WIDE, NARROW)
        assert row['cpu_seconds'] > 0


def test_settings_of_benchmarks_are_those_of_fit():
    """Each is taken, and makes a difference where it should."""
    default = fit_config(steps=1)
    for settings in (*ABLATIONS.values(), *CHANGES.values(), TRIPS):
        if not callable(settings.get('optimizer')):
            config = fit_config(**{'steps': 1, **settings})
            assert (config == default) == (settings == {})
    assert fit_config('paper', steps=1) == FitConfig.paper(steps=1)


def test_maps_have_the_default_encoder(folders):
    data = weighted_grid('open', 6)
    data.pos = data.pos * 1.1 + 0.05  # of no grid
    del data.coord
    config = FitConfig(steps=1)
    names = [
        type(trained_map(name, data, config, encoder=encoder).encoder).__name__
        for name, encoder in (('a', None), ('b', 'interaction'))
    ]
    assert names == ['ConcatEncoder', 'ContinuousInteractionEncoder']

"""Plots show what is in the results, and say so where nothing is."""

import json

import pytest

from benchmarks.lib.results import Results
from benchmarks.plots import learning, real, speed, widths
from benchmarks.scripts import render
from benchmarks.scripts.render import PLOTS, draw, is_drawn


def add(name, *rows):
    results = Results(name)
    for one in rows:
        results.add(one)


def trained(**fields):
    """A run of 100 steps in four core minutes."""
    plain = {
        'layout': 'ushape',
        'side': 20,
        'costs': 'wide',
        'encoder': 'interaction',
        'targets': 'sweeps',
        'train_steps': 100,
        'train_seconds': 120.0,
        'cpu_seconds': None,
        'threads': 2,
        'parameters': 60_000,
        'curve': [[50, 0.1, 9.0, 1.0], [100, None, 3.0, None]],
    }
    return {**plain, **fields}


@pytest.mark.parametrize('name', PLOTS)
def test_a_plot_without_results(name, folders):
    assert not is_drawn(name, folders)
    draw(name, folders)
    assert is_drawn(name, folders)
    for ending in ('png', 'svg'):
        size = (folders / f'{name}.{ending}').stat().st_size
        assert 1_000 < size < 300_000


def test_a_plot_of_other_results_is_stale(folders):
    draw('learning', folders)
    add('learning_curves', trained())
    assert not is_drawn('learning', folders)
    draw('learning', folders)
    assert is_drawn('learning', folders)


def test_a_plot_that_is_drawn_otherwise_is_stale(folders, monkeypatch):
    draw('learning', folders)
    monkeypatch.setattr(render.inspect, 'getsource', lambda plot: 'changed')
    assert not is_drawn('learning', folders)


def test_learning_in_core_minutes(folders):
    late = [[100, 0.1, 5.0, 1.0]]
    add(
        'learning_curves',
        trained(parameters=180_000, cpu_seconds=1.0),  # of an earlier version
        trained(parameters=None, cpu_seconds=1.0),  # who knows
        trained(),
        trained(train_seconds=60.0, curve=late),  # least disturbed
        trained(costs='mild', side=40),
        trained(layout='wall', side=50),
        trained(encoder='k_hot', side=60),
        trained(targets='exact', curve=[[100, 0.1, None, 0.0]]),
        trained(targets='paper', side=30, cpu_seconds=600.0),
    )
    assert learning.points() == {
        '400': {'sweeps': [[2.0, 5.0]], 'exact': []},
        '900': {'paper': [[5.0, 9.0], [10.0, 3.0]]},
    }
    draw('learning', folders)
    text = (folders / 'learning.svg').read_text()
    assert text.count('not run yet') == 4  # three of 900 and 400, one empty


def test_speed(folders):
    ratio = {'VisitedGreedy, 1000': 0.5, 'CCH': 0.25}
    grid = {'nodes': 1600, 'width': 128, 'search_ms': 2.0, 'ratio': ratio}
    add('planning_speed', grid, {**grid, 'width': 256}, {**grid, 'nodes': 400})
    points = speed.points()
    assert set(points) == {'grids'}
    assert points['grids']['CCH (exact)'] == [[400, 0.5], [1600, 0.5]]
    assert points['grids']['one search (scipy)'] == [[400, 2.0], [1600, 2.0]]
    assert points['grids']['Corridor, in a batch of 1000'] == []
    readouts = {'Corridor(x)': {'ms': 3.0}, 'CCH, full graph': {'ms': 1.0}}
    road = {'nodes': 9, 'full_search_ms': 7.0, 'readouts': readouts}
    add('road_speed', road)
    roads = speed.points()['roads']
    assert roads['Corridor, in a batch of 200'] == [[9, 3.0]]
    assert roads['VisitedGreedy, in a batch of 200'] == []
    draw('planning_speed', folders)


def test_real_graphs(folders):
    methods = {
        'Dijkstra': {'expansions': 50.0, 'gap': 0.0},
        'Corridor': {'expansions': 5.0, 'gap': -1e-9},
        'BestFirst': {'expansions': 2.0, 'gap': None},  # nothing succeeded
        'A*, 16 landmarks': {'expansions': 10.0, 'gap': 0.0},
    }
    row = {'graph': 'a', 'nodes': 9, 'train_seconds': 1.0, 'methods': methods}
    add('real_graphs', row)
    assert json.loads(json.dumps(real.points())) == {
        'Corridor': [[10.0, 0.0]],
        'A*, 16 landmarks': [[20.0, 0.0]],
    }
    draw('real_graphs', folders)


def test_widths(folders):
    row = {'graph': 'ushape40', 'width': 64, 'channels': 32, 'int8_gap': 4.0}
    row |= {'int8_bytes': 20_000, 'graph_bytes': 5_000, 'corridor_gap': 0.5}
    row |= {'budget_seconds': 300.0}
    add('widths', row, {**row, 'int8_gap': 2.0}, {**row, 'graph': 'melun'})
    add('widths', {**row, 'width': 128, 'budget_seconds': 90.0})  # a look
    points = widths.points()
    assert points['walks'] == [['64', 32, 20.0, 3.0]]
    assert points['corridors'] == [['64', 32, 25.0, 0.5]]
    assert [one[0] for one in points['others']] == ['bcm_paper']
    draw('widths', folders)

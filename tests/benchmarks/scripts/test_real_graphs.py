"""Rows of real graphs are resumable, readouts that come later are added."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.data import Data

from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import BestFirst, VisitedGreedy
from benchmarks.lib import trained_maps
from benchmarks.lib.graphs import Queries
from benchmarks.lib.measure import planner_of
from benchmarks.lib.results import Results, provenance
from benchmarks.lib.trained_maps import cached_map, fit_config, settings_of
from benchmarks.scripts import real_graphs
from benchmarks.tables import real as real_tables

pytest.importorskip('routingkit_cch', reason='needs the extra peers')

ARGS = argparse.Namespace(
    budget=0.2 / 300, seeds=[0], pairs=7, cpu=False, quick=True
)


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Results:
    """Those of a small grid in the place of a real one."""
    data = weighted_grid('open', 4, 'mild')

    def load(name: str, pairs: int) -> tuple[Data, Queries]:
        assert (name, pairs) == ('toy', 7)
        starts, goals = sample_queries(data, pairs, seed=0)
        return data, Queries(starts, goals, Dijkstra(data)(starts, goals).cost)

    readouts = {'VisitedGreedy': VisitedGreedy(), 'BestFirst': BestFirst()}
    monkeypatch.setattr(real_graphs, 'load', load)
    monkeypatch.setattr(real_graphs, 'GRAPHS', {'toy': ('', 16)})
    monkeypatch.setattr(real_graphs, 'READOUTS', readouts)
    for module in (trained_maps, real_graphs):
        monkeypatch.setattr(module, 'CACHE', tmp_path / 'cache')
    return Results('real_graphs', tmp_path)


def test_a_readout_that_comes_later_is_added_to_its_row(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = real_graphs.READOUTS.pop('BestFirst')
    real_graphs.run_graph('toy', ARGS, results)
    (before,) = results.rows
    assert 'BestFirst' not in before['methods']
    searches = 'Dijkstra', 'A*, 16 landmarks', 'A*, bytes of the map'
    for name in (*searches, 'Dijkstra, simplified', 'CCH', 'CPD'):
        assert before['methods'][name]['gap'] == pytest.approx(0, abs=1e-4)
    assert before['methods']['chosen']['readout'].startswith('Corridor(')
    real_graphs.READOUTS['BestFirst'] = last
    real_graphs.run_graph('toy', ARGS, results)
    (after,) = results.rows
    added = after['methods'].pop('BestFirst')
    assert after == before  # nothing else is measured again
    assert added['success_rate'] == 1
    assert added['commit'] == provenance()['commit']

    def refuse(*args: Any) -> Any:
        raise AssertionError('nothing is left to do')

    monkeypatch.setattr(real_graphs, 'load', refuse)
    results.rows[0]['methods']['BestFirst'] = added
    real_graphs.run_graph('toy', ARGS, results)


def test_a_map_that_is_gone_or_another_one_adds_nothing(
    results: Results,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real_graphs.run_graph('toy', ARGS, results)
    before = results.rows
    before[0]['methods'].pop('BestFirst')
    before[0]['steps'] += 1
    with pytest.raises(SystemExit, match='not that of its row'):
        real_graphs.run_graph('toy', ARGS, results)
    monkeypatch.setattr(trained_maps, 'CACHE', tmp_path / 'elsewhere')
    capsys.readouterr()
    real_graphs.run_graph('toy', ARGS, results)
    assert "not measured: ['BestFirst']" in capsys.readouterr().out
    assert results.rows is before


def test_distances_of_a_row_are_those_of_its_map(results: Results) -> None:
    real_graphs.run_graph('toy', ARGS, results)
    data, queries = real_graphs.load('toy', 7)
    (row,) = results.rows
    name = real_graphs.map_name(row)
    graph = real_graphs.simplified(data)  # corners are forced moves
    assert graph is not None and row['decisions'] == 12
    model = cached_map(name, graph.data)
    planner = planner_of(model, data, graph, VisitedGreedy())
    far = queries.cost > 0
    estimate = planner.distance(queries.starts[far], queries.goals[far])
    error = (estimate / queries.cost[far] - 1).abs().mean()
    assert row['mre'] == pytest.approx(100 * float(error), rel=1e-5)
    assert row['sweeps'] == settings_of(model)['sweeps']


def test_a_busy_machine_trains_by_steps(results: Results) -> None:
    vars_ = {**vars(ARGS), 'cpu': True}
    real_graphs.run_graph('toy', argparse.Namespace(**vars_), results)
    (row,) = results.rows
    name = real_graphs.map_name(row)
    note = trained_maps.CACHE / f'{name}.steps'
    assert row['steps'] == int(note.read_text()) > 0
    data, _ = real_graphs.load('toy', 7)
    note.write_text('3')  # a training that goes on measures nothing
    assert real_graphs.steps_worth(name, data, fit_config(time_budget=1)) == 3


def test_few_queries_of_a_large_graph_are_joined_by_drawn_ones(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_graphs, 'MANY_NODES', 10)
    monkeypatch.setattr(real_graphs, 'FEWER_QUERIES', 7)
    own = real_graphs.load('toy', 7)[1]
    few = Queries(*(part[:3] for part in own))

    def load(name: str, pairs: int) -> tuple[Data, Queries]:
        return weighted_grid('open', 4, 'mild'), few

    monkeypatch.setattr(real_graphs, 'load', load)
    data, queries = real_graphs.load_with_queries('toy', 5000)
    assert queries.starts.numel() == 7
    for part, there in zip(queries, few, strict=True):
        assert part[:3].tolist() == there.tolist()
    optimal = Dijkstra(data)(queries.starts, queries.goals).cost
    assert queries.cost.tolist() == pytest.approx(optimal.tolist())


def test_a_row_from_before_a_readout_has_a_dash() -> None:
    methods = {
        'Dijkstra': {'expansions': 8.0},
        'BestFirst': {'expansions': 2.0, 'gap': 0.5, 'success_rate': 1.0},
    }
    assert real_tables._search(methods, 'Corridor') == '-'
    assert real_tables._search(methods, 'BestFirst') == '0.50, 25.0'

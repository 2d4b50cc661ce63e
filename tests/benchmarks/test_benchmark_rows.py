"""Rows are resumable, sizes are the planners', scripts run."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy.ndimage import label

from bcm_pyg.baselines import APF, APSP, CML, Dijkstra, EigenAgent
from bcm_pyg.datasets import sample_queries, weighted_grid
from benchmarks.lib import jobs as experiment
from benchmarks.lib import results as common
from benchmarks.lib.jobs import Grid, Job, baseline_job, run_jobs
from benchmarks.lib.maze import maze_mask
from benchmarks.lib.methods import measure
from benchmarks.lib.results import Results
from benchmarks.lib.storage import storage_row
from benchmarks.lib.walks import apf_walk, cml_walk
from benchmarks.scripts import (
    figure1_paths,
    figure2_overview,
    figure3_scaling,
    table1_quality,
    table2_layouts,
    table3_encoders,
    table4_visited,
)


@pytest.mark.parametrize('side', [7, 10, 20, 41])
def test_maze_is_one_piece_with_more_than_one_route(side):
    mask = maze_mask(side, seed=3)
    assert mask.shape == (side, side) and mask.dtype == np.bool_
    assert label(~mask)[1] == 1
    data = weighted_grid(mask)
    assert data.num_edges / 2 > int((~mask).sum()) - 1  # more than a tree
    assert mask.mean() > 0.2


def test_maze_depends_on_its_seed_alone():
    assert (maze_mask(20, 1) == maze_mask(20, 1)).all()
    assert (maze_mask(20, 1) != maze_mask(20, 2)).any()


def test_maze_without_openings_is_a_tree():
    mask = maze_mask(21, opened=0.0)
    data = weighted_grid(mask)
    assert data.num_edges // 2 == int((~mask).sum()) - 1
    assert label(~mask)[1] == 1


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    calls = []

    def job(number, fails=False, later=False):
        def run():
            if fails:
                raise KeyboardInterrupt
            calls.append(number)
            return None if later else {'gap': 1.0 * number}

        return Job({'number': number}, run)

    with pytest.raises(KeyboardInterrupt):
        jobs = [job(1), job(2, later=True), job(3, fails=True), job(4)]
        run_jobs(Results('x', tmp_path), jobs)
    assert calls == [1, 2]
    run_jobs(Results('x', tmp_path), [job(n) for n in (1, 2, 3, 4)])
    assert calls == [1, 2, 2, 3, 4]
    run_jobs(Results('x', tmp_path), [job(n) for n in (1, 2, 3, 4)])
    assert calls == [1, 2, 2, 3, 4]
    rows = json.loads((tmp_path / 'x.json').read_text())['rows']
    assert [row['number'] for row in rows] == [1, 2, 3, 4]
    assert all('commit' in row and 'command' in row for row in rows)


def test_a_row_of_another_table_is_taken_over_as_it_is(tmp_path):
    Results('table1_quality', tmp_path).add({'number': 1, 'commit': 'abc'})
    Results('elsewhere', tmp_path).add({'number': 2})
    out = Results('table2_layouts', tmp_path)
    run_jobs(out, [Job({'number': n}, lambda: {'gap': 7.0}) for n in (1, 2)])
    one, two = Results('table2_layouts', tmp_path).rows
    assert one['commit'] == 'abc' and 'gap' not in one
    assert two['commit'] == common.PROVENANCE['commit'] and two['gap'] == 7
    figure = Results('figure2_overview', tmp_path)  # it shares none
    run_jobs(figure, [Job({'number': 1}, lambda: {'gap': 7.0})])
    assert [row['gap'] for row in figure.rows] == [7]


def test_two_processes_may_add_to_one_file(tmp_path):
    one, two = Results('x', tmp_path), Results('x', tmp_path)
    one.add({'number': 1})
    two.add({'number': 2})  # it began before there was a row
    one.add({'number': 3})
    for results in (one, Results('x', tmp_path)):
        assert [row['number'] for row in results.rows] == [1, 2, 3]
    assert two.find(number=1) and not two.find(number=3)


def test_rows_added_at_the_same_time_are_all_there(tmp_path):
    def add(number):
        Results('x', tmp_path).add({'number': number})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    rows = Results('x', tmp_path).rows
    assert sorted(row['number'] for row in rows) == list(range(40))


def test_measure_agrees_with_its_definitions(grid):
    starts, goals = sample_queries(grid, 60)
    plan, best = APF(grid)(starts, goals), Dijkstra(grid)(starts, goals).cost
    row = measure(APF(grid), grid, starts, goals)
    found = [n for n in range(60) if plan.success[n]]
    assert 0 < len(found) < 60
    ratio = [float(best[n] / plan.cost[n]) for n in found]
    assert row['success_rate'] == len(found) / 60
    assert row['efficiency'] == pytest.approx(np.mean(ratio))
    assert row['wspl'] == pytest.approx(np.sum(ratio) / 60)
    gaps = [100 * (1 / share - 1) for share in ratio]
    assert row['gap'] == pytest.approx(np.mean(gaps))
    assert row['gap_sd'] == pytest.approx(np.std(gaps, ddof=1))


def test_measure_of_nothing_reached(grid):
    start = int(grid.edge_index[0, 0])
    blocked = int(grid.blocked.nonzero()[0, 0])
    ends = torch.tensor([start]), torch.tensor([blocked])
    row = measure(Dijkstra(grid), grid, *ends)
    assert row['gap'] is None and row['efficiency'] is None
    json.dumps(row, allow_nan=False)


def test_sizes_are_those_of_the_planners():
    data = weighted_grid('ushape', side=12)
    row = storage_row(data)
    apsp = APSP(data)
    assert row['apsp_megabytes'] == apsp.storage_bytes() / 1e6
    assert row['apsp_packed_megabytes'] == apsp.compact_bytes() / 1e6
    assert row['eigen_megabytes'] == EigenAgent(data).storage_bytes() / 1e6
    assert row['cml_megabytes'] == CML(data, walks=0).storage_bytes() / 1e6
    parts = row['bcm_fixed_megabytes'], row['bcm_coordinates_megabytes']
    assert sum(parts) == pytest.approx(row['bcm_megabytes'])


def test_walks_are_those_of_the_planners(grid):
    starts, goals = (ids.tolist() for ids in sample_queries(grid, 24))
    learner = CML(grid, walks=40, dim=20, epochs=2, weighted=True)
    for planner, walk_of in ((APF(grid), apf_walk), (learner, cml_walk)):
        plan = planner(starts, goals)
        assert 0 < int(plan.success.sum()) < 24
        for query, ends in enumerate(zip(starts, goals, strict=True)):
            walk = walk_of(planner, *ends)
            assert walk[0] == ends[0]
            if plan.success[query]:
                assert walk == plan.path(query)
            else:
                assert ends[1] not in walk


def name_of(script):
    return script.__name__.rpartition('.')[2]


SCRIPTS = {
    table1_quality: ['--methods', 'dijkstra', 'apf', 'eigen_rbf', 'bcm'],
    table2_layouts: ['--layouts', 'wall', 'maze'],
    table3_encoders: [],
    table4_visited: [],
    figure1_paths: ['--methods', 'dijkstra', 'apf', 'bcm'],
    figure2_overview: [],
    figure3_scaling: ['--methods', 'dijkstra', 'eigen', 'apsp', 'bcm'],
}


@pytest.mark.parametrize('script', SCRIPTS, ids=name_of)
def test_scripts_run_without_maps(script, places, monkeypatch, capsys):
    flags = ['--quick', '--cached-only', '--pairs', '9', *SCRIPTS[script]]
    monkeypatch.setattr('sys.argv', [f'{name_of(script)}.py', *flags])
    script.main()
    first = capsys.readouterr().out
    path = places / 'quick' / f'{name_of(script)}.json'
    is_of_maps_alone = script in (table3_encoders, table4_visited)
    assert path.exists() != is_of_maps_alone
    if script is not figure2_overview:
        assert 'left for later' in first and 'bcm_sweeps' in first
    if 'figure' in name_of(script):
        for ending in ('png', 'svg'):
            picture = places / 'quick' / f'{name_of(script)}.{ending}'
            assert 1_000 < picture.stat().st_size < 150_000
        return  # a second picture takes long and shows nothing new
    if is_of_maps_alone:
        return
    before = path.read_text()
    rows = json.loads(before)['rows']
    assert {row['num_queries'] for row in rows} == {9}
    script.main()
    assert path.read_text() == before


#: By hand for side 10: tables of 256 numbers a node or an axis code (64 for
#: interaction), and the transition MLP on top of them.
PARAMETERS = {
    'one_hot': 256 * 100 + 131_840,
    'k_hot': 256 * 20 + 131_840,
    'interaction': 64 * 20 + 180_992,
    'gnn': 195_072,
}


def test_tables_of_encoders_train_their_maps(places, monkeypatch, capsys):
    def run(script):
        flags = '--quick --budget 0.02 --pairs 5 --targets sweeps'.split()
        monkeypatch.setattr('sys.argv', [f'{name_of(script)}.py', *flags])
        script.main()
        path = places / 'quick' / f'{name_of(script)}.json'
        return json.loads(path.read_text())['rows']

    rows = run(table3_encoders)
    keys = {(row['encoder'], row['costs']) for row in rows}
    assert keys == {(name, c) for name in PARAMETERS for c in ('mild', 'wide')}
    assert len(rows) == 8 and run(table3_encoders) == rows
    maps = sorted(places.glob('cache/*'))
    assert len(maps) == 8
    visited = run(table4_visited)
    keys = {(row['encoder'], row['readout']) for row in visited}
    readouts = ('Greedy', 'VisitedGreedy')
    assert keys == {(name, r) for name in PARAMETERS for r in readouts}
    assert len(visited) == 8 and run(table4_visited) == visited
    assert sorted(places.glob('cache/*')) == maps  # those of Table 3
    for row in [*rows, *visited]:
        assert row['parameters'] == PARAMETERS[row['encoder']]
        assert row['method'] == 'bcm_sweeps' and row['num_queries'] == 5
        assert row['side'] == 10 and row['trained_commit']
    assert 'left for later' not in capsys.readouterr().out


def test_a_picture_of_one_query_has_one_seed(places, monkeypatch, capsys):
    flags = ['figure1_paths.py', '--cached-only', '--seeds', '42', '111']
    monkeypatch.setattr('sys.argv', flags)
    with pytest.raises(SystemExit):
        figure1_paths.main()
    assert 'one picture is of one seed' in capsys.readouterr().err


def test_baselines_that_are_not_installed_are_left_out(monkeypatch):
    missing = experiment.BASELINES['cch']._replace(build=None)
    monkeypatch.setitem(experiment.BASELINES, 'cch', missing)
    assert baseline_job(Grid('open', 4, 'wide', 0), 'cch', 5).run() is None


def test_quick_runs_do_not_touch_the_committed_files():
    quick = experiment.results('table1_quality', quick=True).path
    assert common.RESULTS not in quick.parents
    assert quick.parent == experiment.figure_folder(quick=True)


def test_a_row_learns_more_later(tmp_path):
    results = Results('x', tmp_path)
    for number in (1, 2, 2):
        results.add({'number': number, 'methods': {'a': number}})
    Results('x', tmp_path).extend({'number': 1}, 'methods', {'b': 3})
    results.extend({'number': 1}, 'methods', {'c': 4})  # loses nothing
    rows = Results('x', tmp_path).rows
    assert [row['methods'] for row in rows] == [
        {'a': 1, 'b': 3, 'c': 4},
        {'a': 2},
        {'a': 2},
    ]
    for number in (2, 3):  # two of them, none
        with pytest.raises(ValueError, match='unpack'):
            results.extend({'number': number}, 'methods', {'b': 3})
    assert Results('x', tmp_path).rows == rows

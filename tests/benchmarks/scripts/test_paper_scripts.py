"""Tables and figures of the paper run, with and without maps."""

import json

import pytest

from bcm_pyg.baselines import APF, APSP, CML, EigenAgent
from bcm_pyg.datasets import sample_queries, weighted_grid
from benchmarks.scripts import (
    figure1_paths,
    figure2_overview,
    figure3_scaling,
    paper_tuning,
    table1_quality,
    table2_layouts,
    table3_encoders,
    table4_visited,
)
from benchmarks.scripts.figure1_paths import apf_walk, cml_walk
from benchmarks.scripts.figure3_scaling import storage_row


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


def test_tuning(folders):
    for _ in range(2):  # the second time there is nothing to do
        paper_tuning.main(['--quick', '--rows', 'chosen', 'patches of 8'])
    path = folders / 'quick' / 'paper_tuning.json'
    rows = json.loads(path.read_text())['rows']
    assert [row['name'] for row in rows] == ['chosen', 'patches of 8']
    assert {row['curve'][-1][0] for row in rows} == {20}
    assert paper_tuning.ROWS['chosen'] == {}


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
def test_scripts_run_without_maps(script, folders, capsys):
    flags = ['--quick', '--cached-only', '--pairs', '9', *SCRIPTS[script]]
    script.main(flags)
    first = capsys.readouterr().out
    path = folders / 'quick' / f'{name_of(script)}.json'
    is_of_maps_alone = script in (table3_encoders, table4_visited)
    assert path.exists() != is_of_maps_alone
    if script is not figure2_overview:
        assert 'left for later' in first and 'bcm_sweeps' in first
    if 'figure' in name_of(script):
        for ending in ('png', 'svg'):
            picture = folders / 'quick' / f'{name_of(script)}.{ending}'
            assert 1_000 < picture.stat().st_size < 150_000
        return  # a second picture takes long and shows nothing new
    if is_of_maps_alone:
        return
    before = path.read_text()
    rows = json.loads(before)['rows']
    assert {row['num_queries'] for row in rows} == {9}
    script.main(flags)
    assert path.read_text() == before


#: By hand for side 10: tables of 128 numbers a node or an axis code (64 for
#: interaction), and the transition MLP on top of them.
PARAMETERS = {
    'one_hot': 128 * 100 + 33_152,
    'k_hot': 128 * 20 + 33_152,
    'interaction': 64 * 20 + 57_728,
    'gnn': 82_432,
}


def test_tables_of_encoders_train_their_maps(folders, capsys):
    def run(script):
        flags = '--quick --budget 0.02 --pairs 5 --targets sweeps'.split()
        script.main(flags)
        path = folders / 'quick' / f'{name_of(script)}.json'
        return json.loads(path.read_text())['rows']

    rows = run(table3_encoders)
    keys = {(row['encoder'], row['costs']) for row in rows}
    assert keys == {(name, c) for name in PARAMETERS for c in ('mild', 'wide')}
    assert len(rows) == 8 and run(table3_encoders) == rows
    maps = sorted(folders.glob('cache/*'))
    assert len(maps) == 8
    visited = run(table4_visited)
    keys = {(row['encoder'], row['readout']) for row in visited}
    readouts = ('Greedy', 'VisitedGreedy')
    assert keys == {(name, r) for name in PARAMETERS for r in readouts}
    assert len(visited) == 8 and run(table4_visited) == visited
    assert sorted(folders.glob('cache/*')) == maps  # those of Table 3
    for row in [*rows, *visited]:
        assert row['parameters'] == PARAMETERS[row['encoder']]
        assert row['method'] == 'bcm_sweeps' and row['num_queries'] == 5
        assert row['side'] == 10 and row['trained_commit']
    assert 'left for later' not in capsys.readouterr().out


def test_a_picture_of_one_query_has_one_seed(folders, capsys):
    with pytest.raises(SystemExit):
        figure1_paths.main(['--cached-only', '--seeds', '42', '111'])
    assert 'one picture is of one seed' in capsys.readouterr().err

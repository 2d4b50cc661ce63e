"""Rows are resumable, and know where they come from."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.lib import results as results_module
from benchmarks.lib.results import (
    CODE,
    FOLDER,
    Job,
    Results,
    figure_folder,
    provenance,
    results_for,
    run_jobs,
)


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
    assert two['commit'] == provenance()['commit'] and two['gap'] == 7
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


def test_notes_stay(tmp_path):
    (tmp_path / 'x.json').write_text('{"notes": ["busy"], "rows": []}')
    Results('x', tmp_path).add({'number': 1})
    content = json.loads((tmp_path / 'x.json').read_text())
    assert content['notes'] == ['busy'] and len(content['rows']) == 1


def test_quick_runs_leave_the_committed_files_alone():
    quick = results_for('table1_quality', quick=True).path
    assert results_module.RESULTS not in quick.parents
    assert quick.parent == figure_folder(quick=True)


def test_a_row_of_changed_code_is_marked(tmp_path, monkeypatch):
    """A plus behind the commit: what makes results differs from it."""

    def git(*args):
        name = ['-c', 'user.name=x', '-c', 'user.email=x@y']
        subprocess.run(['git', *name, *args], cwd=tmp_path, check=True)

    for folder in (*CODE, 'benchmarks/results'):
        assert (FOLDER.parent / folder).is_dir()
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / 'file').write_text('')
    git('init', '-q')
    git('add', '.')
    git('commit', '-q', '-m', 'x')
    monkeypatch.setattr(results_module, 'FOLDER', tmp_path / 'benchmarks')
    monkeypatch.setattr('sys.argv', ['/x/scripts/soak.py', '--a', 'b c'])
    found = provenance.__wrapped__()
    assert found['command'] == "python -m benchmarks.scripts.soak --a 'b c'"
    assert not found['commit'].endswith('+')
    (tmp_path / 'benchmarks/results/file').write_text('a new row')
    assert not provenance.__wrapped__()['commit'].endswith('+')
    for folder in CODE:
        (tmp_path / folder / 'file').write_text('changed')
        assert provenance.__wrapped__()['commit'].endswith('+')
        git('checkout', '-q', folder)

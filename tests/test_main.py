"""The command line, in this process and once in one of its own."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from bcm_pyg import CognitiveMap, __main__, __version__
from bcm_pyg.__main__ import EXAMPLES, main

ROOT = Path(__file__).parents[1]


def streets(names: str) -> nx.Graph:
    """A town of six by six corners, by the kind of its names."""
    draw = random.Random(0)
    graph = nx.Graph()
    for row, column in nx.grid_2d_graph(6, 6):
        graph.add_node((row, column), x=row + draw.random() / 3, y=column * 1.0)
    for ends in nx.grid_2d_graph(6, 6).edges:
        graph.add_edge(*ends, length=draw.uniform(1, 3))
    kinds = {
        'towns': lambda at: f'Town {at[0]}{at[1]}',
        'numbers': lambda at: 100 + 6 * at[0] + at[1],
        'cells': lambda at: at,
    }
    return nx.relabel_nodes(graph, {at: kinds[names](at) for at in graph})


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the folder `map`, which the command line has learned."""
    folder = tmp_path_factory.mktemp('cli')
    nx.write_graphml(streets('towns'), folder / 'towns.graphml')
    command = f'learn {folder}/towns.graphml --budget 0.2 --out {folder}/map'
    assert main(shlex.split(command)) == 0
    return folder


def run(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    """Exit code and output of a command; JSON is read."""
    code = main(shlex.split(command))
    out, err = capsys.readouterr()
    assert err == ''
    return code, json.loads(out) if '--json' in command else out


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a bad command leaves."""
    assert main(shlex.split(command)) == 2
    out, err = capsys.readouterr()
    assert out == '' and err.startswith('bcm: ') and err.count('\n') == 1
    return err


def test_learn_and_info(folder, capsys):
    code, facts = run(f'info {folder}/map --json', capsys)
    assert code == 0
    assert (facts['nodes'], facts['edges']) == (36, 120)
    assert facts['steps'] > 0 and facts['parameters'] > 0
    code, text = run(f'info {folder}/map', capsys)
    assert 'Town 00' in text and '36' in text
    (seconds,) = [x for x in text.splitlines() if x.startswith('seconds')]
    assert len(seconds.split()[1]) <= 12


def test_route(folder, capsys):
    command = f"route {folder}/map 'Town 00' 'Town 54'"
    code, found = run(f'{command} --json', capsys)
    assert code == 0 and found['success']
    assert found['nodes'][0] == found['start'] == 'Town 00'
    assert found['nodes'][-1] == found['goal'] == 'Town 54'
    assert found['hops'] == len(found['nodes']) - 1
    want = CognitiveMap.load(folder / 'map').route('Town 00', 'Town 54')
    assert (found['cost'], found['nodes']) == (want.cost, want.nodes)
    assert found['lower_bound'] <= found['cost']
    code, text = run(command, capsys)
    assert text.splitlines()[1:] == want.nodes
    assert f'cost {want.cost:.6g}, {want.hops} hops' in text


@pytest.mark.filterwarnings('always:the graph has no coordinates')
def test_a_warning_is_one_line(tmp_path, capsys):
    graph = streets('towns')
    for town in graph:
        graph.nodes[town].clear()
    nx.write_graphml(graph, tmp_path / 'towns.graphml')
    command = f'learn {tmp_path}/towns.graphml --budget 0 --out {tmp_path}/map'
    assert main(shlex.split(command)) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if 'warning' in line] == lines[:1]
    assert lines[0].startswith('bcm: warning: the graph has no coordinates')
    code, found = run(f"route {tmp_path}/map 'Town 00' 'Town 54'", capsys)
    assert code == 0 and 'Town 54' in found


def test_costs_by_name(tmp_path, capsys):
    graph = streets('towns')
    for ends in graph.edges:
        graph.edges[ends]['time'] = 60 * graph.edges[ends]['length']
    nx.write_graphml(graph, tmp_path / 'towns.graphml')
    command = f'learn {tmp_path}/towns.graphml --budget 0 --out {tmp_path}/map'
    message = refused(command, capsys)
    assert "['length', 'time']" in message and '--cost NAME' in message
    assert '--cost' not in refused(f'{command} --cost toll', capsys)
    assert not (tmp_path / 'map').exists()
    with pytest.warns(UserWarning, match='untrained'):
        atlas = CognitiveMap.learn(streets('towns'), budget=0)
    want = 60 * atlas.route('Town 00', 'Town 01').cost
    assert main(shlex.split(f'{command} --cost time')) == 0
    capsys.readouterr()
    ends = f"{tmp_path}/map 'Town 00' 'Town 01'"
    found = run(f'route {ends} --json', capsys)[1]
    assert found['cost'] == pytest.approx(want, rel=1e-5)


def test_files_of_a_route(folder, capsys):
    files = f'--geojson {folder}/r.geojson --plot {folder}/r.png'
    code, _ = run(f"route {folder}/map 'Town 00' 'Town 54' {files}", capsys)
    assert code == 0
    (feature,) = json.loads((folder / 'r.geojson').read_text())['features']
    assert feature['properties']['start'] == 'Town 00'
    assert (folder / 'r.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize(
    ('names', 'typed', 'ends'),
    [
        ('numbers', ('100', '135'), [100, 135]),
        ('cells', ('0,0', '"(5, 4)"'), [[0, 0], [5, 4]]),
    ],
)
def test_names_of_any_type(names, typed, ends, tmp_path, capsys):
    atlas = CognitiveMap.learn(streets(names), budget=0)
    atlas.save(tmp_path / 'map')
    code, found = run(f'route {tmp_path}/map {" ".join(typed)} --json', capsys)
    assert code == 0
    assert [found['nodes'][0], found['nodes'][-1]] == ends


def test_names_that_a_terminal_would_obey(tmp_path, capsys):
    graph = nx.Graph()
    names = 'a\nb', '\x1b[2J\u202e', '\ud800'
    graph.add_nodes_from((name, {'pos': (0.0, 0.0)}) for name in names)
    nx.add_path(graph, names, cost=1.0)
    CognitiveMap.learn(graph).save(tmp_path / 'map')
    assert main(['route', f'{tmp_path}/map', names[0], names[2]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ['a\\nb', '\\x1b[2J\\u202e', '\\ud800']
    assert main(['info', f'{tmp_path}/\udcff']) == 2
    assert '\\udcff' in capsys.readouterr().err


def test_a_text_is_a_name_before_it_is_a_number():
    class Atlas:
        names = [7, '7', (3, 4), ('a', 'b c')]

    assert __main__._name(Atlas(), '7') == '7'
    assert __main__._name(Atlas(), '3,4') == (3, 4)
    assert __main__._name(Atlas(), '(3, 4)') == (3, 4)
    assert __main__._name(Atlas(), 'nowhere') == 'nowhere'


def test_evaluate(folder, capsys):
    command = f'evaluate {folder}/map --queries 20'
    code, report = run(f'{command} --json', capsys)
    assert code == 0
    assert report['num_queries'] == 20 and report['success_rate'] == 1
    code, text = run(command, capsys)
    assert 'Gap %' in text


def test_explore(folder, capsys):
    code, _ = run(f'explore {folder}/map --out {folder}/e.html', capsys)
    assert code == 0
    assert (folder / 'e.html').read_text().startswith('<!DOCTYPE html>')


def test_no_route(folder, capsys, monkeypatch):
    whole = CognitiveMap.load(folder / 'map')
    away = [pair for pair in [('Town 01', 'Town 00'), ('Town 10', 'Town 00')]]
    monkeypatch.setattr(CognitiveMap, 'load', lambda path: whole.close(away))
    command = f"route {folder}/map 'Town 55' 'Town 00'"
    code, found = run(f'{command} --json', capsys)
    assert code == 1
    assert found['cost'] is None and found['nodes'] == []
    code, text = run(command, capsys)
    assert code == 1 and 'there is no route' in text


@pytest.mark.parametrize(
    ('command', 'message'),
    [
        ('', 'required: command'),
        ('fly map', "invalid choice: 'fly'"),
        ('learn x.graphml', 'required: --out'),
        ('learn x.graphml --out new', 'there is no file x.graphml'),
        ('learn x.txt --out new', 'is not a graph file'),
        ('learn bad.graphml --out new', 'bad.graphml'),
        ('learn empty.npz --out new', 'empty.npz'),
        ('learn towns.graphml --out new --budget -1', 'budget must be'),
        ('learn towns.graphml --out new --budget soon', 'invalid float'),
        ('learn towns.graphml --out new --encoder no', "unknown encoder 'no'"),
        ('learn towns.graphml --out new --cost toll', "has no 'toll'"),
        ('learn empty.npz --out new --cost toll', 'has costs of its own'),
        ('learn towns.graphml --out a/b/c', 'there is no folder a/b'),
        ('learn towns.graphml --out towns.graphml', 'a map is a folder'),
        ('route nowhere A B', 'nowhere'),
        ('route map Nowhere "Town 00"', "'Nowhere' is not a node"),
        ('route map "Town 0" "Town 00"', 'did you mean'),
        ('route map "Town 00" "Town 01" --geojson a/b', 'there is no folder a'),
        ('route map "Town 00" "Town 01" --plot r.doc', 'r.doc'),
        ('evaluate map --queries 0', 'queries must be an int of at least 1'),
        ('evaluate map --queries -3', 'must be an int'),
        ('route map "Town 00" "Town 54" --plot .', 'is a folder'),
        ('info towns.graphml', 'towns.graphml'),
        ('explore map', 'required: --out'),
    ],
)
def test_bad_input(command, message, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / 'bad.graphml').write_text('<html>')
    np.savez(folder / 'empty.npz')
    before = sorted(folder.iterdir())
    assert message in refused(command, capsys)
    assert sorted(folder.iterdir()) == before


def test_ctrl_c(folder, capsys, monkeypatch):
    def load(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(CognitiveMap, 'load', load)
    assert main(['info', str(folder / 'map')]) == 130
    assert capsys.readouterr().err == 'bcm: interrupted\n'


def test_what_ctrl_c_leaves_is_kept(folder, capsys, monkeypatch):
    atlas = CognitiveMap.load(folder / 'map')
    atlas.history.interrupted = True
    monkeypatch.setattr(CognitiveMap, 'learn', lambda *a, **b: atlas)
    out = folder / 'stopped'
    towns = str(folder / 'towns.graphml')
    assert main(['learn', towns, '--out', str(out)]) == 130
    assert CognitiveMap.load(out).names == atlas.names


def test_help_has_examples_that_parse(capsys):
    for verb in ([], ['learn'], ['route'], ['evaluate'], ['info'], ['explore']):
        with pytest.raises(SystemExit) as left:
            main([*verb, '--help'])
        assert left.value.code == 0
        text = capsys.readouterr().out
        examples = text.split('examples:\n')[1].splitlines()
        commands = [x.strip() for x in examples if x.startswith('  bcm ')]
        assert len(commands) > 0
        for command in commands:
            name, *argv = shlex.split(command)
            assert __main__._parser().parse_args(argv).command == argv[0]
    assert 'exit codes' in EXAMPLES
    with pytest.raises(SystemExit):
        main(['--version'])
    assert capsys.readouterr().out == f'{__version__}\n'


def test_the_script_is_the_module(folder):
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    assert project['scripts'] == {'bcm': 'bcm_pyg.__main__:main'}
    command = [sys.executable, '-m', 'bcm_pyg', 'route', 'map', 'Town 00', 'X']
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith("bcm: 'X' is not a node")
    code = 'import sys; sys.argv[1:] = ["info", "--help"]\n'
    code += 'from bcm_pyg.__main__ import main\n'
    code += 'try: main()\nexcept SystemExit: print("torch" in sys.modules)'
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith('False\n')  # so help comes at once


def test_no_output(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, 'stdout', None)  # as after >&-
    assert main(['info', str(folder / 'map')]) == 0

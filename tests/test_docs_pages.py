"""What the pages of the site show runs, and prints what they say it prints."""

import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import matplotlib
import pytest

matplotlib.use('Agg')
import matplotlib.pyplot as plt

import bcm_pyg
from bcm_pyg.__main__ import _parser

ROOT = Path(__file__).parents[1]
DOCS = ROOT / 'docs'
PAGES = [
    'quick_start',
    'own_graph',
    'streets',
    'encoders',
    'readouts',
    'training',
    'explorer',
    'limits',
]
MODULES = [
    'cognitive_map',
    'graph',
    'geo',
    'datasets',
    'transforms',
    'nn',
    'planning',
    'baselines',
    'metrics',
    'training',
    'plotting',
    'explorer',
    'export',
    'io',
    'utils',
]


def page(name: str) -> str:
    return (DOCS / f'{name}.md').read_text()


def without_tables(text: str) -> str:
    """A page without what is rendered from results."""
    return re.sub(r'<!-- table.*?<!-- end -->', '', text, flags=re.DOTALL)


def blocks(name: str) -> list[tuple[str, str]]:
    """Language and content of every code block of a page."""
    found = re.findall(
        r'^```(\w+)\n(.*?)^```$', page(name), flags=re.DOTALL | re.MULTILINE
    )
    assert len(found) == page(name).count('```') / 2
    return found


@pytest.mark.parametrize('name', PAGES)
def test_page_runs(name, tmp_path, monkeypatch):
    """All Python of a page, top to bottom; a text block is what it prints."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {'__name__': name}
    printed = io.StringIO()
    languages = []
    for language, content in blocks(name):
        if language == 'python':
            printed = io.StringIO()
            code = compile(content, f'docs/{name}.md', 'exec')
            with contextlib.redirect_stdout(printed):
                exec(code, space)
        elif language == 'text':
            assert languages[-1] == 'python'
            assert printed.getvalue() == content
        languages.append(language)
    plt.close('all')
    assert 'python' in languages and 'text' in languages
    assert set(languages) <= {'python', 'text', 'bash'}


def test_the_notebook_is_the_quick_start(tmp_path, monkeypatch):
    notebook = json.loads((ROOT / 'examples/quick_start.ipynb').read_text())
    cells = [c for c in notebook['cells'] if c['cell_type'] == 'code']
    assert all(cell['outputs'] == [] for cell in cells)  # small, no noise
    code = [''.join(cell['source']) + '\n' for cell in cells]
    found = blocks('quick_start')
    assert code == [text for language, text in found if language == 'python']
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    for text in code:
        text = text.replace('budget=2', 'budget=0.2').replace('=200', '=20')
        with contextlib.redirect_stdout(io.StringIO()):
            exec(text, space)
    plt.close('all')
    assert space['route'].success and space['report'].success_rate == 1
    links = re.findall(r'\]\(([^)#]+)', json.dumps(notebook))
    assert links and all((ROOT / 'examples' / x).exists() for x in links)


LINKED = [ROOT / 'README.md', *sorted(DOCS.glob('*.md'))]


@pytest.mark.parametrize('path', LINKED, ids=lambda path: path.stem)
def test_links_work_on_a_code_host(path):
    """They lead to files with a text of their own."""
    for link in re.findall(r'\]\((?!https?:)([^)#]+)', path.read_text()):
        there = path.parent / link
        assert there.exists(), link
        if there.suffix == '.md':
            assert '```{include}' not in there.read_text(), link


@pytest.mark.parametrize('name', PAGES)
def test_page_commands(name):
    """Commands name files and extras that exist."""
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    extras = project['optional-dependencies']
    for language, content in blocks(name):
        for line in content.splitlines() if language == 'bash' else []:
            assert line.startswith(('pip install ', 'torchrun ', 'bcm '))
            if line.startswith('bcm '):
                _parser().parse_args(shlex.split(line)[1:])
            for extra in re.findall(r'\.\[(\w+)\]', line):
                assert extra in extras
            for file in re.findall(r'\S+\.py', line):
                assert (ROOT / file).exists()


@pytest.mark.parametrize('name', PAGES)
def test_page_is_short(name):
    lines = without_tables(page(name)).splitlines()
    assert 30 < len(lines) <= 140
    assert page(name).startswith('# ')


@pytest.mark.parametrize('name', ['index', *PAGES])
def test_no_number_is_typed_by_hand(name):
    """What was measured stands in rendered tables alone."""
    text = without_tables(page(name))
    text = re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S)
    units = '%|percent|[kMG]i?B|[mun]s|seconds|times faster'
    assert not re.findall(rf'\d+(?:\.\d+)? ?(?:{units})(?!\w)', text)


@pytest.mark.parametrize('name', PAGES)
def test_page_names_examples_that_exist(name):
    for path in re.findall(r'`((?:examples|benchmarks)/[\w./]+)`', page(name)):
        assert (ROOT / path).exists(), path


def test_all_pages_are_listed():
    index = page('index')
    places = [index.index(f'\n{name}\n') for name in [*PAGES, 'api/index']]
    assert places == sorted(places)
    assert {p.stem for p in DOCS.glob('*.md')} == {
        'index',
        'benchmarks',
        'architecture',
        'gallery',
        *PAGES,
    }


def test_api_has_all_public_names():
    index = (DOCS / 'api' / 'index.rst').read_text()
    listed = re.findall(r'^   ([A-Za-z_]+)$', index, flags=re.MULTILINE)
    assert sorted(listed) == sorted([*bcm_pyg.__all__, *MODULES])
    for name in MODULES:
        text = (DOCS / 'api' / f'{name}.rst').read_text()
        title = f'bcm_pyg.{name}'
        assert text.startswith(f'{title}\n{"=" * len(title)}\n')
        # Describes all that the module names in __all__.
        assert f'\n.. automodule:: {title}\n' in text
    shown = {m.name for m in pkgutil.iter_modules(bcm_pyg.__path__)}
    hidden = {'__main__', 'errors', 'kernels', 'typing'}
    assert shown - hidden == set(MODULES)


def test_examples_in_docstrings():
    """Those of the main names at least; all are run."""
    modules = [bcm_pyg]
    for found in pkgutil.walk_packages(bcm_pyg.__path__, 'bcm_pyg.'):
        modules.append(importlib.import_module(found.name))
    results = {m.__name__: doctest.testmod(m) for m in modules}
    assert [name for name, result in results.items() if result.failed] == []
    shown = {name for name, result in results.items() if result.attempted}
    assert shown >= {
        'bcm_pyg.graph.planning_graph',
        'bcm_pyg.metrics',
        'bcm_pyg.nn.bcm',
        'bcm_pyg.planning.planner',
        'bcm_pyg.training.fit',
    }

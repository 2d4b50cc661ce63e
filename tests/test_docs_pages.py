"""What the pages of the site show runs, and prints what they say it prints."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import tomllib
from pathlib import Path
from typing import Any

import matplotlib
import pytest

matplotlib.use('Agg')
import matplotlib.pyplot as plt

import bcm_pyg

ROOT = Path(__file__).parents[1]
DOCS = ROOT / 'docs'
PAGES = [
    'quick_start',
    'own_graph',
    'encoders',
    'readouts',
    'training',
    'limits',
]
MODULES = [
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
    'export',
    'io',
    'utils',
]


def page(name: str) -> str:
    return (DOCS / f'{name}.md').read_text()


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


@pytest.mark.parametrize('name', PAGES)
def test_page_commands(name):
    """Commands name files and extras that exist."""
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    extras = project['optional-dependencies']
    for language, content in blocks(name):
        for line in content.splitlines() if language == 'bash' else []:
            assert line.startswith(('pip install ', 'torchrun '))
            for extra in re.findall(r'\.\[(\w+)\]', line):
                assert extra in extras
            for file in re.findall(r'\S+\.py', line):
                assert (ROOT / file).exists()


@pytest.mark.parametrize('name', PAGES)
def test_page_is_short(name):
    lines = page(name).splitlines()
    assert 30 < len(lines) <= 140
    assert page(name).startswith('# ')


@pytest.mark.parametrize('name', ['index', *PAGES])
def test_no_number_is_typed_by_hand(name):
    """What was measured stands in rendered tables alone."""
    text = re.sub(r'^```.*?^```$', '', page(name), flags=re.M | re.S)
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
    assert shown - {'errors', 'kernels', 'typing'} == set(MODULES)


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

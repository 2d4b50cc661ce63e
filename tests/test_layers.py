"""Imports point down only, and examples use nothing private."""

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import bcm_pyg

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'bcm_pyg'

#: Lowest first. What shares a line may not import each other.
LAYERS = [
    ('errors', 'typing'),
    ('utils', 'kernels'),
    ('io',),
    ('geo',),
    ('graph',),
    ('datasets', 'nn', 'transforms'),
    ('planning',),
    ('baselines',),
    ('metrics',),
    ('training',),
    ('explorer', 'export', 'plotting'),
    ('cognitive_map',),
]
#: Imports inside of a method that hands a plan on to what is above.
METHODS = {('bcm_pyg', 'planning', 'plan'): ['bcm_pyg.export.to_geodataframe']}
HEIGHT = {name: level for level, names in enumerate(LAYERS) for name in names}
#: All but those on top, which may import everything.
MODULES = sorted(
    path
    for path in PACKAGE.rglob('*.py')
    if path not in (PACKAGE / '__init__.py', PACKAGE / '__main__.py')
)
SCRIPTS = sorted(
    path
    for folder in ('examples', 'benchmarks')
    for path in (ROOT / folder).rglob('*.py')
)


def imports(source: str, package: list[str]) -> Iterator[str]:
    """Full dotted names of all that is imported, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package[: len(package) + 1 - node.level]
            base = parts if node.level > 0 else []
            module = [*base, *(node.module or '').split('.')]
            for alias in node.names:
                yield '.'.join(part for part in (*module, alias.name) if part)


def upward(source: str, package: list[str], layer: str) -> list[str]:
    """The imports of the package that do not point down."""
    bad = []
    for name in imports(source, package):
        top, *rest = name.split('.')
        if top != 'bcm_pyg' or rest[:1] == [layer]:
            continue
        # `import bcm_pyg` and names of the root reach everything.
        if not rest or HEIGHT.get(rest[0], len(LAYERS)) >= HEIGHT[layer]:
            bad.append(name)
    return bad


def private(source: str) -> list[str]:
    """Imports of the package other than public modules and their names."""
    return [
        name
        for name in imports(source, [])
        if name.split('.')[0] == 'bcm_pyg' and not is_public(name)
    ]


def is_public(name: str) -> bool:
    """Whether this is the package, a module of it, or what one exports."""
    _, *rest = name.split('.')
    if not rest:
        return True
    if len(rest) == 1 and rest[0] in bcm_pyg.__all__:
        return True
    if rest[0].startswith('_') or find_spec(f'bcm_pyg.{rest[0]}') is None:
        return False
    module = import_module(f'bcm_pyg.{rest[0]}')
    return len(rest) == 1 or rest[1:] in [[name] for name in exported(module)]


def exported(module: ModuleType) -> list[str]:
    """The names in ``__all__``, or those that a module without it defines."""
    defined = [
        name
        for name, value in vars(module).items()
        if not name.startswith('_')
        and getattr(value, '__module__', None) == module.__name__
    ]
    return getattr(module, '__all__', defined)


@pytest.mark.parametrize(
    'path', MODULES, ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_point_down(path):
    parts = path.relative_to(ROOT).with_suffix('').parts
    layer = parts[1]
    assert layer in HEIGHT, f'give bcm_pyg.{layer} its place in LAYERS'
    bad = upward(path.read_text(), list(parts[:-1]), layer)
    assert [name for name in bad if name not in METHODS.get(parts, ())] == []


def test_all_layers_are_walked():
    tops = {path.relative_to(PACKAGE).parts[0] for path in MODULES}
    assert {top.removesuffix('.py') for top in tops} == set(HEIGHT)


@pytest.mark.parametrize(
    ('source', 'bad'),
    [
        ('from bcm_pyg.utils import scatter_min', []),
        ('from bcm_pyg.nn.encoders import NodeEncoder', []),
        ('from .encoders.base import NodeEncoder', []),
        ('from ..graph import planning_graph', []),
        ('from bcm_pyg import errors', []),
        ('import torch, bcm_pyg.typing', []),
        ('import bcm_pyg', ['bcm_pyg']),
        ('from bcm_pyg import fit', ['bcm_pyg.fit']),
        ('from bcm_pyg.planning import Plan', ['bcm_pyg.planning.Plan']),
        ('import bcm_pyg.metrics as m', ['bcm_pyg.metrics']),
        ('from ..training.fit import fit', ['bcm_pyg.training.fit.fit']),
        ('from .. import baselines', ['bcm_pyg.baselines']),
        ('from bcm_pyg.datasets import x', ['bcm_pyg.datasets.x']),
        ('def f():\n    from bcm_pyg import BCM', ['bcm_pyg.BCM']),
    ],
)
def test_the_walk_sees_upward_arrows(source, bad):
    """As if written in bcm_pyg/nn/bcm.py."""
    assert upward(source, ['bcm_pyg', 'nn'], 'nn') == bad


def test_there_are_examples():
    assert any(path.parent.name == 'examples' for path in SCRIPTS)


@pytest.mark.parametrize(
    'path', SCRIPTS, ids=lambda path: str(path.relative_to(ROOT))
)
def test_examples_and_benchmarks_import_nothing_private(path):
    assert private(path.read_text()) == []


@pytest.mark.parametrize(
    ('source', 'bad'),
    [
        ('from __future__ import annotations', []),
        ('from bcm_pyg.utils import scatter_min', []),
        ('import bcm_pyg, _thread', []),
        ('from bcm_pyg import BCM, baselines', []),
        ('from bcm_pyg.plotting import plot_route', []),
        ('from bcm_pyg import Adjacency', ['bcm_pyg.Adjacency']),
        ('from bcm_pyg.metrics import Planner', ['bcm_pyg.metrics.Planner']),
        ('from bcm_pyg.nn.bcm import BCM', ['bcm_pyg.nn.bcm.BCM']),
        ('def f():\n    from bcm_pyg.no import x', ['bcm_pyg.no.x']),
        ('import bcm_pyg.utils._scatter', ['bcm_pyg.utils._scatter']),
        (
            'from bcm_pyg.utils._ids import as_ids',
            ['bcm_pyg.utils._ids.as_ids'],
        ),
        ('from bcm_pyg.graph import _validate', ['bcm_pyg.graph._validate']),
    ],
)
def test_the_walk_sees_private_names(source, bad):
    assert private(source) == bad


@pytest.mark.parametrize(
    'path',
    [path for path in SCRIPTS if 'benchmarks' in path.parts],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_benchmarks_import_what_they_share(path):
    """Scripts import all others, plots import tables, tables import lib."""
    rooms = ['lib', 'tables', 'plots', 'scripts']
    room = path.relative_to(ROOT).parts[1]
    above = rooms[rooms.index(room) :] if room in rooms else rooms
    bad = [f'benchmarks.{name}.' for name in above if name != room]
    if room == 'scripts':
        bad = ['benchmarks.scripts.']
    found = [*imports(path.read_text(), [])]
    assert not [name for name in found if name.startswith(tuple(bad))]

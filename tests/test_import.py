"""Importing the package is quick: what is heavy is imported when used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bcm_pyg

#: Beyond what torch_geometric imports by itself.
SLOW = ('matplotlib', 'networkx', 'pandas', 'scipy.spatial', 'osmnx')


def modules_after(code: str, before: str = '') -> set[str]:
    """What code imports in a fresh process, beyond what other code does."""
    lines = [
        'import sys',
        before,
        'known = set(sys.modules)',
        code,
        'print(*(set(sys.modules) - known))',
    ]
    out = subprocess.run(
        [sys.executable, '-c', '\n'.join(lines)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(out.stdout.split())


def test_the_package_alone_imports_nothing_heavy() -> None:
    new = modules_after('import bcm_pyg; dir(bcm_pyg)')
    assert 'bcm_pyg' in new
    assert not {name.split('.')[0] for name in new} & {
        'torch',
        'numpy',
        'torch_geometric',
    }


def test_all_names_import_little_beyond_torch_geometric() -> None:
    new = modules_after('from bcm_pyg import *', 'import torch_geometric')
    assert {'bcm_pyg.training', 'scipy.sparse'} <= new
    assert not new & set(SLOW)


def test_names_and_modules_are_attributes() -> None:
    assert set(bcm_pyg.__all__) <= set(dir(bcm_pyg))
    for names in bcm_pyg._HOMES.values():
        assert set(names) <= set(bcm_pyg.__all__)
    homes = [name for names in bcm_pyg._HOMES.values() for name in names]
    assert sorted(homes) == sorted(bcm_pyg.__all__)
    for name in bcm_pyg._MODULES:
        assert getattr(bcm_pyg, name).__name__ == f'bcm_pyg.{name}'
    with pytest.raises(AttributeError, match="no attribute 'Corridor'"):
        bcm_pyg.Corridor  # noqa: B018

"""How compiled code is loaded, kept, and done without."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import (
    ALL_READOUTS,
    assert_same_plan,
    integer_map,
    random_graph,
)
from search_twins import every_pair
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner, planning_graph
from bcm_pyg.kernels import loading
from bcm_pyg.planning import Readout


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
def test_without_compiled_code(
    readout: Readout, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = planning_graph(random_graph(12, 30, seed=5))
    model = integer_map(data, 'one_hot', 'calibrated', seed=5)
    queries = every_pair(12)
    wanted = Planner(model, data, readout)(*queries)
    monkeypatch.setattr(loading, '_LOADED', [None])
    assert_same_plan(Planner(model, data, readout)(*queries), wanted)


def test_what_cannot_be_compiled_is_told_once(
    grid: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, '_LOADED', [])
    monkeypatch.setitem(sys.modules, 'numba', None)
    model = BCM.from_data(grid)
    with pytest.warns(UserWarning, match='cannot be compiled.*numba'):
        Planner(model, grid)
    assert Planner(model, grid)(0, 9).success.all()  # and no second warning


def test_where_compiled_code_is_kept(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv('NUMBA_CACHE_DIR', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    monkeypatch.setattr(sys, 'platform', 'linux')
    assert loading.cache_folder() == tmp_path / 'bcm_pyg'
    assert (tmp_path / 'bcm_pyg').is_dir()
    assert not list((tmp_path / 'bcm_pyg').iterdir())
    (tmp_path / 'file').touch()
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'file'))
    assert loading.cache_folder() is None
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'new' / 'one'))
    assert loading.cache_folder() == tmp_path / 'new' / 'one'

    def homeless() -> Path:
        raise RuntimeError('no home')

    monkeypatch.setattr(Path, 'home', homeless)
    assert loading.cache_folder() == tmp_path / 'new' / 'one'
    monkeypatch.delenv('NUMBA_CACHE_DIR')
    monkeypatch.delenv('XDG_CACHE_HOME')
    assert loading.cache_folder() is None


def test_nothing_is_compiled_before_a_planner_is_built() -> None:
    # torch_geometric imports numba itself where it is installed.
    code = (
        'import sys, bcm_pyg, bcm_pyg.planning, bcm_pyg.baselines; '
        "assert 'bcm_pyg.kernels.compiled' not in sys.modules"
    )
    subprocess.run([sys.executable, '-c', code], check=True)


def test_compiling_is_announced(
    grid: Data, caplog: pytest.LogCaptureFixture, tmp_path, monkeypatch
) -> None:
    """By the mark in the cache folder; kernels themselves are loaded."""
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    with caplog.at_level(logging.WARNING, logger='bcm_pyg'):
        for _ in range(2):
            monkeypatch.setattr(loading, '_LOADED', [])
            Planner(BCM.from_data(grid), grid)
    assert len(caplog.records) == 1
    assert 'compiling the readouts, once' in caplog.text

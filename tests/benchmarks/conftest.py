"""Results, pictures and maps of the benchmarks go to temporary folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.lib import results, trained_maps


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where they are: ``results``, ``quick`` and ``cache``."""
    monkeypatch.setattr(results, 'RESULTS', tmp_path / 'results')
    monkeypatch.setattr(results, 'QUICK_FOLDER', tmp_path / 'quick')
    monkeypatch.setattr(trained_maps, 'CACHE', tmp_path / 'cache')
    monkeypatch.setattr(trained_maps, 'MAPS', tmp_path / 'maps')
    return tmp_path

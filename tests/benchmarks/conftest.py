"""Results, pictures and maps of the benchmarks go to temporary folders."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def places(tmp_path, monkeypatch) -> Path:
    """Results, pictures and maps go to a folder of their own."""
    from benchmarks.lib import jobs as experiment
    from benchmarks.lib import results as common

    monkeypatch.setattr(common, 'RESULTS', tmp_path / 'results')
    monkeypatch.setattr(common, 'CACHE', tmp_path / 'cache')
    monkeypatch.setattr(experiment, 'QUICK_FOLDER', tmp_path / 'quick')
    return tmp_path

"""The benchmarks are scripts, not a package: their folder goes on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / 'benchmarks'
sys.path.insert(0, str(FOLDER))


@pytest.fixture
def places(tmp_path, monkeypatch) -> Path:
    """Results, pictures and maps go to a folder of their own."""
    import common
    import experiment

    monkeypatch.setattr(common, 'RESULTS', tmp_path / 'results')
    monkeypatch.setattr(common, 'CACHE', tmp_path / 'cache')
    monkeypatch.setattr(experiment, 'QUICK_FOLDER', tmp_path / 'quick')
    return tmp_path

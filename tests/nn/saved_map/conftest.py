from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import tiny_map
from torch_geometric.data import Data

from bcm_pyg.graph import fingerprint
from bcm_pyg.nn import MapInfo
from bcm_pyg.nn.encoders import resolver


@pytest.fixture(autouse=True)
def _own_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(resolver, '_ENCODERS', dict(resolver._ENCODERS))
    yield


@pytest.fixture
def saved(diamond: Data, tmp_path: Path) -> Path:
    """The folder of a small map of the diamond."""
    model = tiny_map(diamond)
    model.info = MapInfo(fingerprint(diamond))
    model.save(tmp_path / 'map')
    return tmp_path / 'map'

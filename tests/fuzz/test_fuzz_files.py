"""Whatever is in a file: a graph, or one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hostile import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_files import FILES
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph


@pytest.mark.parametrize('name', FILES)
def test_whole_files_are_read(name: str, tmp_path: Path) -> None:
    """So that what is refused below is refused for its damage."""
    content, read = FILES[name]
    (tmp_path / name).write_bytes(content)
    read(tmp_path / name)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', FILES)
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_damaged_files(name: str, tmp_path: Path, data: st.DataObject) -> None:
    content, read = FILES[name]
    path = tmp_path / name
    path.write_bytes(data.draw(damaged(content)))
    try:
        out = read(path)
    except BCMError as error:
        assert str(error)
        return
    if isinstance(out, Data):
        planning_graph(out)
        return
    assert bool((out.optimal_cost >= 0).all())
    assert out.starts.dtype == torch.long

"""Changes hit both directions of a street, and are followed by training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from bcm_pyg.datasets import weighted_grid
from benchmarks.lib.graphs import Queries, sampled
from benchmarks.lib.results import Results
from benchmarks.scripts import updates


def test_both_directions_of_a_street() -> None:
    data = weighted_grid('open', 20, 'wide', 1)
    hit, factor = updates.hit_edges(data, 0.1, seed=3)
    assert 0.05 < float(hit.float().mean()) < 0.15
    assert 0.25 <= float(factor.min()) < 0.3 and 3.5 < float(factor.max()) <= 4
    there = {
        tuple(ends): (bool(hit[k]), float(factor[k]))
        for k, ends in enumerate(data.edge_index.T.tolist())
    }
    assert all(there[head, tail] == one for (tail, head), one in there.items())
    again, _ = updates.hit_edges(data, 0.1, seed=3)
    other, _ = updates.hit_edges(data, 0.1, seed=4)
    assert torch.equal(hit, again) and not torch.equal(hit, other)


def test_rows(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = weighted_grid('open', 8, 'wide', 1)

    def load(name: str, pairs: int) -> tuple[Data, Queries]:
        return data, sampled(data, pairs)

    monkeypatch.setattr(updates, 'load', load)
    monkeypatch.setattr(updates, 'PARTS', (0.0, 0.1))
    monkeypatch.setattr(updates, 'WANTED', -1.0)  # nothing is good enough
    updates.main('--quick --graphs toy'.split())
    rows: list[dict[str, Any]] = Results('updates', folders / 'quick').rows
    assert [row['change'] for row in rows] == list(updates.CHANGES)
    for row in rows:
        assert [part['steps'] for part in row['shares']] == [0, 3]
        for part in row['shares']:
            assert part['kept']['success_rate'] == 1
            assert part['chosen']['success_rate'] == 1
            assert part['readout'].startswith('Corridor(')

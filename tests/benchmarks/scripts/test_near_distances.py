from __future__ import annotations

import json
from pathlib import Path

import pytest
from torch_geometric.data import Data

from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import simplify_graph
from benchmarks.lib.graphs import Queries, sampled
from benchmarks.lib.results import Results
from benchmarks.scripts import near_distances
from benchmarks.tables.real import near_distances as near_distances_table


def test_near_distances(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = weighted_grid('ushape', 10, 'wide', 1)

    def load(name: str, pairs: int) -> tuple[Data, Queries]:
        assert name == 'w_jinan'
        return data, sampled(data, 20)

    monkeypatch.setattr(near_distances, 'load', load)
    monkeypatch.setattr(near_distances, 'simplified', simplify_graph)
    monkeypatch.setattr(near_distances, 'sampling', lambda name: {})
    assert near_distances_table() == 'not run yet.'
    for _ in range(2):  # the second time there is nothing to do
        near_distances.main('--quick --graphs w_jinan'.split())
    path = folders / 'quick' / 'near_distances.json'
    rows = json.loads(path.read_text())['rows']
    assert [row['targets'] for row in rows] == ['sweeps', 'exact']
    for row in rows:
        shares = [found['exact'] for found in row['within'].values()]
        assert shares == sorted(shares) and shares[-1] == 1
        assert row['within']['1000']['mre'] < 1e-3 < row['within']['0']['mre']
        Results('near_distances').add(row)
    first, second = near_distances_table().splitlines()[2:]
    assert first.startswith('| w_jinan, self-supervised | 20 | 0.0')
    assert second.startswith('| w_jinan, labels | 20 | ')
    assert '| 0.00, 100, ' in first

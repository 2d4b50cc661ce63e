from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.data import Data

from bcm_pyg import BCM
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import simplify_graph
from benchmarks.lib.graphs import Queries, sampled
from benchmarks.lib.results import Results
from benchmarks.lib.trained_maps import trained_map
from benchmarks.scripts import near_distances
from benchmarks.tables.roads import SEARCH_TIME, SURVEY, jinan
from benchmarks.tables.roads import near_distances as near_distances_table


def test_near_distances(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = weighted_grid('ushape', 10, 'wide', 1)

    def load(name: str, pairs: int) -> tuple[Data, Queries]:
        assert name == 'w_jinan'
        return data, sampled(data, 20)

    trained = []

    def train(name: str, *args: Any, **kwargs: Any) -> BCM:
        trained.append(name)
        return trained_map(name, *args, **kwargs)

    monkeypatch.setattr(near_distances, 'load', load)
    monkeypatch.setattr(near_distances, 'trained_map', train)
    monkeypatch.setattr(near_distances, 'simplified', simplify_graph)
    assert near_distances_table() == 'not run yet.'
    for _ in range(2):  # the second time there is nothing to do
        near_distances.main('--quick --graphs w_jinan'.split())
    assert len(trained) == 8  # those of landmarks alone have no map
    path = folders / 'quick' / 'near_distances.json'
    rows = json.loads(path.read_text())['rows']
    ways = [(row['map'], row['targets'], row['landmarks']) for row in rows]
    kinds = [(True, 'sweeps'), (True, 'exact'), (False, 'sweeps')]
    assert ways == [
        (*kind, number)
        for kind in kinds
        for number in (0, 8, 16, 48)
        if number > 0 or kind[0]
    ]
    for row in rows:
        shares = [found['exact'] for found in row['within'].values()]
        assert shares == sorted(shares) and shares[-1] == 1
        assert row['within']['1000']['mre'] < 1e-3 < row['within']['0']['mre']
        assert (row['landmark_bytes'] > 0) == (row['landmarks'] > 0)
        Results('near_distances').add(row)
    lines = near_distances_table().splitlines()[2:]
    assert lines[0].startswith('| w_jinan | a map, self-supervised | 0.0')
    assert lines[5].startswith('| w_jinan | a map, labels + 8 landmarks | ')
    assert lines[9].startswith('| w_jinan | 16 landmarks | ')
    assert all('| 0.00, 100, ' in line for line in lines)
    lines = jinan().splitlines()[2:]
    ours = [line for line in lines if line.startswith('| a map')]
    assert len(lines) - len(ours) == len(SURVEY)
    labels = [line.split(' | ')[1] for line in ours]
    assert labels.count('none') == labels.count('labels')
    for line in ours:
        assert float(line.split(' | ')[4].rstrip(' |')) <= SEARCH_TIME
    assert sum('exact_within' in line for line in ours) == len(ours) / 2

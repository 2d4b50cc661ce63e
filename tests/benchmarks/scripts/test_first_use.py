from __future__ import annotations

import json
from pathlib import Path
from time import sleep

import pytest
import torch

from benchmarks.lib import cpu_time
from benchmarks.lib.results import Results
from benchmarks.scripts import first_use
from benchmarks.scripts.first_use import crossover, times_of
from benchmarks.tables import first_use as tables


def test_nothing_run(folders: Path) -> None:
    assert tables.first_use() == tables.distances() == 'not run yet'
    assert tables.crossovers() == 'not run yet'
    assert tables.imports() == 'not run yet.'


def test_crossover() -> None:
    curve = [(1, 2.0), (2, 3.0), (4, 5.0)]
    assert crossover(curve, 1.0) == 1  # one goal takes longer already
    assert crossover(curve, 3.0) == 2
    assert crossover(curve, 4.0) == 3  # halfway
    assert crossover(curve, 6.0) is None


def test_times_are_those_of_the_fastest_repeat() -> None:
    pauses = iter([0.0, 0.05, 0.01, 0.05])  # the first is not timed
    times = times_of([lambda: sleep(next(pauses))], 3)
    assert 0.01 <= times.wall < 0.05 and times.cpu < times.wall


def test_learn_and_distance(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = torch.get_num_threads()
    flags = ['--quick', '--pairs', '5', '--budget', '0.2']
    monkeypatch.setattr(cpu_time, 'WARM', 1)
    monkeypatch.setattr(cpu_time, 'TIMED', 4)
    try:
        for _ in range(2):  # the second time there is nothing to do
            first_use.main([*flags, '--learn', '--distance'])
        first_use.main([*flags, '--learn', '--cpu'])
    finally:
        torch.set_num_threads(threads)
    path = folders / 'quick' / 'first_use.json'
    learned, timed, by_cpu = json.loads(path.read_text())['rows']
    assert learned['nodes'] == 84  # the U of side 10 without its walls
    assert learned['success_rate'] == 1 and learned['gap'] >= 0
    assert learned['route_ms'] > 0 and learned['threads'] == 1
    assert 0 < timed['distance_error'] < 10
    sizes = [size for size, _ in timed['curve']]
    assert sizes == [2**k for k in range(len(sizes))]
    assert (learned['clock'], by_cpu['clock']) == ('wall', 'cpu')
    assert by_cpu['steps'] > 0 and by_cpu['train_cpu_seconds'] > 0
    for row in (learned, timed):
        Results('first_use').add(row)
    assert '| ushape10 | 84 | 0 on the clock | ' in tables.first_use()
    assert '| U, wide | 1,600 | ' in tables.distances()
    assert ' of a start | ' in tables.crossovers()
    goals = [tables._goals({'crossover': x}) for x in (None, 1, 1200)]
    assert goals == ['never', '1 goal of a start', '1,200 goals of a start']


def test_imports(folders: Path) -> None:
    row = {'part': 'imports', 'load': 0.5}
    for name, seconds in (
        ('package', 0.001),
        ('all_names', 0.25),
        ('torch_geometric', 3.0),
    ):
        row |= {f'{name}_seconds': seconds, f'{name}_cpu_seconds': seconds}
    Results('first_use').add(row)
    assert tables.imports().startswith('`import bcm_pyg` adds 0.001 s to ')

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from bcm_pyg import BCM, FitConfig, Planner, fit
from bcm_pyg.datasets import weighted_grid
from benchmarks.lib import cpu_time
from benchmarks.lib.cpu_time import fit_for_cpu_seconds
from benchmarks.lib.graphs import Grid
from benchmarks.lib.methods import map_steps
from benchmarks.lib.results import Results
from benchmarks.lib.trained_maps import grid_map_name, map_job
from benchmarks.scripts import distillation, headline, tuning, widths
from benchmarks.tables.widths import (
    distillation_table,
    headline_table,
    tuning_table,
    widths_table,
)


def test_nothing_run(folders: Path) -> None:
    tables = [headline_table, widths_table, tuning_table]
    tables.append(distillation_table)
    assert {table() for table in tables} == {'not run yet.'}


def test_a_budget_of_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, 'WARM', 1)
    monkeypatch.setattr(cpu_time, 'TIMED', 4)
    data = weighted_grid('ushape', 10, 'wide', 1)
    model = BCM.from_data(data, hidden_channels=8, channels=4)
    config = FitConfig(steps=1, seed=3, validation_queries=0)
    history, step = fit_for_cpu_seconds(model, data, config, 0.05)
    assert history.steps == max(1, round(50 / step))
    assert model.info.training['config']['seed'] == 3


def test_widths(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, 'WARM', 1)
    monkeypatch.setattr(cpu_time, 'TIMED', 2)
    threads = torch.get_num_threads()
    flags = '--quick --cpu --budget 0.02 --pairs 5 --graphs ushape40'
    try:
        for _ in range(2):  # the second time there is nothing to do
            widths.main([*flags.split(), '--widths', '8', '--channels', '4'])
    finally:
        torch.set_num_threads(threads)
    path = folders / 'quick' / 'widths.json'
    (row,) = json.loads(path.read_text())['rows']
    # By hand: tables of 10 + 10 rows, three layers.
    assert row['parameters'] == 20 * 4 + (12 * 8 + 8) + 2 * (8 * 8 + 8)
    assert row['float32_bytes'] == 4 * row['parameters']
    assert row['int8_bytes'] < row['float32_bytes'] / 2
    assert row['graph_bytes'] == 4 * 101 + 8 * 262
    assert row['clock'] == 'cpu' and row['hop_us'] > 0
    for seed, gap in ((42, 1.0), (111, 2.0)):
        own = {**row, 'graph': 'ushape40', 'seed': seed, 'gap': gap}
        Results('widths').add(own)
    lines = widths_table().splitlines()
    assert len(lines) == 3
    assert lines[2].startswith('| U, wide, N = 1600 | 8, 4 | 328 | 1.3 | 0.')
    assert '| 1.50 ± 0.71 |' in lines[2]


def test_tuning(folders: Path) -> None:
    row = {'side': 40, 'cpu_seconds': 90.0, 'name': 'default', 'steps': 7_000}
    row |= {'step_ms': 12.34, 'distance_error': 3.0}
    for seed, gap in ((7, 1.0), (8, 2.0)):
        Results('tuning').add({**row, 'seed': seed, 'gap': gap})
    assert tuning_table().splitlines()[2] == (
        '| U, wide, N = 1,600 | 90 | default | 7,000 / 7,000 | 12.3 / 12.3 | '
        '1.00 / 2.00 | 3.00 / 3.00 | 7, 8 |'
    )
    assert len(tuning.ROWS) <= 12 and tuning.ROWS['default'] == {}


def test_headline(folders: Path) -> None:
    for _ in range(2):  # the second time there is nothing to do
        headline.main('--quick --pairs 5 --rows tiny40'.split())
    path = folders / 'quick' / 'headline.json'
    (row,) = json.loads(path.read_text())['rows']
    # By hand: tables of 10 + 10 rows, three layers.
    first, rest = 96 * 32 + 32, 32 * 32 + 32
    assert row['parameters'] == 20 * 32 + first + 2 * rest
    assert row['train_steps'] == headline.QUICK_STEPS
    assert row['ended_by'] == 'steps' and len(row['curve']) > 0
    for seed, gap in ((42, 1.0), (111, 2.0)):
        Results('headline').add({**row, 'side': 40, 'seed': seed, 'gap': gap})
    (line,) = headline_table().splitlines()[2:]
    assert line.startswith('| U, wide, N = 1,600 | 5,856 (32, 32) | ')
    assert '| 1.50 ± 0.71 |' in line and '| 5.07 | 42, 111 |' in line


#: Rows of the headline whose maps tables have too.
SHARED = 'wide20 wide40 mild40 uniform40 wide60 demo40 wide100 wide200'.split()


def test_maps_of_the_headline_are_those_of_the_tables() -> None:
    args = headline.FLAGS.parse_args(['--by-steps'])
    jobs = {job.key['row']: job.key for job in headline.jobs_of(args)}
    names = {}
    for name, row in headline.ROWS.items():
        grid = Grid('ushape', row.side, row.costs, 42)
        steps = jobs[name]['budget_steps']
        names[name] = headline.map_name(row, grid, steps)
        if name in SHARED:
            assert names[name] == grid_map_name(grid, 'sweeps', steps)
            share = 0.3 if name == 'demo40' else 1.0
            assert steps == map_steps('sweeps', row.side, row.costs, share)
    assert names['wide40'] == 'ushape-wide-40-sweeps-59406steps-42'
    assert {name: names[name] for name in names if name not in SHARED} == {
        'mid40': 'ushape-wide-40-96x64-59406steps-42',
        'small40': 'ushape-wide-40-64x32-109091steps-42',
        'tiny40': 'ushape-wide-40-32x32-130435steps-42',
    }


def test_maps_by_the_clock_have_their_size_in_their_names() -> None:
    args = headline.FLAGS.parse_args(['--rows', 'demo40'])
    (job,) = headline.jobs_of(args)
    assert job.key['budget_steps'] is None
    row, grid = headline.ROWS['demo40'], Grid('ushape', 40, 'wide', 42)
    assert headline.map_name(row, grid, None) == 'ushape-wide-40-128x64-180s-42'


def table_args(**changes: Any) -> Namespace:
    plain = {'quick': False, 'budget': 2 / 13_187, 'pairs': 5}
    return Namespace(**{**plain, 'cached_only': False, **changes})


def test_tables_find_the_maps_of_the_headline(folders: Path) -> None:
    row = headline.ROWS['wide20']
    grid = Grid('ushape', 20, 'wide', 42)
    key = {'seed': 42, 'budget_steps': 2, 'num_queries': 5}
    found = headline.measure_headline(row, key, keep=True)
    assert found['map'] == 'ushape-wide-20-sweeps-2steps-42'
    (folder,) = (folders / 'maps').iterdir()
    assert folder.name == found['map']
    same = map_job(grid, 'sweeps', table_args(cached_only=True)).run()
    assert same is not None
    assert same['train_cpu_seconds'] == found['train_cpu_seconds']
    assert same['parameters'] == found['parameters']
    (curve,) = Results('learning_curves').rows
    assert curve['curve'] == found['curve'] and curve['targets'] == 'sweeps'


def test_the_headline_finds_the_maps_of_tables(folders: Path) -> None:
    grid = Grid('ushape', 20, 'wide', 111)
    row = map_job(grid, 'sweeps', table_args()).run()
    assert row is not None
    key = {'seed': 111, 'budget_steps': 2, 'num_queries': 5}
    found = headline.measure_headline(headline.ROWS['wide20'], key, keep=True)
    assert found['train_seconds'] == row['train_seconds']
    assert len([*(folders / 'maps').iterdir()]) == 1


def test_distillation(folders: Path) -> None:
    for _ in range(2):  # the second time there is nothing to do
        distillation.main('--quick --pairs 5 --budget 0.02'.split())
    path = folders / 'quick' / 'distillation.json'
    alone, taught = json.loads(path.read_text())['rows']
    assert not alone['taught'] and taught['taught']
    for row, gap in ((alone, 1.0), (taught, 2.0)):
        more = {'gap': gap, 'distance_error': 3.0}
        if row['taught']:
            more['teacher_gap'] = 4.0
        Results('distillation').add({**row, **more})
    first, second = distillation_table().splitlines()[2:]
    assert '| the graph | 1.00 | 3.00 | - | 7 |' in first
    assert '| 2.00 | 3.00 | 4.00 | 7 |' in second


def test_a_student_gets_what_its_teacher_says() -> None:
    data = weighted_grid('open', 4, 'wide', 1)
    teacher = Planner(BCM.from_data(data, hidden_channels=8), data)
    seen: list[torch.Tensor] = []

    @dataclass(frozen=True, kw_only=True)
    class Seen(distillation.TeacherTargets):
        def values(self, blocks: Any, goals: torch.Tensor) -> torch.Tensor:
            out = super().values(blocks, goals)
            nodes = torch.arange(16)
            wanted = teacher.distance_matrix(nodes, goals)
            seen.append(out * blocks.model.cost_scale - wanted)
            return out

    fit(BCM.from_data(data), data, steps=2, targets=Seen(teacher=teacher))
    assert seen and all(off.abs().max() < 1e-3 for off in seen)

"""Measurements agree with their definitions."""

import json

import numpy as np
import pytest
import torch

from bcm_pyg import evaluate
from bcm_pyg.baselines import APF, Dijkstra
from bcm_pyg.datasets import sample_queries
from benchmarks.lib import measure as measure_module
from benchmarks.lib.graphs import Grid, Queries
from benchmarks.lib.measure import baseline_job, measure, quality


def test_measure_agrees_with_its_definitions(grid):
    starts, goals = sample_queries(grid, 60)
    plan, best = APF(grid)(starts, goals), Dijkstra(grid)(starts, goals).cost
    row = measure(APF(grid), grid, starts, goals)
    found = [n for n in range(60) if plan.success[n]]
    assert 0 < len(found) < 60
    ratio = [float(best[n] / plan.cost[n]) for n in found]
    assert row['success_rate'] == len(found) / 60
    assert row['efficiency'] == pytest.approx(np.mean(ratio))
    assert row['wspl'] == pytest.approx(np.sum(ratio) / 60)
    gaps = [100 * (1 / share - 1) for share in ratio]
    assert row['gap'] == pytest.approx(np.mean(gaps))
    assert row['gap_sd'] == pytest.approx(np.std(gaps, ddof=1))


def test_quality_is_what_evaluate_says(grid):
    starts, goals = sample_queries(grid, 60)
    queries = Queries(starts, goals, Dijkstra(grid)(starts, goals).cost)
    row = quality(APF(grid), grid, queries)
    report = evaluate(APF(grid), grid, starts, goals)
    assert row['success_rate'] == report.success_rate < 1
    assert row['gap'] == pytest.approx(report.gap)
    assert row['expansions'] == report.expansions
    assert row['seconds_per_query'] > 0


def test_measure_of_nothing_reached(grid):
    start = int(grid.edge_index[0, 0])
    blocked = int(grid.blocked.nonzero()[0, 0])
    ends = torch.tensor([start]), torch.tensor([blocked])
    row = measure(Dijkstra(grid), grid, *ends)
    assert row['gap'] is None and row['efficiency'] is None
    json.dumps(row, allow_nan=False)


def test_baselines_that_are_not_installed_are_left_out(monkeypatch):
    missing = measure_module.BASELINES['cch']._replace(package='no_such_one')
    monkeypatch.setitem(measure_module.BASELINES, 'cch', missing)
    assert baseline_job(Grid('open', 4, 'wide', 0), 'cch', 5).run() is None

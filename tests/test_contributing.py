"""The recipes of CONTRIBUTING.md, followed to the letter."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from helpers import assert_sound
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, FitConfig, Planner, evaluate, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import simplify_graph
from bcm_pyg.nn import check_encoder
from bcm_pyg.nn.encoders import resolver
from bcm_pyg.planning import Greedy

TEXT = (Path(__file__).parents[1] / 'CONTRIBUTING.md').read_text()


def recipe(thing: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The one code block below a heading, imported as a module."""
    part = re.search(
        rf'^## Add an? {thing}\n(.*?)(?=^## |\Z)', TEXT, re.M | re.S
    )
    assert part is not None
    (code,) = re.findall(r'^```python\n(.*?)^```$', part[1], re.M | re.S)
    module = ModuleType(f'my_{thing}')
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code, module.__dict__)
    return module


@pytest.fixture
def data() -> Data:
    return weighted_grid('open', side=6)


def test_encoder(
    data: Data, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resolver, '_ENCODERS', dict(resolver._ENCODERS))
    encoder = recipe('encoder', monkeypatch).MyEncoder.from_data(data)
    check_encoder(encoder, data)
    model = BCM.from_data(data, 'mine', channels=16)
    fit(model, data, FitConfig(steps=3, validation_queries=0))
    model.save(tmp_path / 'map')
    loaded = BCM.load(tmp_path / 'map', data)
    assert type(loaded.encoder) is type(encoder)
    assert torch.equal(loaded.encode(data), model.encode(data))


def test_readout(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    one_step = recipe('readout', monkeypatch).OneStep()
    model = BCM.from_data(data)
    starts, goals = sample_queries(data, 60)
    goals[0] = starts[0]
    one = Planner(model, data, one_step, complete=False)(starts, goals)
    many = Planner(model, data, readout=Greedy())(starts, goals)
    assert one.path(0) == [int(starts[0])] and one.cost[0] == 0
    reached = many.success & (many.hops <= 1)
    assert 1 < int(reached.sum()) < 60
    assert torch.equal(one.success, reached)
    assert torch.equal(one.cost[reached], many.cost[reached])
    whole = Planner(model, data, one_step)(starts, goals)
    assert_sound(whole, data, starts.tolist(), goals.tolist())


def test_scorer(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = recipe('scorer', monkeypatch).StraightLine(data)
    starts, goals = sample_queries(data, 60)
    planner = Planner(scorer, data, 'best_first')
    report = evaluate(planner, data, starts, goals)
    # No edge is cheaper than it is long: a lower bound, and so exact.
    assert report.success_rate == 1
    assert report.gap == pytest.approx(0, abs=1e-6)


def test_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    fewest_hops = recipe('baseline', monkeypatch).FewestHops
    data = weighted_grid('open', side=20)
    starts, goals = sample_queries(data, 200)
    report = evaluate(fewest_hops(data), data, starts, goals)
    exact = evaluate(Dijkstra(data), data, starts, goals)
    assert report.success_rate == 1
    assert report.hops < exact.hops and report.gap > 0
    data = weighted_grid('ushape', side=10)  # with isolated nodes
    starts, goals = torch.cartesian_prod(torch.arange(100), torch.arange(100)).T
    plan = fewest_hops(data)(starts, goals)
    assert plan.success.equal(Dijkstra(data)(starts, goals).success)


def test_baseline_on_a_simplified_graph(
    andorra: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    planner = recipe('baseline', monkeypatch).FewestHops(
        simplify_graph(andorra)
    )
    report = evaluate(planner, andorra, *sample_queries(andorra, 50))
    assert report.success_rate == 1


def test_converter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read_segments = recipe('converter', monkeypatch).read_segments
    path = tmp_path / 'segments.txt'
    path.write_text('0 0 1 0 2.5\n1 0 1 1 1\n1 1 0 0 4\n')
    data = read_segments(path)
    assert data.num_nodes == 3 and data.num_edges == 3
    plan = Dijkstra(data)(0, [0, 1, 2])
    assert plan.cost.tolist() == [0, 2.5, 3.5]
    path.write_text('0 0 1 0\n')
    with pytest.raises(BCMError, match='cannot read'):
        read_segments(path)
    with pytest.raises(BCMError, match='cannot read'):
        read_segments(tmp_path / 'none')
    path.write_text('0 0 1 0 -1\n')
    with pytest.raises(BCMError, match='edge_cost'):
        read_segments(path)


def test_target(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = recipe('target', monkeypatch).FreshLabels(noise=0.01)
    model = BCM.from_data(data)
    before = [parameter.clone() for parameter in model.parameters()]
    config = FitConfig(steps=3, targets=targets, validation_queries=0)
    history = fit(model, data, config)
    assert history.steps == 3
    after = list(model.parameters())
    assert not all(map(torch.equal, before, after))
    assert all(bool(parameter.isfinite().all()) for parameter in after)

from __future__ import annotations

import io
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch
from helpers import ALL_ENCODERS, random_graph
from small_fits import KINDS, is_finite, small_map, tiny, weights
from torch_geometric.data import Data

from bcm_pyg import (
    BCM,
    BCMError,
    FitConfig,
    Planner,
    evaluate,
    fit,
    planning_graph,
)
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import fingerprint
from bcm_pyg.training import Block
from bcm_pyg.training.blocks import OneStepBlocks
from bcm_pyg.utils import Adjacency

TERMINALS = ['calibrated', 'paper']
NAN = float('nan')


@pytest.fixture
def islands() -> Data:
    """Two components, sinks, a source that nothing enters, lonely nodes."""
    data = planning_graph(random_graph(24, 30, seed=3))
    degree = torch.stack(
        [ids.bincount(minlength=24) for ids in data.edge_index]
    )
    assert ((degree[0] == 0) & (degree[1] > 0)).any()
    assert ((degree[0] > 0) & (degree[1] == 0)).any()
    assert (degree.sum(0) == 0).any()
    return data


def test_targets_know_how_far_a_run_is(
    grid: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, block = [], OneStepBlocks.block

    def spy(self: OneStepBlocks, step: int) -> Block:
        seen.append((step, self.done))
        return block(self, step)

    monkeypatch.setattr(OneStepBlocks, 'block', spy)
    config = FitConfig.paper(steps=4, validation_queries=4)
    fit(small_map(grid, terminal='paper'), grid, config)
    assert seen == [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75)]


@pytest.mark.parametrize('kind', ['sweeps', 'exact'])
def test_learns_a_grid(grid: Data, kind: str) -> None:
    model = BCM.from_data(grid)
    starts, goals = sample_queries(grid, 60, seed=5)
    before = evaluate(
        Planner(model, grid, 'visited_greedy'), grid, starts, goals
    )
    config = FitConfig(
        targets=kind, steps=240, sources=32, goals=8, validations=3
    )
    history = fit(model, grid, config)
    planner = Planner(model, grid, 'visited_greedy')
    report = evaluate(planner, grid, starts, goals)
    assert report.success_rate >= 0.9
    assert report.wspl >= 0.7
    assert report.wspl > before.wspl
    assert history.loss[-1] < history.loss[0] / 4
    assert history.success_rate[-1] >= 0.9


@pytest.mark.parametrize('kind', ['sweeps', 'paper'])
def test_the_loss_goes_down(kind: str) -> None:
    data = weighted_grid('open', side=4, costs='mild', seed=0)
    model = small_map(data)
    config = tiny(
        targets=kind, steps=150, sources=16, goals=8, validations=4, lr=3e-3
    )
    history = fit(model, data, config)
    assert history.loss[-1] < history.loss[0] / 2


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_any_graph(
    islands: Data, encoder: str, kind: str, terminal: str
) -> None:
    model = small_map(islands, encoder, terminal)
    before = weights(model)
    history = fit(model, islands, tiny(targets=kind, steps=4))
    assert history.steps == 4
    assert all(math.isfinite(loss) for loss in history.loss)
    assert is_finite(model)
    assert weights(model) != before
    plan = Planner(model, islands)(islands.edge_index[0], islands.edge_index[1])
    assert len(plan) == islands.num_edges


@pytest.mark.parametrize(
    'kind',
    [
        'sweeps',
        'paper',
        'exact',
    ],
)
def test_a_graph_without_queries(kind: str) -> None:
    # No two nodes reach each other, so there is nothing to validate on.
    data = Data(
        pos=torch.randn(6, 2),
        edge_index=torch.tensor([[0, 0, 1, 2, 3], [1, 2, 3, 3, 4]]),
        edge_cost=torch.tensor([1.0, 2.0, 3.0, 1.0, 1.0]),
    )
    model = small_map(data)
    before = weights(model)
    with pytest.warns(UserWarning, match='not validated'):
        history = fit(model, data, tiny(targets=kind, steps=6))
    assert history.steps == 6
    assert all(math.isnan(gap) for gap in history.gap)
    assert all(math.isnan(rate) for rate in history.success_rate)
    assert all(math.isfinite(loss) for loss in history.loss)
    assert weights(model) != before
    assert model.info.training['validation_gap'] is None
    json.dumps(model.info.training, allow_nan=False)


@pytest.mark.parametrize('kind', KINDS)
def test_the_smallest_graph(kind: str) -> None:
    data = Data(
        pos=torch.randn(2, 1),
        edge_index=torch.tensor([[0], [1]]),
        edge_cost=torch.tensor([0.0]),
    )
    model = BCM.from_data(data)
    with pytest.warns(UserWarning, match='not validated'):
        history = fit(model, data, tiny(targets=kind, steps=3))
    assert history.steps == 3
    assert is_finite(model)
    assert Planner(model, data)(0, 1).path(0) == [0, 1]


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('axes', [1, 3])
def test_other_coordinates(axes: int, kind: str) -> None:
    data = random_graph(20, 80, seed=1, axes=axes)  # float64 positions
    model = small_map(data)
    history = fit(model, data, tiny(targets=kind, steps=4))
    assert history.steps == 4
    assert is_finite(model)
    assert model.info.fingerprint == fingerprint(planning_graph(data))


def test_history_and_record(grid: Data) -> None:
    called: list[tuple[int, dict[str, float]]] = []
    model = small_map(grid)
    assert model.info.fingerprint is None
    config = tiny(steps=20, validations=3)
    history = fit(
        model, grid, config, callback=lambda *args: called.append(args)
    )
    assert history.steps == history.step[-1] == 20
    assert history.interrupted is False
    assert history.rows_per_second > 0
    entries = [
        history.step,
        history.seconds,
        history.loss,
        history.gap,
        history.success_rate,
    ]
    assert {len(entry) for entry in entries} == {3 + 1}
    assert history.step == sorted(set(history.step))
    assert history.seconds == sorted(history.seconds)
    assert all(0 <= rate <= 1 for rate in history.success_rate)
    assert [step for step, _ in called] == history.step
    assert [metrics['loss'] for _, metrics in called] == history.loss
    for _, metrics in called:
        assert set(metrics) == {'loss', 'gap', 'success_rate', 'seconds'}

    assert model.info.fingerprint == fingerprint(grid)
    record = json.loads(json.dumps(model.info.training, allow_nan=False))
    assert record['steps'] == 20
    assert record['seconds'] >= history.seconds[-1]
    assert record['validation_success_rate'] == history.success_rate[-1]
    assert FitConfig.from_dict(record['config']).sources == config.sources


def test_without_validation(grid: Data) -> None:
    model = small_map(grid)
    config = tiny(steps=5, validation_queries=0, validations=0)
    history = fit(model, grid, config)
    assert history.step == [5]
    assert math.isnan(history.gap[0])
    assert math.isfinite(history.loss[0])


def test_no_steps(grid: Data, capsys: pytest.CaptureFixture[str]) -> None:
    model = small_map(grid)
    before = weights(model)
    history = fit(model, grid, tiny(steps=0), progress=True)
    capsys.readouterr()
    assert history.steps == 0
    assert history.step == [0]
    assert weights(model) == before
    assert model.info.training['steps'] == 0


@pytest.mark.parametrize('kind', KINDS)
def test_same_seed_same_map(grid: Data, kind: str) -> None:
    start = small_map(grid).state_dict()

    def train(seed: int) -> tuple[dict[str, list[Any]], list[float]]:
        model = small_map(grid)
        model.load_state_dict(start)
        torch.manual_seed(seed + 100)  # must not matter
        history = fit(model, grid, tiny(targets=kind, steps=5, seed=seed))
        return weights(model), history.loss

    assert train(1) == train(1)
    assert train(1)[0] != train(2)[0]


@pytest.mark.parametrize('kind', KINDS)
def test_the_global_generator_is_left_alone(islands: Data, kind: str) -> None:
    for data in (islands, weighted_grid('open', side=4)):
        model = small_map(data)
        state = torch.get_rng_state()
        fit(model, data, tiny(targets=kind, steps=3))
        assert torch.equal(state, torch.get_rng_state())


def test_time_budget(grid: Data) -> None:
    model = small_map(grid)
    began = time.perf_counter()
    history = fit(model, grid, tiny(time_budget=0.5))
    spent = time.perf_counter() - began
    assert history.steps > 3
    assert 0.5 <= history.seconds[-1] <= spent < 5  # on a busy machine
    history = fit(model, grid, tiny(time_budget=0.5, validation_queries=0))
    assert history.steps > 3
    # A budget of steps that is spent first ends it.
    history = fit(model, grid, tiny(time_budget=100, steps=3))
    assert history.steps == 3
    assert history.seconds[-1] < 50


@pytest.mark.parametrize('training', [True, False])
def test_mode_is_restored(grid: Data, training: bool) -> None:
    model = small_map(grid).train(training)
    fit(model, grid, tiny(steps=1))
    assert model.training is training
    torch.nn.init.constant_(model.transition.lin2.weight, NAN)
    with pytest.raises(BCMError):
        fit(model, grid, tiny(steps=1))
    assert model.training is training


def test_inputs_are_left_alone(islands: Data) -> None:
    raw = random_graph(24, 30, seed=3)
    before = raw.clone()
    fit(small_map(raw), raw, tiny(steps=2))
    assert raw.keys() == before.keys()
    for key in before.keys():
        assert torch.equal(raw[key], before[key])


def test_bad_inputs(grid: Data) -> None:
    with pytest.raises(BCMError, match='model must be a BCM'):
        fit(torch.nn.Linear(2, 2), grid, tiny(steps=1))
    with pytest.raises(BCMError, match='edge_index'):
        fit(small_map(grid), Data(pos=grid.pos), tiny(steps=1))
    frozen = small_map(grid).requires_grad_(False)
    with pytest.raises(BCMError, match='no trainable parameters'):
        fit(frozen, grid, tiny(steps=1))


@pytest.mark.parametrize('progress', [True, False])
def test_progress(
    grid: Data, progress: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(small_map(grid), grid, tiny(steps=20), progress=progress)
    out, err = capsys.readouterr()
    assert out == ''
    shown = ('20/20', 'loss', 'Gap', 'left')
    assert all(word in err for word in shown) if progress else err == ''
    fit(small_map(grid), grid, tiny(time_budget=0.2), progress=progress)
    out, err = capsys.readouterr()
    assert out == ''
    assert (err != '') is progress


def test_what_does_not_change_is_found_once(
    grid: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    names = (
        'planning_graph',
        'fingerprint',
        'shortest_distances',
        'hop_diameter',
        'sample_queries',
    )
    for module in [*sys.modules.values()]:
        for name in names:
            if not getattr(module, '__name__', '').startswith('bcm_pyg'):
                continue
            function = vars(module).get(name)
            if not isinstance(function, FunctionType):
                continue

            def counted(
                *args: Any,
                name: str = name,
                function: Callable[..., Any] = function,
                **kwargs: Any,
            ) -> Any:
                calls[name] += 1
                return function(*args, **kwargs)

            monkeypatch.setattr(module, name, counted)
    made = []
    build = Adjacency.__init__
    monkeypatch.setattr(
        Adjacency,
        '__init__',
        lambda self, *args: made.append(self) or build(self, *args),
    )
    model = small_map(grid)
    calls.clear()
    config = tiny(steps=44, validations=10)
    history = fit(model, grid, config, checkpoint=tmp_path / 'run')
    assert len(history.step) == 11
    assert calls['shortest_distances'] == 1
    assert calls['hop_diameter'] == 1
    assert calls['sample_queries'] == 1
    # By fit, the map, the queries and the planner; of fingerprints by two.
    assert calls['planning_graph'] <= 4
    assert calls['fingerprint'] <= 2
    assert len(made) <= 1


def test_training_calls_the_map(grid: Data) -> None:
    """So hooks see every step."""
    model, shapes = small_map(grid), []
    model.register_forward_hook(
        lambda module, args, out: shapes.append(tuple(out.shape))
    )
    fit(model, grid, tiny(steps=5))
    assert len(shapes) == 5
    assert all(num_goals == 4 for _, num_goals in shapes)


def test_a_callback_must_be_callable(grid: Data) -> None:
    with pytest.raises(BCMError, match=r'callback must be callable \(got 5\)'):
        fit(small_map(grid), grid, tiny(steps=1), callback=5)  # type: ignore[arg-type]


def test_fields_of_the_config_are_keywords(grid: Data) -> None:
    short, long = small_map(grid), small_map(grid)
    long.load_state_dict(short.state_dict())
    config = tiny(steps=9)
    fit(short, grid, config, steps=3, lr=1e-3)
    fit(long, grid, replace(config, steps=3, lr=1e-3))
    assert weights(short) == weights(long)
    history = fit(short, grid, steps=1, validation_queries=0)
    assert history.steps == 1
    assert short.info.training['config']['time_budget'] is None
    with pytest.raises(BCMError, match='a keyword of fit must be.*num_epochs'):
        fit(short, grid, num_epochs=3)
    with pytest.raises(BCMError, match='steps must be an int'):
        fit(short, grid, steps=-1)


@pytest.mark.parametrize('looking', [True, False])
def test_progress_by_default(
    grid: Data, looking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, 'isatty', lambda: looking, raising=False)
    monkeypatch.setattr(sys, 'stderr', shown)
    fit(small_map(grid), grid, tiny(steps=2))
    assert (shown.getvalue() != '') is looking

"""Runs that end early: interrupted, or with an error."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from small_fits import KINDS, is_finite, small_map, tiny, weights
from torch_geometric.data import Data

from bcm_pyg import BCMError, Planner, fit
from bcm_pyg.graph import fingerprint
from bcm_pyg.training import blocks

NAN = float('nan')


@pytest.mark.parametrize('after', [0, 4])
def test_interrupted_in_a_step(
    grid: Data, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = blocks.OneStepBlocks.block

    def block(self: blocks.OneStepBlocks, step: int) -> blocks.Block:
        if step == after:
            raise KeyboardInterrupt
        return original(self, step)

    monkeypatch.setattr(blocks.OneStepBlocks, 'block', block)
    model = small_map(grid).eval()
    history = fit(model, grid, tiny(targets='paper', steps=50))
    assert history.interrupted is True
    assert history.steps == history.step[-1] == after
    assert not model.training
    assert model.info.training['steps'] == after
    assert model.info.fingerprint == fingerprint(grid)
    assert is_finite(model)
    assert len(Planner(model, grid)([0], [5])) == 1


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C means what it usually does, also in a job in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signal_at(*steps: int) -> Callable[[blocks.PooledBlocks, int], Any]:
    """Ctrl-C while the block of a step is made."""
    original = blocks.PooledBlocks.block

    def block(self: blocks.PooledBlocks, step: int) -> blocks.Block:
        for _ in range(steps.count(step)):
            signal.raise_signal(signal.SIGINT)
        return original(self, step)

    return block


@pytest.mark.usefixtures('ctrl_c')
def test_ctrl_c_with_a_checkpoint_loses_no_step(
    grid: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny(steps=12, validations=3)
    whole = small_map(grid)
    start = {k: v.clone() for k, v in whole.state_dict().items()}
    history = fit(whole, grid, config)

    stopped = small_map(grid)
    stopped.load_state_dict(start)
    with monkeypatch.context() as patch:
        patch.setattr(blocks.PooledBlocks, 'block', signal_at(5))
        first = fit(stopped, grid, config, checkpoint=tmp_path / 'run')
    assert first.interrupted and first.steps == 6
    again = fit(small_map(grid), grid, config, checkpoint=tmp_path / 'run')
    assert not again.interrupted
    assert (again.step, again.loss) == (history.step, history.loss)
    resumed = small_map(grid)
    fit(resumed, grid, config, checkpoint=tmp_path / 'run')
    assert weights(resumed) == weights(whole)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures('ctrl_c')
def test_a_second_ctrl_c_does_not_wait(
    grid: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks.PooledBlocks, 'block', signal_at(5, 5))
    history = fit(
        small_map(grid), grid, tiny(steps=9), checkpoint=tmp_path / 'run'
    )
    assert history.interrupted and history.steps == 5


def test_ctrl_c_in_a_thread_is_none_of_its_business(
    grid: Data, tmp_path: Path
) -> None:
    with ThreadPoolExecutor() as pool:
        done = pool.submit(
            fit,
            small_map(grid),
            grid,
            tiny(steps=3),
            checkpoint=tmp_path / 'run',
        )
        assert done.result().steps == 3


@pytest.mark.parametrize(
    'always',
    [
        False,
        True,
    ],
)
def test_interrupted_by_the_callback(grid: Data, always: bool) -> None:
    calls = []

    def callback(step: int, metrics: dict[str, float]) -> None:
        calls.append(step)
        if always or len(calls) == 1:
            raise KeyboardInterrupt

    model = small_map(grid)
    try:
        history = fit(
            model, grid, tiny(steps=50, validations=9), callback=callback
        )
    except KeyboardInterrupt:  # would end pytest itself
        pytest.fail('the interrupt came out of fit')
    assert history.interrupted is True
    assert 0 < history.steps < 20
    assert calls[0] == history.steps
    assert model.info.training['steps'] == history.steps
    assert is_finite(model)


def test_an_error_of_the_callback_comes_out(grid: Data) -> None:
    def callback(step: int, metrics: dict[str, float]) -> None:
        raise RuntimeError('stop')

    model = small_map(grid).eval()
    with pytest.raises(RuntimeError, match='stop'):
        fit(model, grid, tiny(steps=5), callback=callback)
    assert not model.training


@pytest.mark.parametrize('kind', KINDS)
def test_broken_weights(grid: Data, kind: str) -> None:
    names = [name for name, _ in small_map(grid).named_parameters()]
    for name in names:
        model = small_map(grid)
        with torch.no_grad():
            model.get_parameter(name).view(-1)[0] = NAN
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        with pytest.raises(BCMError, match='not finite|nan'):
            # Enough rows to meet the broken one.
            fit(
                model,
                grid,
                tiny(targets=kind, steps=5, sources=100, validations=0),
            )
        for other, value in model.named_parameters():
            assert bool(value[before[other].isfinite()].isfinite().all()), other


@pytest.mark.parametrize('optimizer', ['adam', 'soap'])
@pytest.mark.parametrize('kind', KINDS)
def test_a_rate_that_is_too_high(grid: Data, kind: str, optimizer: str) -> None:
    model = small_map(grid)
    config = tiny(targets=kind, steps=50, lr=1e18, optimizer=optimizer)
    with pytest.raises(BCMError, match='lower lr|not finite'):
        fit(model, grid, config)
    assert is_finite(model)


@pytest.mark.parametrize('kind', KINDS)
def test_a_map_that_has_diverged(grid: Data, kind: str) -> None:
    """Its weights are finite, its scores are not."""
    model = small_map(grid)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1e30)
    config = tiny(targets=kind, steps=5, validations=0)
    for _ in range(2):
        with pytest.raises(BCMError, match=r'at step 0: .* make a new one$'):
            fit(model, grid, config)
    assert is_finite(model)


def test_a_loss_that_is_not_finite(
    grid: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = blocks.OneStepBlocks.block

    def block(self: blocks.OneStepBlocks, step: int) -> blocks.Block:
        made = original(self, step)
        if step < 3:
            return made
        # Finite, but its square is not.
        return made._replace(next_value=made.next_value + 1e38)

    monkeypatch.setattr(blocks.OneStepBlocks, 'block', block)
    model = small_map(grid)
    states = []
    config = tiny(
        targets='paper',
        steps=30,
        validations=29,
        ranking=0.0,
        relative=False,
    )
    with pytest.raises(BCMError, match='step 3: the loss is inf'):
        fit(
            model,
            grid,
            config,
            callback=lambda *_: states.append(weights(model)),
        )
    assert weights(model) == states[-1]  # those of the step before

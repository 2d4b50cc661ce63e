"""Targets and optimisers of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
import torch
from small_fits import small_map, tiny, weights
from torch_geometric.data import Data

from bcm_pyg import (
    BCMError,
    FitConfig,
    fit,
)
from bcm_pyg.training import Block, Blocks, Run, Targets, checkpoint


@dataclass(frozen=True)
class FarTargets(Targets):
    """Of a user: all values are the same."""

    value: float = 5.0

    def blocks(self, run: Run) -> Blocks:
        return FarBlocks(run)


class FarBlocks(Blocks):
    def block(self, step: int) -> Block:
        goals = self.sampler.goals(self.config.goals)
        sources = self.sampler.sources(None, self.config.sources)
        edge, source = self.adjacency.out_edges(sources)
        settings = self.config.targets
        assert isinstance(settings, FarTargets)
        value = torch.full((edge.numel(), goals.numel()), settings.value)
        return Block(sources, goals, edge, source, value)


def test_targets_and_an_optimizer_of_ones_own(
    grid: Data, tmp_path: Path
) -> None:
    path = tmp_path / 'run'
    adamw = partial(torch.optim.AdamW, weight_decay=0.25)
    config = FitConfig(
        steps=6, targets=FarTargets(), optimizer=adamw, validations=2
    )
    whole, start = small_map(grid), None
    start = {k: v.clone() for k, v in whole.state_dict().items()}
    fit(whole, grid, config)
    recorded = whole.info.training['config']
    assert recorded['targets'] == {
        'name': f'{__name__}.FarTargets',
        'value': 5.0,
    }
    assert recorded['optimizer'].endswith('AdamW(weight_decay=0.25)')

    def stop(step: int, metrics: dict[str, float]) -> None:
        raise KeyboardInterrupt

    stopped = small_map(grid)
    stopped.load_state_dict(start)
    fit(stopped, grid, config, checkpoint=path, callback=stop)
    for changed, name in (
        ({'targets': FarTargets(value=6.0)}, 'targets'),
        ({'targets': 'paper'}, 'targets'),
        ({'optimizer': torch.optim.AdamW}, 'optimizer'),
        ({'optimizer': 'adam'}, 'optimizer'),
    ):
        with pytest.raises(BCMError, match=rf'another config \({name}\)'):
            fit(stopped, grid, replace(config, **changed), checkpoint=path)


class Counting(torch.optim.Optimizer):
    """Counts in its group, keeps a number below 0 and, if asked, no number."""

    def __init__(self, parameters, lr: float = 1.0, odd: bool = False) -> None:
        super().__init__(parameters, {'lr': lr, 'k': 0})
        self.odd = odd

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for group in self.param_groups:
            group['k'] += 1
            for parameter in group['params']:
                self.state[parameter]['sign'] = -1.0
                if self.odd:
                    self.state[parameter]['before'] = None
                if parameter.grad is not None:
                    parameter -= group['lr'] / group['k'] * parameter.grad


def in_groups(parameters: list, lr: float) -> torch.optim.Optimizer:
    """In another order, some slower, and not all of them."""
    groups = [{'params': parameters[2:]}, {'params': parameters[:1]}]
    groups[1]['lr'] = 0.1 * lr
    return torch.optim.Adam(groups, lr)


def test_rates_of_groups(grid: Data) -> None:
    seen = []

    class Spy(Counting):
        def step(self, closure=None) -> None:
            seen.append([group['lr'] for group in self.param_groups])

    def make(parameters: list, lr: float) -> torch.optim.Optimizer:
        slow = {'params': parameters[:1], 'lr': 0.5 * lr}
        return Spy([slow, {'params': parameters[1:]}], lr)

    fit(small_map(grid), grid, tiny(steps=5, optimizer=make, lr=1e-3))
    assert len(seen) == 5
    assert all(2 * slow == rate for slow, rate in seen)


def test_an_optimizer_that_cannot_be_kept(grid: Data, tmp_path: Path) -> None:
    make = partial(Counting, odd=True)
    config = tiny(steps=2, optimizer=make, lr=1e-3)
    with pytest.raises(BCMError, match="'before' of Counting is neither"):
        fit(small_map(grid), grid, config, checkpoint=tmp_path / 'run')
    fit(small_map(grid), grid, config)


@pytest.mark.parametrize(
    'make',
    [
        partial(torch.optim.AdamW, weight_decay=0.25),
        partial(torch.optim.SGD, momentum=0.5),
        Counting,
        in_groups,
    ],
    ids=['AdamW', 'SGD', 'Counting', 'in_groups'],
)
def test_going_on_with_an_optimizer_of_ones_own(
    grid: Data,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., torch.optim.Optimizer],
) -> None:
    monkeypatch.setattr(checkpoint, 'CHECKPOINT_EVERY', 0.0)
    config = tiny(steps=8, optimizer=make, lr=1e-3, validations=3)
    whole = small_map(grid)
    start = {k: v.clone() for k, v in whole.state_dict().items()}
    fit(whole, grid, config)

    def stop(step: int, metrics: dict[str, float]) -> None:
        raise RuntimeError('stop')

    stopped = small_map(grid)
    stopped.load_state_dict(start)
    with pytest.raises(RuntimeError, match='stop'):
        fit(stopped, grid, config, checkpoint=tmp_path / 'run', callback=stop)
    resumed = small_map(grid)
    fit(resumed, grid, config, checkpoint=tmp_path / 'run')
    assert weights(resumed) == weights(whole)

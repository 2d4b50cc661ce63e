from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from bcm_pyg import BCMError, FitConfig
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training import (
    Blocks,
    ExactTargets,
    OneStepTargets,
    Run,
    SweepTargets,
    Targets,
)
from bcm_pyg.training.sweeps import backup_work, hop_diameter
from bcm_pyg.training.targets import MAX_BACKED_UP
from bcm_pyg.utils import Adjacency

NAN, INFINITE = float('nan'), float('inf')
MAY_BE_0 = [
    (FitConfig, 'steps'),
    (FitConfig, 'validation_queries'),
    (FitConfig, 'validations'),
    (FitConfig, 'seed'),
    (OneStepTargets, 'own_goals'),
]
COUNTS = [
    (kind, field.name)
    for kind in (FitConfig, SweepTargets, ExactTargets, OneStepTargets)
    for field in fields(kind)
    if field.type in ('int', 'int | None')
    and (kind, field.name) not in MAY_BE_0
]
KINDS = {'sweeps': SweepTargets, 'paper': OneStepTargets, 'exact': ExactTargets}


def resolved(config: FitConfig, adjacency: Adjacency) -> Any:
    """The targets with what depends on the graph filled in."""
    return config.resolve(adjacency, hop_diameter(adjacency)).targets


def test_a_budget_is_always_set() -> None:
    assert FitConfig().time_budget is not None
    assert FitConfig(steps=3).time_budget is None
    assert FitConfig(time_budget=2).steps is None
    both = FitConfig(steps=3, time_budget=2.5)
    assert (both.steps, both.time_budget) == (3, 2.5)
    assert FitConfig(steps=0).steps == 0
    assert FitConfig(time_budget=0).time_budget == 0


def test_config_is_frozen_and_named() -> None:
    config = FitConfig(steps=3)
    with pytest.raises(FrozenInstanceError):
        config.steps = 4  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        SweepTargets().refresh = 4  # type: ignore[misc]
    with pytest.raises(TypeError):
        FitConfig(300)  # type: ignore[misc]
    with pytest.raises(TypeError):
        FitConfig(epochs=3)  # type: ignore[call-arg]


@pytest.mark.parametrize('kind', [FitConfig, SweepTargets])
def test_every_field_is_documented(kind: type) -> None:
    for field in fields(kind):
        assert f'{field.name}:' in str(kind.__doc__)


@pytest.mark.parametrize('targets', KINDS)
def test_config_is_json(targets: str) -> None:
    config = FitConfig(steps=3, seed=7, targets=targets)
    settings = config.to_dict()
    assert settings['targets']['name'] == targets
    assert FitConfig.from_dict(json.loads(json.dumps(settings))) == config


def make_sgd(
    parameters: list[torch.nn.Parameter], lr: float
) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr)


@dataclass(frozen=True)
class Own(Targets):
    """Of a user."""

    depth: int = 3
    kind: object = make_sgd

    def blocks(self, run: Run) -> Blocks:
        raise NotImplementedError


def test_what_is_of_a_user_is_told_by_name() -> None:
    settings = FitConfig(targets=Own(), optimizer=make_sgd).to_dict()
    assert settings['targets'] == {
        'name': f'{__name__}.Own',
        'depth': 3,
        'kind': f'{__name__}.make_sgd',
    }
    assert settings['optimizer'] == f'{__name__}.make_sgd'
    assert json.loads(json.dumps(settings)) == settings
    with pytest.raises(BCMError, match='name of targets must be one of'):
        FitConfig.from_dict(settings)
    make = partial(torch.optim.SGD, momentum=0.9)
    name = FitConfig(optimizer=make).to_dict()['optimizer']
    assert name == 'torch.optim.sgd.SGD(momentum=0.9)'


def test_paper() -> None:
    config = FitConfig.paper(steps=5)
    assert config.targets == OneStepTargets()
    assert config.ranking == 0
    assert config.relative is False
    assert config.steps == 5
    assert FitConfig.paper(lr=0.5, optimizer='soap', seed=3) == FitConfig.paper(
        seed=3, optimizer='soap', lr=0.5
    )
    assert FitConfig.paper(ranking=0.25).ranking == 0.25
    assert FitConfig.paper(goals=100).goals == 100
    with pytest.raises(BCMError, match='lr'):
        FitConfig.paper(lr=-1)


@pytest.mark.parametrize('name', KINDS)
def test_short_names_of_targets(name: str) -> None:
    assert FitConfig(targets=name).targets == KINDS[name]()
    assert FitConfig(targets=KINDS[name]()) == FitConfig(targets=name)


@pytest.mark.parametrize('name', ['targets', 'optimizer'])
@pytest.mark.parametrize('value', ['bellman', '', None, 3, ['exact']])
def test_bad_choices(name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'{name} must be one of'):
        FitConfig(**{name: value})


def test_a_class_is_no_targets() -> None:
    with pytest.raises(BCMError, match='targets must be one of'):
        FitConfig(targets=SweepTargets)  # type: ignore[arg-type]


@pytest.mark.parametrize(('kind', 'name'), COUNTS)
@pytest.mark.parametrize('value', [0, -1, 1.5, 2.0, '3', True])
def test_bad_counts(kind: type, name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'^{name} must be'):
        kind(**{name: value})
    assert getattr(kind(**{name: 1}), name) == 1


@pytest.mark.parametrize(('kind', 'name'), MAY_BE_0)
@pytest.mark.parametrize('value', [-1, 1.5, '3', False])
def test_bad_counts_that_may_be_0(kind: type, name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'^{name} must be'):
        kind(**{name: value})
    assert getattr(kind(**{name: 0}), name) == 0


@pytest.mark.parametrize(
    ('kind', 'name'),
    [
        (FitConfig, 'time_budget'),
        (FitConfig, 'lr'),
        (FitConfig, 'encoder_lr'),
        (FitConfig, 'ranking'),
        (FitConfig, 'regret'),
        (SweepTargets, 'near_goal_fraction'),
        (ExactTargets, 'near_goal_fraction'),
    ],
)
@pytest.mark.parametrize('value', [-0.1, NAN, INFINITE, '3', True])
def test_bad_numbers(kind: type, name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'^{name} must be'):
        kind(**{name: value})
    assert getattr(kind(**{name: 0.5}), name) == 0.5


@pytest.mark.parametrize('value', [0, -1.0, NAN, INFINITE, None])
def test_bad_temperature(value: object) -> None:
    with pytest.raises(BCMError, match='ranking_temperature'):
        FitConfig(ranking_temperature=value)


def test_shares_above_one() -> None:
    message = r'^near_goal_fraction must be at most 1 \(got 1.5\)'
    with pytest.raises(BCMError, match=message):
        SweepTargets(near_goal_fraction=1.5)


def test_numbers_of_numpy_can_be_written() -> None:
    rates = 'time_budget', 'lr', 'encoder_lr'
    losses = 'ranking', 'ranking_temperature', 'regret'
    config = FitConfig(
        **dict.fromkeys((*rates, *losses), np.float32(0.5)),
        steps=np.int64(3),
        targets=ExactTargets(
            near_goal_fraction=np.float32(0.5), refresh=np.int32(3)
        ),
    )
    assert json.loads(json.dumps(config.to_dict())) == config.to_dict()


@pytest.mark.parametrize(
    ('kind', 'name'),
    [
        *((OneStepTargets, field.name) for field in fields(SweepTargets)),
        (ExactTargets, 'num_backups'),
        (ExactTargets, 'bootstrap_samples'),
        (ExactTargets, 'bootstrap_nodes'),
        *((FitConfig, field.name) for field in fields(SweepTargets)),
    ],
)
def test_no_targets_take_what_they_would_ignore(kind: type, name: str) -> None:
    with pytest.raises(TypeError, match=name):
        kind(**{name: 1})


@pytest.mark.parametrize('kind', [SweepTargets, ExactTargets])
def test_a_step_has_no_more_goals_than_the_pool(kind: type) -> None:
    message = r'goals must be at most goal_pool \(got 65, goal_pool is 64\)'
    with pytest.raises(BCMError, match=message):
        FitConfig(goals=65, targets=kind())
    with pytest.raises(BCMError, match='goals must be at most goal_pool'):
        FitConfig(targets=kind(goal_pool=8))


@pytest.mark.parametrize('side', [20, 40, 60])
def test_defaults_of_the_grids_of_the_paper(side: int) -> None:
    adjacency = Adjacency.from_data(weighted_grid('ushape', side))
    targets = resolved(FitConfig(), adjacency)
    assert targets.num_backups == {20: 11, 40: 23, 60: 35}[side]
    assert (targets.bootstrap_samples, targets.refresh_every) == (4, 8)


def test_regret_by_default() -> None:
    adjacency = Adjacency.from_data(weighted_grid('open', 4))
    assert FitConfig().regret is None
    for hops, regret in ((6, 0.024), (10_000, 1.0)):
        config = FitConfig().resolve(adjacency, hops)
        assert config.regret == pytest.approx(regret)
    assert FitConfig(regret=0.5).resolve(adjacency, 6).regret == 0.5
    assert FitConfig.paper().regret == 0


@pytest.mark.parametrize('kind', ['sweeps', 'exact'])
@pytest.mark.parametrize('side', [100, 200])
def test_backups_stay_cheap_on_large_graphs(kind: str, side: int) -> None:
    adjacency = Adjacency.from_data(weighted_grid('open', side))
    targets = resolved(FitConfig(targets=kind), adjacency)
    hops = 2 * (side - 1)
    backups = hops if kind == 'exact' else round(0.3 * hops) - 1
    sample = backup_work(adjacency, backups) * targets.refresh
    every = targets.refresh_every
    samples = 1 if kind == 'exact' else targets.bootstrap_samples
    assert samples < 4
    assert samples * sample <= MAX_BACKED_UP * every
    if every > 8:  # no more than it must be
        assert samples * sample > MAX_BACKED_UP * (every - 1)
    if samples > 1:
        assert (samples + 1) * sample > 8 * MAX_BACKED_UP
    given = SweepTargets(bootstrap_samples=3, refresh_every=5)
    given = resolved(FitConfig(targets=given), adjacency)
    assert (given.bootstrap_samples, given.refresh_every) == (3, 5)

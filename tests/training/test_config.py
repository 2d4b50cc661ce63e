from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, asdict, fields

import numpy as np
import pytest

from bcm_pyg import BCMError, FitConfig

NAN, INFINITE = float('nan'), float('inf')
MAY_BE_0 = ['steps', 'validation_queries', 'validations', 'seed']
COUNTS = [
    field.name
    for field in fields(FitConfig)
    if field.type in ('int', 'int | None') and field.name not in MAY_BE_0
]


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
    with pytest.raises(TypeError):
        FitConfig(300)  # type: ignore[misc]
    with pytest.raises(TypeError):
        FitConfig(epochs=3)  # type: ignore[call-arg]


def test_every_field_is_documented() -> None:
    for field in fields(FitConfig):
        assert f'{field.name}:' in FitConfig.__doc__


def test_config_is_json() -> None:
    config = FitConfig(steps=3, seed=7)
    assert FitConfig(**json.loads(json.dumps(asdict(config)))) == config


def test_paper() -> None:
    config = FitConfig.paper(steps=5)
    assert config.targets == 'paper'
    assert config.ranking == 0
    assert config.optimizer == 'adam'
    assert config.steps == 5
    assert FitConfig.paper(lr=0.5, optimizer='soap', seed=3) == FitConfig.paper(
        seed=3, optimizer='soap', lr=0.5
    )
    assert FitConfig.paper(ranking=0.25).ranking == 0.25
    with pytest.raises(BCMError, match='lr'):
        FitConfig.paper(lr=-1)


@pytest.mark.parametrize('targets', ['sweeps', 'paper', 'exact'])
def test_targets(targets: str) -> None:
    assert FitConfig(targets=targets).targets == targets


@pytest.mark.parametrize('name', ['targets', 'optimizer'])
@pytest.mark.parametrize('value', ['bellman', '', None, 3, ['exact']])
def test_bad_choices(name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'{name} must be one of'):
        FitConfig(**{name: value})


@pytest.mark.parametrize('name', COUNTS)
@pytest.mark.parametrize('value', [0, -1, 1.5, 2.0, '3', True])
def test_bad_counts(name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'^{name} must be'):
        FitConfig(**{name: value})
    good = FitConfig(**{'goals': 1, name: 1})
    assert getattr(good, name) == 1


@pytest.mark.parametrize('name', MAY_BE_0)
@pytest.mark.parametrize('value', [-1, 1.5, '3', False])
def test_bad_counts_that_may_be_0(name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'^{name} must be'):
        FitConfig(**{name: value})
    assert getattr(FitConfig(**{name: 0}), name) == 0


@pytest.mark.parametrize('name', ['time_budget', 'lr', 'ranking', 'near'])
@pytest.mark.parametrize('value', [-0.1, NAN, INFINITE, '3', True])
def test_bad_numbers(name: str, value: object) -> None:
    with pytest.raises(BCMError, match=f'^{name} must be'):
        FitConfig(**{name: value})
    assert getattr(FitConfig(**{name: 0.5}), name) == 0.5


@pytest.mark.parametrize('value', [0, -1.0, NAN, INFINITE, None])
def test_bad_temperature(value: object) -> None:
    with pytest.raises(BCMError, match='ranking_temperature'):
        FitConfig(ranking_temperature=value)


def test_shares_above_one() -> None:
    with pytest.raises(BCMError, match=r'^near must be at most 1 \(got 1.5\)'):
        FitConfig(near=1.5)
    with pytest.raises(BCMError, match=r'^near is not for targets="paper"'):
        FitConfig.paper(near=0.5)


def test_numbers_of_numpy_can_be_written() -> None:
    names = ('time_budget', 'lr', 'ranking', 'ranking_temperature', 'near')
    config = FitConfig(**dict.fromkeys(names, np.float32(0.5)))
    assert json.loads(json.dumps(asdict(config))) == asdict(config)


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'targets': 'exact', 'sweeps': 3}, r'sweeps is for targets="sweeps"'),
        ({'targets': 'paper', 'sweeps': 2}, r'got sweeps=2 with .*paper'),
        ({'goals': 65}, r'goals must be at most pool \(got 65, pool is 64\)'),
        ({'pool': 8}, r'goals must be at most pool'),
    ],
)
def test_contradictions(settings: dict[str, object], message: str) -> None:
    with pytest.raises(BCMError, match=message):
        FitConfig(**settings)


def test_no_contradictions() -> None:
    assert FitConfig(targets='paper', sweeps=1).sweeps == 1
    assert FitConfig.paper(goals=100).goals == 100

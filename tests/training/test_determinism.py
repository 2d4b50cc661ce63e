"""Same seed, machine, threads and steps: same weights and plans, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from helpers import ALL_ENCODERS, ALL_READOUTS
from small_fits import targets_of
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, History, Planner, fit
from bcm_pyg.datasets import sample_queries
from bcm_pyg.planning import Readout


def train(
    data: Data, encoder: str, config: FitConfig, seed: int = 5
) -> tuple[BCM, History]:
    seed_everything(seed)
    model = BCM.from_data(data, encoder)
    return model, fit(model, data, config)


def plans(
    model: BCM, data: Data, readouts: Sequence[Readout | None] = (None,)
) -> list[Tensor]:
    starts, goals = sample_queries(data, 40, seed=1)
    planners = [Planner(model, data, readout) for readout in readouts]
    found = [vars(planner(starts, goals)) for planner in planners]
    tensors = [
        value
        for plan in found
        for value in plan.values()
        if isinstance(value, Tensor)
    ]
    return [*tensors, planners[0].distance(starts, goals)]


def assert_same(mine: list[Tensor], other: list[Tensor]) -> None:
    assert len(mine) == len(other) > 0
    assert all(map(torch.equal, mine, other))


@pytest.mark.parametrize(
    ('encoder', 'targets', 'optimizer'),
    [(encoder, 'sweeps', 'soap') for encoder in ALL_ENCODERS]
    + [('interaction', 'paper', 'adam'), ('interaction', 'exact', 'soap')],
)
def test_same_weights_and_plans(
    grid: Data, encoder: str, targets: str, optimizer: str
) -> None:
    config = FitConfig(
        steps=3,
        targets=targets_of(targets, refresh_every=1, goal_pool=32),
        optimizer=optimizer,
        validation_queries=8,
        validations=1,
        seed=3,
    )
    (one, first), (two, second) = (
        train(grid, encoder, config) for _ in range(2)
    )
    assert one.state_dict().keys() == two.state_dict().keys()
    for name, value in one.state_dict().items():
        assert torch.equal(value, two.state_dict()[name]), name
    assert first.loss == second.loss
    # After so few steps no query may succeed: then the Gap is no number.
    assert first.gap == pytest.approx(second.gap, rel=0, abs=0, nan_ok=True)
    assert_same(plans(one, grid), plans(two, grid))


def test_every_readout_repeats_itself(grid: Data) -> None:
    model = BCM.from_data(grid)
    first = plans(model, grid, ALL_READOUTS)
    assert_same(first, plans(model, grid, ALL_READOUTS))


def test_the_record_is_the_same_but_for_the_clock(grid: Data) -> None:
    config = FitConfig(steps=2, validation_queries=4)
    (one, _), (two, _) = (train(grid, 'k_hot', config) for _ in range(2))
    first, second = one.info.training, two.info.training
    assert first.pop('seconds') > 0 and second.pop('seconds') > 0
    assert first == second


def test_other_seeds_differ(grid: Data) -> None:
    config = FitConfig(steps=2, validation_queries=0)
    weights = [
        train(grid, 'interaction', config, seed)[0].transition.lin2.weight
        for seed in (1, 2)
    ]
    assert not torch.equal(*weights)

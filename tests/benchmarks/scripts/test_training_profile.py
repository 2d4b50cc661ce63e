"""A step of training is seen from outside, part by part."""

import pytest
import torch

from benchmarks.scripts import training_profile

PARTS = ('targets', 'forward', 'backward', 'optimizer')


def test_parts_of_a_step():
    before = torch.optim.Optimizer.zero_grad, torch.Tensor.backward
    row = training_profile.profile_step(side=10, steps=3)
    after = torch.optim.Optimizer.zero_grad, torch.Tensor.backward
    assert after == before
    assert all(row[f'{part}_ms'] > 0 for part in PARTS)
    total = sum(row[f'{part}_share'] for part in PARTS)
    assert total == pytest.approx(1, abs=0.01)
    assert row['bare_products_ms'] > 0 and row['pairs_per_step'] == 1024


def test_every_step_is_timed():
    clock, steps = training_profile.Clock(), []
    data = training_profile.Grid('ushape', 10, 'wide', 42).data()
    model = training_profile.BCM.from_data(data)
    with training_profile.watched(clock, lambda: steps.append(1)):
        training_profile.fit(model, data, training_profile.step_config(4))
    assert len(steps) == 4
    assert {part: len(clock.times[part]) for part in PARTS} == dict.fromkeys(
        PARTS, 4
    )

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, FitConfig
from bcm_pyg.training.optimizer import learning_rate, make_optimizer


@pytest.mark.parametrize('name', ['soap', 'adam'])
@pytest.mark.parametrize('encoder', ['interaction', 'one_hot'])
def test_a_step_lowers_a_loss(diamond: Data, name: str, encoder: str) -> None:
    model = BCM.from_data(diamond, encoder)
    optimizer = make_optimizer(model, FitConfig(optimizer=name, lr=1e-3))
    i, j, g = torch.tensor([[0, 1, 3], [1, 3, 0], [3, 0, 2]])
    wanted = torch.tensor([2.0, 1.0, 3.0])

    def loss() -> torch.Tensor:
        return (model(diamond, i, j, g) - wanted).square().sum()

    before = loss().item()
    for _ in range(20):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert loss().item() < before


@pytest.mark.parametrize('name', ['soap', 'adam'])
def test_what_is_frozen_stays(diamond: Data, name: str) -> None:
    model = BCM.from_data(diamond)
    model.encoder.requires_grad_(False)
    optimizer = make_optimizer(model, FitConfig(optimizer=name, lr=0.25))
    held = [p for group in optimizer.param_groups for p in group['params']]
    assert {id(p) for p in held} == {
        id(p) for p in model.transition.parameters()
    }
    assert all(group['lr'] == 0.25 for group in optimizer.param_groups)


def test_nothing_to_train(diamond: Data) -> None:
    model = BCM.from_data(diamond).requires_grad_(False)
    with pytest.raises(BCMError, match='no trainable parameters'):
        make_optimizer(model, FitConfig())


def test_learning_rate_rises_and_falls_to_0() -> None:
    rates = [learning_rate(0.5, done / 1000) for done in range(1001)]
    top = rates.index(max(rates))
    assert 0 < top < 500
    assert max(rates) == pytest.approx(0.5, rel=0.01)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] == 0
    assert min(rates) >= 0

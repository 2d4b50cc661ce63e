from __future__ import annotations

import math

import pytest
import torch
from helpers import loud

from bcm_pyg import BCMError
from bcm_pyg.nn import Transition


def test_transition() -> None:
    transition = Transition(4, 8, 6)
    assert str(transition) == 'Transition(4, 8, 8, 6)'
    assert str(Transition(192)) == 'Transition(192, 128, 128, 128)'
    sizes = {name: tuple(p.shape) for name, p in transition.named_parameters()}
    assert sizes == {
        'lin1.weight': (8, 4),
        'lin1.bias': (8,),
        'lin2.weight': (8, 8),
        'lin2.bias': (8,),
        'lin3.weight': (6, 8),
        'lin3.bias': (6,),
    }
    assert transition(torch.randn(3, 2, 4)).shape == (3, 2, 6)


def silu(x: float) -> float:
    return x / (1 + math.exp(-x))


def test_exact_numbers() -> None:
    transition = Transition(2, 2, 1)
    with torch.no_grad():
        transition.lin1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        transition.lin1.bias.copy_(torch.tensor([1.0, 0.0]))
        transition.lin2.weight.copy_(torch.tensor([[2.0, 1.0], [-1.0, 1.0]]))
        transition.lin2.bias.copy_(torch.tensor([0.0, 3.0]))
        transition.lin3.weight.copy_(torch.tensor([[1.0, 10.0]]))
        transition.lin3.bias.copy_(torch.tensor([0.5]))
    # (3, 5) -> (4, -5) -> (a, b) -> (2 a + b, b - a + 3)
    out = transition(torch.tensor([[3.0, 5.0]]))
    a, b = silu(4), silu(-5)
    expected = silu(2 * a + b) + 10 * silu(b - a + 3) + 0.5
    assert out.tolist() == [[pytest.approx(expected)]]


def test_from_hidden_is_forward_of_embeddings() -> None:
    transition = Transition(4, 8, 6)
    o = torch.randn(5, 4)
    hidden = o @ transition.lin1.weight.T
    for i in range(5):
        for j in range(5):
            torch.testing.assert_close(
                transition.from_hidden(
                    hidden[j] - hidden[i] + transition.lin1.bias
                ),
                transition(o[j] - o[i]),
            )


def test_reset_parameters() -> None:
    transition = Transition(4, 8, 6)
    loud(transition)
    before = {k: v.clone() for k, v in transition.state_dict().items()}
    transition.reset_parameters()
    for key, value in transition.state_dict().items():
        assert not torch.equal(value, before[key]), key


def test_scores_start_near_zero_but_not_at_it() -> None:
    transition = Transition(64, 256, 256)
    std = [
        float(layer.weight.detach().std())
        for layer in (transition.lin1, transition.lin2, transition.lin3)
    ]
    assert std[0] == pytest.approx((2 / 64) ** 0.5, rel=0.05)
    assert std[1] == pytest.approx((2 / 256) ** 0.5, rel=0.05)
    assert std[2] == pytest.approx(0.1 / 16, rel=0.05)
    z = transition(torch.randn(50, 64)).detach()
    square = float((z[1:] - z[:-1]).square().sum(-1).mean())
    assert 0.1 < square < 10


def test_config_rebuilds() -> None:
    transition = Transition(4, 8, 6)
    assert transition.config() == {
        'in_channels': 4,
        'hidden_channels': 8,
        'out_channels': 6,
    }
    assert str(Transition(**transition.config())) == str(transition)


@pytest.mark.parametrize('sizes', [(0, 8, 6), (4, 0, 6), (4, 8, -1)])
def test_transition_errors(sizes: tuple[int, int, int]) -> None:
    numbers = ', '.join(map(str, sizes))
    with pytest.raises(BCMError, match=rf'positive \(got {numbers}\)'):
        Transition(*sizes)

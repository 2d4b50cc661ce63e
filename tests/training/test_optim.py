import copy
from functools import partial

import pytest
import torch
from helpers import LargestTensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, FitConfig
from bcm_pyg.training.optim import (
    SOAP,
    learning_rate,
    make_optimizer,
    of_encoder,
)


def plain_soap(weights, gradients, lr, beta, every, eps=1e-5):
    """SOAP as its paper states it, moments kept in the weights' own basis.

    Other than there, it starts from the axes, stays there where nothing pulls,
    and what is small is so by comparison.
    """
    count, dim = len(gradients), weights.dim()
    mean = torch.zeros_like(weights)
    square = torch.zeros_like(weights)
    left = right = None
    for step, grad in enumerate(gradients, start=1):
        if dim == 2:
            if step == 1:
                left_mean, right_mean = grad @ grad.T, grad.T @ grad
                left = torch.eye(len(left_mean)).to(grad)
                right = torch.eye(len(right_mean)).to(grad)
            else:
                left_mean = beta * left_mean + (1 - beta) * grad @ grad.T
                right_mean = beta * right_mean + (1 - beta) * grad.T @ grad
                if step % every == 0:
                    new = []
                    for old, cov, axis in (
                        (left, left_mean, 0),
                        (right, right_mean, 1),
                    ):
                        ridge = 1e-5 * cov.trace()
                        cov = cov + ridge * torch.eye(len(cov))
                        image = cov @ old
                        order = (old * image).sum(0).argsort(descending=True)
                        square = square.index_select(axis, order)
                        new.append(torch.linalg.qr(image[:, order])[0])
                    left, right = new
        mean = beta * mean + (1 - beta) * grad
        turned = grad if dim == 1 else left.T @ grad @ right
        square = beta * square + (1 - beta) * turned**2
        top = mean if dim == 1 else left.T @ mean @ right
        root = (square / (1 - beta**step)).sqrt()
        step_ = top / (1 - beta**step) / (root + eps * root.max())
        rate = lr * min(1, step / (2 * every))
        turned_back = step_ if dim == 1 else left @ step_ @ right.T
        weights = weights - rate * turned_back
    assert count == len(gradients)
    return weights


@pytest.mark.parametrize('shape', [(5,), (6, 4), (3, 7)])
def test_agrees_with_the_plain_form(shape):
    start = torch.randn(shape, dtype=torch.float64)
    gradients = [torch.randn(shape, dtype=torch.float64) for _ in range(23)]
    parameter = torch.nn.Parameter(start.clone())
    optimizer = SOAP([parameter], lr=0.1, beta=0.9, every=5)
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
    expected = plain_soap(start, gradients, lr=0.1, beta=0.9, every=5)
    torch.testing.assert_close(parameter.data, expected, rtol=1e-8, atol=1e-8)


def test_beats_adam_on_a_turned_quadratic():
    turn = torch.linalg.qr(torch.randn(20, 20))[0]
    scale = torch.logspace(0, 3, 20)

    def loss(weight):
        return (scale[:, None] * (turn @ weight)).square().mean()

    start = torch.randn(20, 10)
    final = {}
    for kind in (SOAP, torch.optim.Adam):
        weight = torch.nn.Parameter(start.clone())
        optimizer = kind([weight], lr=0.02)
        for _ in range(300):
            optimizer.zero_grad()
            loss(weight).backward()
            optimizer.step()
        final[kind] = loss(weight).item()
    assert final[SOAP] < 0.1 * final[torch.optim.Adam]


def test_state_dict_round_trip():
    def run(parameter, optimizer, gradients):
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()

    gradients = [torch.randn(4, 3) for _ in range(14)]
    whole = torch.nn.Parameter(torch.randn(4, 3))
    first = torch.nn.Parameter(whole.data.clone())
    run(whole, SOAP([whole]), gradients)
    optimizer = SOAP([first])
    run(first, optimizer, gradients[:7])
    second = torch.nn.Parameter(first.data.clone())
    resumed = SOAP([second])
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    run(second, resumed, gradients[7:])
    assert torch.equal(second.data, whole.data)


@pytest.mark.parametrize(
    ('size', 'kept'), [((4, 9), False), ((5, 8), True), ((7, 12), False)]
)
def test_long_sides_are_left_alone(monkeypatch, size, kept):
    """Beyond 10 always, beyond 6 if it is more than twice the other."""
    monkeypatch.setattr('bcm_pyg.training.optim.LONG_SIDE', 6)
    monkeypatch.setattr('bcm_pyg.training.optim.MAX_SIDE', 10)
    parameter = torch.nn.Parameter(torch.randn(*size))
    optimizer = SOAP([parameter])
    for _ in range(12):
        parameter.grad = torch.randn(*size)
        optimizer.step()
    state = optimizer.state[parameter]
    assert 'left' in state and ('right' in state) == kept
    assert torch.isfinite(parameter).all()


def test_parameters_without_gradient_stay():
    parameter = torch.nn.Parameter(torch.ones(3, 3))
    SOAP([parameter]).step()
    assert torch.equal(parameter.data, torch.ones(3, 3))


def test_the_last_bits_do_not_matter():
    """Gradients of low rank, with other roundings: nearly the same steps."""
    low, high = torch.randn(30, 3), torch.randn(3, 20)
    ends = []
    for noise in (0.0, 1e-7):
        generator = torch.Generator().manual_seed(0)
        weight = torch.nn.Parameter(torch.zeros(30, 20))
        optimizer = SOAP([weight], lr=0.01, every=5)
        for _ in range(20):
            inner = torch.diag(torch.rand(3, generator=generator))
            rounding = torch.randn(30, 20, generator=generator)
            weight.grad = low @ inner @ high + noise * rounding
            optimizer.step()
        ends.append(weight.detach())
    assert ends[0].abs().max() > 0.05
    torch.testing.assert_close(*ends, rtol=0, atol=1e-3)


def test_gradients_of_no_size():
    weight = torch.nn.Parameter(torch.ones(64, 48))
    optimizer = SOAP([weight], lr=0.1)
    for scale in (0.0, 1e-30, 1e-20, 1.0):
        weight.grad = scale * torch.ones(64, 48)
        optimizer.step()
    assert torch.isfinite(weight).all()


def trained(model: BCM) -> list[torch.nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]


@pytest.mark.parametrize('name', ['soap', 'adam'])
@pytest.mark.parametrize('encoder', ['interaction', 'one_hot'])
def test_a_step_lowers_a_loss(diamond: Data, name: str, encoder: str) -> None:
    model = BCM.from_data(diamond, encoder)
    optimizer = make_optimizer(
        trained(model), FitConfig(optimizer=name, lr=1e-3)
    )
    i, j, g = torch.tensor([[0, 1, 3], [1, 3, 0], [3, 0, 2]])
    wanted = torch.tensor([2.0, 1.0, 3.0])

    def loss() -> torch.Tensor:
        scores = model.score(model.encode(diamond), i, j, g)
        return (scores - wanted).square().sum()

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
    optimizer = make_optimizer(
        trained(model), FitConfig(optimizer=name, lr=0.25)
    )
    held = [p for group in optimizer.param_groups for p in group['params']]
    assert {id(p) for p in held} == {
        id(p) for p in model.transition.parameters()
    }
    assert all(group['lr'] == 0.25 for group in optimizer.param_groups)


@pytest.mark.parametrize('name', ['soap', 'adam'])
def test_a_rate_of_the_encoder(diamond: Data, name: str) -> None:
    model = BCM.from_data(diamond)
    config = FitConfig(optimizer=name, lr=0.25, encoder_lr=3)
    optimizer = make_optimizer(trained(model), config, of_encoder(model))
    rates = {
        id(parameter): group['lr']
        for group in optimizer.param_groups
        for parameter in group['params']
    }
    assert rates == {
        **{id(parameter): 0.25 for parameter in model.parameters()},
        **{id(parameter): 0.75 for parameter in model.encoder.parameters()},
    }
    for frozen, left in ((model.encoder, 0.25), (model.transition, 0.75)):
        model.requires_grad_(True)
        frozen.requires_grad_(False)
        optimizer = make_optimizer(trained(model), config, of_encoder(model))
        assert [group['lr'] for group in optimizer.param_groups] == [left]


def test_nothing_to_train(diamond: Data) -> None:
    model = BCM.from_data(diamond).requires_grad_(False)
    with pytest.raises(BCMError, match='no trainable parameters'):
        make_optimizer(trained(model), FitConfig())


def test_learning_rate_rises_and_falls_to_0() -> None:
    rates = [learning_rate(0.5, done / 1000) for done in range(1001)]
    top = rates.index(max(rates))
    assert 0 < top < 500
    assert max(rates) == pytest.approx(0.5, rel=0.01)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] == 0
    assert min(rates) >= 0


def test_a_callable_makes_the_optimizer(diamond: Data) -> None:
    make = partial(torch.optim.SGD, momentum=0.5)
    config = FitConfig(optimizer=make, lr=0.25)
    optimizer = make_optimizer(trained(BCM.from_data(diamond)), config)
    assert isinstance(optimizer, torch.optim.SGD)
    assert optimizer.defaults['momentum'] == 0.5
    assert optimizer.defaults['lr'] == 0.25
    config = FitConfig(optimizer=lambda parameters, lr: 'sgd')
    with pytest.raises(BCMError, match=r'torch.optim.Optimizer .* \(got str'):
        make_optimizer(trained(BCM.from_data(diamond)), config)


def test_long_sides_are_never_multiplied() -> None:
    """A table of 60,000 nodes would ask for 14 GB."""
    table = torch.nn.Parameter(torch.randn(3000, 4))
    table.grad = torch.randn(3000, 4)
    optimizer = SOAP([table])
    with LargestTensor() as largest:
        for _ in range(3):
            optimizer.step()
    assert largest.numel == table.numel()
    assert {'right'} == {'left', 'right'} & optimizer.state[table].keys()

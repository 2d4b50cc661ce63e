"""The optimiser of a run, and its learning rate."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM

from .config import FitConfig

#: Share of the budget in which the learning rate rises to its peak.
WARMUP = 0.02
#: Matrices with a longer side are preconditioned on the other side alone, and
#: so are those with a side longer than the first of these and twice the other:
#: the input of the first layer with more than 85 channels, and long tables.
#: They do as well without, in three quarters of the time.
LONG_SIDE, MAX_SIDE = 256, 512
#: Of the trace of a running mean, what is added to its diagonal.
RIDGE = 1e-5
#: Keeps 0 / 0 from happening where there is no gradient at all.
TINY = 1e-30


def of_encoder(model: BCM) -> list[bool]:
    """Which of the parameters of a map that are trained are its encoder's."""
    own = {id(parameter) for parameter in model.encoder.parameters()}
    return [id(p) in own for p in model.parameters() if p.requires_grad]


def make_optimizer(
    parameters: list[torch.nn.Parameter],
    config: FitConfig,
    is_encoder: Sequence[bool] = (),
) -> torch.optim.Optimizer:
    """The optimiser that a configuration asks for.

    Args:
        parameters (List[torch.nn.Parameter]): All that are trained.
        config (FitConfig): How.
        is_encoder (Sequence[bool], optional): Which of them are the encoder's.
            (default: none)
    """
    if not parameters:
        raise BCMError('the map has no trainable parameters')
    groups: list[dict[str, Any]] = [{'params': parameters}]
    if config.encoder_lr != 1 and any(is_encoder):
        pairs = list(zip(parameters, is_encoder, strict=True))
        rates = (config.lr * config.encoder_lr, config.lr)
        groups = [
            {'params': [p for p, own in pairs if own is which], 'lr': lr}
            for which, lr in zip((True, False), rates, strict=True)
        ]
        groups = [group for group in groups if group['params']]
    if config.optimizer == 'adam':
        return torch.optim.Adam(groups, lr=config.lr)
    if config.optimizer == 'soap':
        return SOAP(groups, lr=config.lr)
    assert callable(config.optimizer)
    optimizer = config.optimizer(parameters, config.lr)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise BCMError(
            'optimizer must make a torch.optim.Optimizer of parameters and lr '
            f'(got {type(optimizer).__name__})'
        )
    return optimizer


def learning_rate(peak: float, done: float) -> float:
    """Up from a tenth at first, then down to 0 in a line."""
    if done < WARMUP:
        return peak * (0.1 + 0.9 * done / WARMUP)
    return peak * (1 - done) / (1 - WARMUP)


class SOAP(torch.optim.Optimizer):
    r"""Adam in the eigenbasis of Shampoo's preconditioner (`"SOAP: Improving
    and Stabilizing Shampoo using Adam"`, Vyas et al., 2024).

    For a matrix :math:`W` with gradient :math:`G` the running means of
    :math:`G G^\top` and :math:`G^\top G` have eigenbases :math:`Q_L, Q_R`;
    Adam runs on :math:`Q_L^\top G Q_R` and its step is turned back. The bases
    start as the axes and follow by one power iteration and QR every few steps.
    Both moments live in the eigenbasis, which saves two products a step. Steps
    are shorter until the bases have turned twice. Vectors get plain Adam.

    Where a gradient is nothing but rounding, the bases stay and steps fade out
    (:obj:`eps`), so that its last bits, which depend on the number of threads
    and processes, have no effect for long.

    Args:
        params (Iterable): The parameters, or groups of them.
        lr (float, optional): The learning rate. (default: :obj:`3e-3`)
        beta (float, optional): Decay of all running means. (default:
            :obj:`0.95`)
        every (int, optional): Steps between two updates of a basis. (default:
            :obj:`10`)
        eps (float, optional): Of the largest entry of a parameter's gradient,
            what counts as little. (default: :obj:`1e-5`)
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 3e-3,
        beta: float = 0.95,
        every: int = 10,
        eps: float = 1e-5,
    ) -> None:
        super().__init__(params, dict(lr=lr, beta=beta, every=every, eps=eps))

    @torch.no_grad()
    def step(  # type: ignore[override]
        self, closure: Callable[[], float] | None = None
    ) -> float | None:
        """One step."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for index, parameter in enumerate(group['params']):
                if parameter.grad is not None and parameter.numel() > 0:
                    self._update(parameter, group, index)
        return loss

    def _update(
        self, parameter: Tensor, group: dict[str, Any], index: int
    ) -> None:
        state, grad, beta = self.state[parameter], parameter.grad, group['beta']
        assert grad is not None
        if not state:
            state['step'] = 0
            state['mean'] = torch.zeros_like(grad)
            state['square'] = torch.zeros_like(grad)
        state['step'] += 1
        count = state['step']
        if grad.dim() == 2:
            _update_statistics(grad, state, beta)
            # Spread over the steps, so that no step pays for all bases.
            if count > 1 and (count + index) % group['every'] == 0:
                _turn_bases(state)
        grad = _into_basis(grad, state)
        state['mean'].lerp_(grad, 1 - beta)
        state['square'].mul_(beta).addcmul_(grad, grad, value=1 - beta)
        unbias = 1 - beta**count
        scale = state['square'].sqrt()
        scale += group['eps'] * scale.max() + TINY
        step = _out_of_basis(state['mean'] / scale, state)
        # Along the axes, a step of this length may be too long.
        lr = group['lr'] * min(1.0, count / (2 * group['every']))
        parameter.add_(step, alpha=-lr * math.sqrt(unbias) / unbias)


def _update_statistics(
    grad: Tensor, state: dict[str, Any], beta: float
) -> None:
    for side, rows in (('left', grad), ('right', grad.T)):
        if side in state:
            state[f'{side}_mean'].lerp_(rows @ rows.T, 1 - beta)
        elif state['step'] == 1 and not _is_long(*rows.shape):
            state[f'{side}_mean'] = rows @ rows.T
            state[side] = torch.eye(rows.size(0)).to(grad)


def _is_long(side: int, other: int) -> bool:
    """Whether a side has no basis."""
    return side > MAX_SIDE or (side > LONG_SIDE and side > 2 * other)


def _turn_bases(state: dict[str, Any]) -> None:
    """One power iteration for each basis; the moments turn along."""
    for side, axis in (('left', 0), ('right', 1)):
        if side not in state:
            continue
        old, mean = state[side], state[f'{side}_mean']
        ridge = RIDGE * float(mean.trace())
        image = torch.addmm(old, mean, old, beta=ridge)
        order = (old * image).sum(0).argsort(descending=True)
        # Row-major like everything else: products depend on the layout in
        # their last bits, and a checkpoint does not keep it.
        new = torch.linalg.qr(image[:, order])[0].contiguous()
        state['square'] = state['square'].index_select(axis, order)
        turn = new.T @ old
        mean = state['mean']
        state['mean'] = turn @ mean if axis == 0 else mean @ turn.T
        state[side] = new


def _into_basis(grad: Tensor, state: dict[str, Any]) -> Tensor:
    if 'left' in state:
        grad = state['left'].T @ grad
    if 'right' in state:
        grad = grad @ state['right']
    return grad


def _out_of_basis(step: Tensor, state: dict[str, Any]) -> Tensor:
    if 'left' in state:
        step = state['left'] @ step
    if 'right' in state:
        step = step @ state['right'].T
    return step

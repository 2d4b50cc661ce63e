from __future__ import annotations

import torch

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM

from .config import FitConfig
from .optim import SOAP

#: Share of the budget in which the learning rate rises to its peak.
WARMUP = 0.02


def make_optimizer(model: BCM, config: FitConfig) -> torch.optim.Optimizer:
    """The optimiser over everything that can be trained."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise BCMError('the map has no trainable parameters')
    if config.optimizer == 'adam':
        return torch.optim.Adam(parameters, lr=config.lr)
    return SOAP(parameters, lr=config.lr)


def learning_rate(peak: float, done: float) -> float:
    """Up from a tenth at first, then down to 0 in a line."""
    if done < WARMUP:
        return peak * (0.1 + 0.9 * done / WARMUP)
    return peak * (1 - done) / (1 - WARMUP)

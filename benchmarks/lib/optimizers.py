"""Optimisers of other libraries, to compare ours with."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def library_soap(
    parameters: Iterable[Tensor], lr: float
) -> torch.optim.Optimizer:
    """The optimiser of another library instead of ours."""
    from pytorch_optimizer import SOAP

    return SOAP(parameters, lr=lr, weight_decay=0.0)

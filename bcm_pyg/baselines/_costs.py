from __future__ import annotations

import torch
from torch import Tensor


def inverse_costs(cost: Tensor) -> Tensor:
    r"""One over each cost, float64 :obj:`[E]`.

    A cost of 0 has no inverse and counts as the smallest positive cost of the
    graph; where there is none, all inverses are 1.
    """
    cost = cost.double()
    positive = cost[cost > 0]
    if positive.numel() == 0:
        return torch.ones_like(cost)
    return 1 / cost.clamp(min=float(positive.min()))

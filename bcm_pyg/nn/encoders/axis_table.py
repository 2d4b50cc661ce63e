"""Tables of embeddings along one axis."""

from __future__ import annotations

import math

import torch
from torch import Tensor

INITS = ('smooth', 'random')


def look_up(table: Tensor, lower: Tensor, fraction: Tensor | None) -> Tensor:
    """Rows of a table, or what lies between two of them.

    Args:
        table (torch.Tensor): The rows, :obj:`[S, C]`.
        lower (torch.Tensor): Codes, :obj:`[N]`.
        fraction (torch.Tensor, optional): How far to the next row, :obj:`[N]`.
    """
    if fraction is None:
        return table[lower]
    return torch.lerp(table[lower], table[lower + 1], fraction[:, None])


@torch.no_grad()
def draw_table(table: Tensor, init: str) -> None:
    """Fills a table with waves along the axis, or with noise."""
    if init == 'random':
        bound = 1 / math.sqrt(table.size(0))
        table.uniform_(-bound, bound)
    else:
        table.copy_(_waves(*table.shape))


def _waves(size: int, channels: int) -> Tensor:
    """Waves of random phase along an axis, the slow ones higher."""
    place = torch.linspace(0, 1, size)[:, None]
    frequency = torch.arange(channels) // 2 + 1
    height = frequency**-0.5
    height = height / height.square().mean().sqrt()
    phase = 2 * math.pi * torch.rand((channels + 1) // 2)
    phase = phase.repeat_interleave(2)[:channels]
    quarter = math.pi / 2 * (torch.arange(channels) % 2)  # cosine, then sine
    return height * (math.pi * frequency * place + phase - quarter).cos()

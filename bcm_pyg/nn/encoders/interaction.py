from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import Parameter
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from .axes import Axes
from .base import NodeEncoder

INITS = ('smooth', 'random')


class InteractionEncoder(NodeEncoder):
    r"""Binds per-axis embeddings with their Hadamard product,

    .. math::
        \psi(x_n) = [\mathbf{r}_n ; \mathbf{c}_n ; \mathbf{r}_n \odot
        \mathbf{c}_n],

    so that parameters grow with the axis lengths and not with
    :math:`|\mathcal{V}|`. With three or more axes the embedding holds every
    axis and the one product over all of them; with one axis just that axis. For
    real coordinates the embedding of an axis is interpolated between bins.

    Args:
        axis_sizes (Sequence[int]): Number of distinct codes, or of bins, on
            each axis.
        channels (int, optional): Embedding size per axis. (default: :obj:`64`)
        bounds (Sequence[Tuple[float, float]], optional): Lowest and highest
            position of each axis; without them coordinates are integer codes.
            (default: :obj:`None`)
        init (str, optional): :obj:`"smooth"` starts from waves along each axis,
            so that near nodes are alike, :obj:`"random"` from noise, as the
            paper. (default: :obj:`"smooth"`)

    Shapes:
        - **input:** codes :math:`(|\mathcal{V}|, A)`; **output:**
          :math:`(|\mathcal{V}|, 3 \cdot C)` for :math:`A = 2`,
          :math:`(|\mathcal{V}|, (A + 1) \cdot C)` for :math:`A > 2`
    """

    per_node = True

    def __init__(
        self,
        axis_sizes: Sequence[int],
        channels: int = 64,
        bounds: Sequence[Sequence[float]] | None = None,
        init: str = 'smooth',
    ) -> None:
        super().__init__()
        if init not in INITS:
            raise BCMError(f'init must be one of {INITS} (got {init!r})')
        if channels < 1:
            raise BCMError(f'channels must be positive (got {channels})')
        self.axes = Axes(axis_sizes, bounds)
        self.channels = channels
        self.init = init
        blocks = len(self.axes) + (1 if len(self.axes) > 1 else 0)
        self.out_channels = blocks * channels
        self.tables = torch.nn.ParameterList(
            Parameter(torch.empty(size, channels)) for size in self.axes.sizes
        )
        self.reset_parameters()

    @classmethod
    def from_data(
        cls, data: Data, bins: int | None = None, **kwargs: Any
    ) -> Self:
        """One row per integer code, or :obj:`bins` bins per real axis."""
        axes = Axes.from_data(data, bins)
        return cls(axes.sizes, bounds=axes.bounds, **kwargs)

    def reset_parameters(self) -> None:
        """Draws the tables anew."""
        with torch.no_grad():
            for table in self.tables:
                if self.init == 'random':
                    bound = 1 / math.sqrt(table.size(0))
                    table.uniform_(-bound, bound)
                else:
                    table.copy_(_waves(*table.shape))

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`."""
        lower, fraction = self.axes.locate(data)
        parts = []
        for axis, table in enumerate(self.tables):
            part = table.index_select(0, lower[:, axis])
            if fraction is not None:
                upper = table.index_select(0, lower[:, axis] + 1)
                part = torch.lerp(part, upper, fraction[:, axis, None])
            parts.append(part)
        if len(parts) > 1:
            product = parts[0]
            for part in parts[1:]:
                product = product * part
            parts.append(product)
        return torch.cat(parts, dim=-1)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        return {
            **self.axes.config(),
            'channels': self.channels,
            'init': self.init,
        }

    def __repr__(self) -> str:
        kind = 'codes' if self.axes.bounds is None else 'bins'
        return (
            f'{type(self).__name__}({kind}={list(self.axes.sizes)}, '
            f'channels={self.channels})'
        )


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

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from .base import NodeEncoder, node_ids
from .parts.axes import Axes, AxisTables
from .parts.coincident import COINCIDENT_CHANNELS, CoincidentRows

#: Channels of short axes, as in the paper, and of long ones at most.
CHANNELS, MAX_CHANNELS = 64, 192


def bind_axes(
    tables: Sequence[Tensor], lower: Tensor, fraction: Tensor | None = None
) -> list[Tensor]:
    """Embeddings of each axis and, of several axes, their product.

    Tables are :obj:`[S, C]`; codes, and shares of the next code, :obj:`[N, A]`.
    """
    parts = []
    for axis, table in enumerate(tables):
        code = lower[:, axis]
        part = table[code]
        if fraction is not None:
            part = torch.lerp(part, table[code + 1], fraction[:, axis, None])
        parts.append(part)
    return parts if len(parts) == 1 else [*parts, reduce(torch.mul, parts)]


def default_channels(sizes: Sequence[int], data: Data) -> int:
    """Channels of axes of so many codes each, unless they are given.

    The product of two axes tells all nodes apart freely if it has as many
    channels as codes. On a grid of 100 x 100 with random costs walks need it;
    on game maps, where a step costs the same everywhere, they do not.
    """
    short = len(sizes) == 1 or max(sizes) <= CHANNELS
    if short or _costs_follow_steps(data):
        return CHANNELS
    return min(2 * max(sizes), MAX_CHANNELS)


def _costs_follow_steps(data: Data) -> bool:
    """Whether edges that go as far along each axis all cost the same."""
    tail, head = data.edge_index
    step = (data.coord[head] - data.coord[tail]).abs()
    kind = step.unique(dim=0, return_inverse=True)[1]
    # Of each kind the cost of some edge.
    some = data.edge_cost.new_empty(int(kind.max()) + 1)
    some[kind] = data.edge_cost
    return torch.equal(some[kind], data.edge_cost)


class InteractionEncoder(NodeEncoder):
    r"""Binds per-axis embeddings with their Hadamard product,

    .. math::
        \psi(x_n) = [\mathbf{r}_n ; \mathbf{c}_n ; \mathbf{r}_n \odot
        \mathbf{c}_n],

    so that parameters grow with the axis lengths and not with
    :math:`|\mathcal{V}|`. With more axes there is one product, of all of them;
    with one axis none.

    Coordinates are integer codes, :obj:`data.coord`; for real ones see
    :class:`~bcm_pyg.nn.ContinuousInteractionEncoder`. All but the first node of
    the same codes get a short learned vector of their own
    (:class:`~bcm_pyg.nn.encoders.parts.CoincidentRows`).

    Args:
        axis_sizes (Sequence[int]): Number of distinct codes on each axis.
        channels (int, optional): Embedding size per axis. (default: :obj:`64`;
            :meth:`from_data` takes more on long axes)
        init (str, optional): :obj:`"smooth"` starts from waves along each axis,
            so that embeddings of near nodes are similar, :obj:`"random"` from
            noise, as the paper. (default: :obj:`"smooth"`)
        coincident (int, optional): Number of nodes that get a vector of their
            own. (default: :obj:`0`)

    Shapes:
        - **input:** codes :math:`(|\mathcal{V}|, A)`; **output:**
          :math:`(|\mathcal{V}|, (A + 1) \cdot C)` for :math:`A > 1`, and 8 more
          if nodes coincide
    """

    per_node = True

    def __init__(
        self,
        axis_sizes: Sequence[int],
        channels: int = CHANNELS,
        init: str = 'smooth',
        coincident: int = 0,
    ) -> None:
        super().__init__()
        self.axes = Axes(axis_sizes)
        self.channels = channels
        self.init = init
        self.tables = AxisTables(self.axes.sizes, channels, init)
        self.coincident = CoincidentRows(coincident) if coincident else None
        self.out_channels = self.axes.num_blocks * channels
        self.out_channels += COINCIDENT_CHANNELS * bool(coincident)
        self.reset_parameters()

    @classmethod
    def from_data(cls, data: Data, **kwargs: Any) -> Self:
        """One code per integer coordinate of a canonical graph.

        By default there are 64 channels; where an axis has more than 64 codes,
        and edges of the same length differ in cost, two a code, at most 192.
        """
        if data.get('coord') is None:
            raise BCMError(
                f'{cls.__name__} needs integer coordinates, data.coord: use '
                "ContinuousInteractionEncoder, or name 'interaction', for both"
            )
        rows = CoincidentRows.from_positions(data.coord)
        num_rows = 0 if rows is None else rows.nodes.numel()
        sizes = Axes.from_data(data).sizes
        kwargs.setdefault('channels', default_channels(sizes, data))
        out = cls(sizes, coincident=num_rows, **kwargs)
        out.coincident = rows
        return out

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`."""
        parts = bind_axes(list(self.tables), self.axes.locate(data)[0])
        if self.coincident is not None:
            parts.append(self.coincident(node_ids(data)))
        return torch.cat(parts, dim=-1)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        config = self.axes.config()
        config |= {'channels': self.channels, 'init': self.init}
        if self.coincident is not None:
            config['coincident'] = self.coincident.nodes.numel()
        return config

    def __repr__(self) -> str:
        rows = self.coincident
        more = '' if rows is None else f', coincident={rows.nodes.numel()}'
        codes = f'codes={list(self.axes.sizes)}'
        return f'{type(self).__name__}({codes}, channels={self.channels}{more})'

"""Nodes at the same position, which coordinates cannot distinguish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from bcm_pyg.errors import BCMError

#: Width of the vectors that distinguish such nodes.
COINCIDENT_CHANNELS = 8

#: Steps between two entries of a table that float32 can distinguish.
STEPS = 2**16


def visible_positions(unit: Tensor, sizes: Sequence[int]) -> Tensor:
    """Positions in [0, 1], rounded to what tables of these sizes resolve."""
    last = unit.new_tensor(sizes) - 1
    return (unit * last * STEPS).round()


def occupation_order(positions: Tensor) -> Tensor:
    """Number of nodes of lower id at the position of each node, :obj:`[N]`."""
    index = torch.arange(positions.size(0), device=positions.device)
    # One stable sort an axis is far faster than unique over vectors.
    order = index
    for axis in positions.T:
        order = order[axis[order].argsort(stable=True)]
    ordered = positions[order]
    first = torch.ones_like(index, dtype=torch.bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(dim=1)
    begin = torch.where(first, index, 0).cummax(0).values
    out = torch.empty_like(index)
    out[order] = index - begin
    return out


class CoincidentRows(torch.nn.Module):
    r"""A short learned vector for every node whose position is taken already.

    The first node at a position gets zeros. The vectors start small and
    distinct, so that nodes differ from the first step on. :math:`M` nodes take
    :math:`M C` parameters and a buffer of :math:`8 M` bytes with their ids.

    Args:
        num_rows (int): :math:`M`, number of nodes that get a vector.
        channels (int, optional): :math:`C`, its width. (default: :obj:`8`)
    """

    nodes: Tensor

    def __init__(
        self, num_rows: int, channels: int = COINCIDENT_CHANNELS
    ) -> None:
        super().__init__()
        if num_rows < 1 or channels < 1:
            raise BCMError(
                'rows of coincident nodes must be at least one of at least one '
                f'channel (got {num_rows} and {channels})'
            )
        self.register_buffer('nodes', torch.arange(num_rows))
        self.rows = Parameter(torch.empty(num_rows, channels))
        self.reset_parameters()

    @classmethod
    def from_positions(
        cls, positions: Tensor, channels: int = COINCIDENT_CHANNELS
    ) -> CoincidentRows | None:
        """For nodes at positions :obj:`[N, A]`; None if all are distinct."""
        nodes = occupation_order(positions).nonzero().flatten()
        if nodes.numel() == 0:
            return None
        out = cls(nodes.numel(), channels)
        out.nodes.copy_(nodes)
        return out.to(positions.device)

    def check_buffers(self, buffers: Mapping[str, Tensor]) -> None:
        """Refuses ids that are negative or not ascending."""
        _check_nodes(buffers['nodes'])

    def reset_parameters(self) -> None:
        """Resets the vectors."""
        torch.nn.init.normal_(self.rows, std=0.1)

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors of nodes, :obj:`[N, C]`, zeros if a node has none."""
        index, found = _find(self.nodes, ids)
        return self.rows[index] * found[:, None]

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_rows={self.rows.size(0)}, channels={self.rows.size(1)}'


class CoincidentCodes(torch.nn.Module):
    r"""Numbers the nodes whose position is taken already, from 0 at each.

    :math:`M` such nodes take buffers of :math:`16 M` bytes and no parameters.

    Args:
        num_nodes (int): :math:`M`, number of nodes that get a code.
        num_codes (int): Number of distinct codes.
    """

    nodes: Tensor
    codes: Tensor

    def __init__(self, num_nodes: int, num_codes: int) -> None:
        super().__init__()
        if not 1 <= num_codes <= num_nodes:
            raise BCMError(
                'codes of coincident nodes must be at least one and no more '
                f'than these nodes (got {num_codes} and {num_nodes})'
            )
        self.num_codes = num_codes
        self.register_buffer('nodes', torch.arange(num_nodes))
        self.register_buffer('codes', torch.arange(num_nodes) % num_codes)

    @classmethod
    def from_positions(cls, positions: Tensor) -> CoincidentCodes | None:
        """For nodes at positions :obj:`[N, A]`; None if all are distinct."""
        order = occupation_order(positions)
        nodes = order.nonzero().flatten()
        if nodes.numel() == 0:
            return None
        out = cls(nodes.numel(), int(order.max())).to(positions.device)
        out.nodes.copy_(nodes)
        out.codes.copy_(order[nodes] - 1)
        return out

    def check_buffers(self, buffers: Mapping[str, Tensor]) -> None:
        """Refuses ids that are not ascending, and codes out of range."""
        _check_nodes(buffers['nodes'])
        low, high = (int(code) for code in buffers['codes'].aminmax())
        if not 0 <= low <= high < self.num_codes:
            raise BCMError(
                f'codes of coincident nodes must lie below {self.num_codes} '
                f'(got {low} to {high})'
            )

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The codes of nodes, :obj:`[N]`, and whether they have one."""
        index, found = _find(self.nodes, ids)
        return self.codes[index], found

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_nodes={self.nodes.numel()}, num_codes={self.num_codes}'


def _check_nodes(nodes: Tensor) -> None:
    if int(nodes[0]) < 0 or bool((nodes[1:] <= nodes[:-1]).any()):
        raise BCMError('ids of coincident nodes must be ascending, from 0 on')


def _find(ordered: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of ids in an ordered vector, and whether they are in it."""
    index = torch.searchsorted(ordered, ids.contiguous())
    index = index.clamp(max=ordered.numel() - 1)
    return index, ordered[index] == ids

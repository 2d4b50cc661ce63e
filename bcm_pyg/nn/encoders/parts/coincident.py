r"""Nodes that share a place, which coordinates alone cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from bcm_pyg.errors import BCMError

#: Width of the rows that tell nodes at one place apart.
COINCIDENT_CHANNELS = 8

#: Steps between two rows of a table that float32 tells apart in what lies
#: between them.
STEPS = 2**16


def seen_places(place: Tensor, sizes: Sequence[int]) -> Tensor:
    """Places as they look through a table along each axis.

    Nodes may lie at distinct positions and yet so near that all a table makes
    of them is the same.

    Args:
        place (torch.Tensor): From 0 to 1, :obj:`[N, A]`.
        sizes (Sequence[int]): Rows of the table of each axis.
    """
    last = place.new_tensor(sizes) - 1
    return (place * last * STEPS).round()


def occupation_order(place: Tensor) -> Tensor:
    """How many nodes of lower id are at the place of each node, :obj:`[N]`.

    It is 0 for all nodes of a graph whose places :obj:`[N, A]` are distinct.
    """
    position = torch.arange(place.size(0), device=place.device)
    # One stable sort an axis is far faster than to find unique rows.
    order = position
    for column in place.T:
        order = order[column[order].argsort(stable=True)]
    ordered = place[order]
    first = torch.ones_like(position, dtype=torch.bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(dim=1)
    begin = torch.where(first, position, 0).cummax(0).values
    out = torch.empty_like(position)
    out[order] = position - begin
    return out


class CoincidentRows(torch.nn.Module):
    r"""A short learned row for every node whose place is taken already.

    Of the nodes at one place the first gets zeros and each further one a row of
    its own. They start small and distinct, so that such nodes are told apart
    from the first step on, and grow where costs ask for it. :math:`M` nodes
    take :math:`M C` parameters and a buffer of :math:`8 M` bytes with their
    ids; a graph without such nodes takes none.

    Args:
        num_rows (int): :math:`M`, how many nodes get a row.
        channels (int, optional): :math:`C`, the width of a row. (default:
            :obj:`8`)
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
    def from_places(
        cls, place: Tensor, channels: int = COINCIDENT_CHANNELS
    ) -> CoincidentRows | None:
        """For nodes at places :obj:`[N, A]`; None if all are distinct."""
        nodes = occupation_order(place).nonzero().flatten()
        if nodes.numel() == 0:
            return None
        out = cls(nodes.numel(), channels)
        out.nodes.copy_(nodes)
        return out.to(place.device)

    def check_buffers(self, buffers: Mapping[str, Tensor]) -> None:
        """Refuses ids that are no ids, or not in order."""
        _check_nodes(buffers['nodes'])

    def reset_parameters(self) -> None:
        """Draws the rows anew."""
        torch.nn.init.normal_(self.rows, std=0.1)

    def forward(self, ids: Tensor) -> Tensor:
        """The rows of nodes, :obj:`[N, C]`, zeros where a node has none."""
        place, found = _find(self.nodes, ids)
        return self.rows[place] * found[:, None]

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_rows={self.rows.size(0)}, channels={self.rows.size(1)}'


class CoincidentCodes(torch.nn.Module):
    r"""Numbers the nodes whose place is taken already, from 0 at each place.

    The number is a code without parameters, for encoders that have none. It
    takes a buffer of :math:`16 M` bytes for :math:`M` such nodes.

    Args:
        num_nodes (int): :math:`M`, how many nodes get a number.
        num_codes (int): How many different numbers there are.
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
    def from_places(cls, place: Tensor) -> CoincidentCodes | None:
        """For nodes at places :obj:`[N, A]`; None if all are distinct."""
        order = occupation_order(place)
        nodes = order.nonzero().flatten()
        if nodes.numel() == 0:
            return None
        out = cls(nodes.numel(), int(order.max())).to(place.device)
        out.nodes.copy_(nodes)
        out.codes.copy_(order[nodes] - 1)
        return out

    def check_buffers(self, buffers: Mapping[str, Tensor]) -> None:
        """Refuses ids that are no ids, or not in order, and other codes."""
        _check_nodes(buffers['nodes'])
        codes = buffers['codes']
        if not 0 <= int(codes.min()) <= int(codes.max()) < self.num_codes:
            raise BCMError(
                f'codes of coincident nodes must lie below {self.num_codes} '
                f'(got {int(codes.min())} to {int(codes.max())})'
            )

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The codes of nodes, :obj:`[N]`, and whether they have one."""
        place, found = _find(self.nodes, ids)
        return self.codes[place], found

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_nodes={self.nodes.numel()}, num_codes={self.num_codes}'


def _check_nodes(nodes: Tensor) -> None:
    if int(nodes[0]) < 0 or bool((nodes[1:] <= nodes[:-1]).any()):
        raise BCMError('ids of coincident nodes must be ascending, from 0 on')


def _find(ordered: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of ids in an ordered vector, and whether they are in it."""
    place = torch.searchsorted(ordered, ids.contiguous())
    place = place.clamp(max=ordered.numel() - 1)
    return place, ordered[place] == ids

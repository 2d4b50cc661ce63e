from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency

#: The most columns of a table, however alike the degrees are.
MAX_COLUMNS = 32
#: At most one node in so many may have more edges than the table has columns.
RARE = 32


class NeighborTable:
    r"""The out-edges of every node as a table of equal rows.

    Rows of a batch of nodes are then one look-up. The table has as many columns
    as all but a few nodes need; nodes of more edges are :attr:`wide`, have no
    row worth reading and are left to :class:`~bcm_pyg.utils.Adjacency`, so that
    a hub costs the others nothing. Memory is :math:`20 N W` bytes.

    Args:
        adjacency (Adjacency): The graph.

    Attributes:
        head: :obj:`[N, W]` the head of each edge, in the order of their ids,
            padded with the node itself.
        cost: :obj:`[N, W]` the cost of each edge, padded with 0.
        rest: :obj:`[N, W - 1]` ids of all edges but the first, padded with
            :math:`E`.
        wide: :obj:`[N]` which nodes have more edges than the table, or
            :obj:`None` if there are none.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        degree = adjacency.degree()
        self.width = _width(degree)
        device, num_nodes = adjacency.device, adjacency.num_nodes
        wide = degree > self.width
        self.wide = wide if bool(wide.any()) else None

        node = torch.arange(num_nodes, device=device)
        self.head = node[:, None].repeat(1, self.width)
        self.cost = adjacency.cost.new_zeros(num_nodes, self.width)
        self.rest = torch.full(
            (num_nodes, self.width - 1), adjacency.num_edges, device=device
        )
        edge = torch.arange(adjacency.num_edges, device=device)
        place = edge - adjacency.rowptr[adjacency.src]
        fits = ~wide[adjacency.src]
        at = adjacency.src[fits], place[fits]
        self.head[at] = adjacency.dst[fits]
        self.cost[at] = adjacency.cost[fits]
        fits &= place > 0
        self.rest[adjacency.src[fits], place[fits] - 1] = edge[fits]

    def num_bytes(self) -> int:
        """Bytes of the table."""
        return sum(
            part.numel() * part.element_size()
            for part in (self.head, self.cost, self.rest)
        )


def _width(degree: Tensor) -> int:
    """Columns that all but one in :obj:`RARE` of the nodes with edges need."""
    used = degree[degree > 0]
    if used.numel() == 0:
        return 1
    rank = used.numel() - used.numel() // RARE
    return min(int(used.kthvalue(rank).values), MAX_COLUMNS)

from __future__ import annotations

import torch
from torch import Tensor

from .slots import SlotHash, Slots, SlotTable

INFINITE = float('inf')
#: Nodes are found by table where it takes at most so many bytes.
MAX_TABLE_BYTES = 2**28


class NodeLists:
    """A growing list of distinct nodes for each of a batch of queries.

    All lists have room for the same number of nodes, a power of two that
    doubles when one of them is full. Nodes are found by a table of 4 bytes for
    each row and node where that is at most 256 MB, else by hash. Memory beside
    the table is at most 32 bytes per row and node of the longest list, and 96
    more with the hash, however large the graph.

    Args:
        num_rows (int): Number of lists.
        num_nodes (int): Nodes of the graph.
        device (torch.device): Where to keep them.

    Attributes:
        node: :obj:`[R, C]` the nodes of each list, padded with -1.
        cost: :obj:`[R, C]` float64, a cost that is kept with each node,
            infinite at first.
        size: :obj:`[R]` the length of each list.
    """

    def __init__(
        self, num_rows: int, num_nodes: int, device: torch.device
    ) -> None:
        self.node = torch.full((num_rows, 16), -1, device=device)
        self.cost = torch.full_like(self.node, INFINITE, dtype=torch.float64)
        self.size = torch.zeros(num_rows, dtype=torch.long, device=device)
        self._slots: Slots
        if 4 * num_rows * num_nodes <= MAX_TABLE_BYTES:
            self._slots = SlotTable(num_rows, num_nodes, device)
        else:
            self._slots = SlotHash(num_rows, 4 * self.capacity, device)

    @property
    def num_rows(self) -> int:
        """Number of lists."""
        return self.node.size(0)

    @property
    def capacity(self) -> int:
        """Nodes that a list has room for."""
        return self.node.size(1)

    def find(self, row: Tensor, node: Tensor) -> Tensor:
        """Place of each node in the list of its row, -1 if not there."""
        return self._slots.find(row, node)

    def at(self, row: Tensor, slot: Tensor) -> Tensor:
        """Positions of places of rows in the flat columns, :obj:`[M]`."""
        return row * self.capacity + slot

    def append(self, row: Tensor, node: Tensor) -> Tensor:
        """Adds nodes that their lists do not hold; their places.

        Args:
            row (torch.Tensor): The list of each, ascending, :obj:`[M]`.
            node (torch.Tensor): The nodes, distinct in each row, :obj:`[M]`.
        """
        if row.numel() == 0:
            return row
        count = torch.bincount(row, minlength=self.num_rows)
        slot = torch.arange(row.numel(), device=row.device)
        slot += (self.size - count.cumsum(0) + count).index_select(0, row)
        self.size = self.size + count
        while int(self.size.max()) > self.capacity:
            self._grow()
        self.node.view(-1)[self.at(row, slot)] = node
        self._slots.put(row, node, slot)
        return slot

    def keep(self, row: Tensor) -> None:
        """Keeps these lists, in this order, and forgets the others."""
        self.node, self.cost = self.node[row], self.cost[row]
        self.size = self.size[row]
        self._slots.keep(row)

    def _grow(self) -> None:
        more = torch.full_like(self.node, -1)
        self.node = torch.cat([self.node, more], dim=1)
        more = torch.full_like(self.cost, INFINITE)
        self.cost = torch.cat([self.cost, more], dim=1)
        if isinstance(self._slots, SlotHash):
            width, device = 4 * self.capacity, self.node.device
            self._slots = SlotHash(self.num_rows, width, device)
            row, slot = (self.node >= 0).nonzero().unbind(1)
            self._slots.put(row, self.node[row, slot], slot)

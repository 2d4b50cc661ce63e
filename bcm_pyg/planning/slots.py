"""Where the nodes of a batch of lists are: by table, or by hash."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class Slots(Protocol):
    """The place of each node in the list of its row."""

    def find(self, row: Tensor, node: Tensor) -> Tensor:
        """Places :obj:`[M]`, -1 where a node is not in the list."""
        ...

    def put(self, row: Tensor, node: Tensor, slot: Tensor) -> None:
        """Notes the places of nodes that are new, :obj:`[M]`."""
        ...

    def keep(self, row: Tensor) -> None:
        """Keeps these rows, in this order, and forgets the others."""
        ...


class SlotTable:
    """One entry for each row and node: 4 bytes.

    Args:
        num_rows (int): Number of lists.
        num_nodes (int): Nodes of the graph.
        device (torch.device): Where to keep them.
    """

    def __init__(
        self, num_rows: int, num_nodes: int, device: torch.device
    ) -> None:
        self._slot = torch.full(
            (num_rows * num_nodes,), -1, dtype=torch.int32, device=device
        )
        self._begin = torch.arange(num_rows, device=device) * num_nodes

    def find(self, row: Tensor, node: Tensor) -> Tensor:
        """Places :obj:`[M]`, -1 where a node is not in the list."""
        here = self._begin.index_select(0, row).add_(node)
        return self._slot.index_select(0, here).long()

    def put(self, row: Tensor, node: Tensor, slot: Tensor) -> None:
        """Notes the places of nodes that are new, :obj:`[M]`."""
        here = self._begin.index_select(0, row).add_(node)
        self._slot[here] = slot.to(torch.int32)

    def keep(self, row: Tensor) -> None:
        """Keeps these rows, in this order; no memory becomes free."""
        self._begin = self._begin[row]


class SlotHash:
    """Open addressing, in as many entries a row as are asked for.

    Args:
        num_rows (int): Number of lists.
        width (int): Entries of a row, a power of two, more than the list gets.
        device (torch.device): Where to keep them.
    """

    def __init__(self, num_rows: int, width: int, device: torch.device) -> None:
        self._node = torch.full((num_rows, width), -1, device=device)
        self._slot = torch.zeros_like(self._node, dtype=torch.int32)

    def find(self, row: Tensor, node: Tensor) -> Tensor:
        """Places :obj:`[M]`, -1 where a node is not in the list."""
        nodes, slots = self._node.view(-1), self._slot.view(-1)
        begin, place = self._begin(row, node)
        slot = torch.full_like(node, -1)
        left = torch.arange(node.numel(), device=node.device)
        while left.numel() > 0:
            here = begin + place
            entry = nodes[here]
            found = entry == node
            slot[left[found]] = slots[here[found]].long()
            on = ((entry >= 0) & ~found).nonzero().squeeze(1)
            left, node, begin = left[on], node[on], begin[on]
            place = self._next(place[on])
        return slot

    def put(self, row: Tensor, node: Tensor, slot: Tensor) -> None:
        """Notes the places of nodes that are new, :obj:`[M]`."""
        nodes, slots = self._node.view(-1), self._slot.view(-1)
        begin, place = self._begin(row, node)
        while node.numel() > 0:
            here = begin + place
            free = nodes[here] < 0
            nodes[here[free]] = node[free]
            # Of several that want the same entry one has got it.
            won = free & (nodes[here] == node)
            slots[here[won]] = slot[won].to(torch.int32)
            on = (~won).nonzero().squeeze(1)
            node, begin, slot = node[on], begin[on], slot[on]
            place = self._next(place[on])

    def keep(self, row: Tensor) -> None:
        """Keeps these rows, in this order, and forgets the others."""
        self._node, self._slot = self._node[row], self._slot[row]

    def _begin(self, row: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
        """Where the entries of a row begin, and where to look first."""
        width = self._node.size(1)
        return row * width, ((node * 2654435761) >> 16) & (width - 1)

    def _next(self, place: Tensor) -> Tensor:
        return (place + 1) & (self._node.size(1) - 1)

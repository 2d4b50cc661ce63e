from __future__ import annotations

import torch
from torch import Tensor


class VisitedSets:
    """One set of nodes per query, all in one hash table.

    A row of the table belongs to a query. Rows are of equal width, a power of
    two that doubles when the fullest row is half full, so that memory is at
    most 32 bytes per row and step of the longest walk, however large the graph.

    Args:
        num_rows (int): Number of sets.
        device (torch.device): Where to keep them.
    """

    def __init__(self, num_rows: int, device: torch.device) -> None:
        self._table = torch.full(
            (num_rows, 16), -1, dtype=torch.long, device=device
        )
        self._fullest = 0  # an upper bound of the largest set

    @property
    def num_rows(self) -> int:
        """Number of sets."""
        return self._table.size(0)

    def _slot(self, node: Tensor) -> Tensor:
        return ((node * 2654435761) >> 16) & (self._table.size(1) - 1)

    def contains(self, row: Tensor, node: Tensor) -> Tensor:
        """Whether each node is in the set of its row, bool :obj:`[M]`."""
        found = torch.zeros_like(node, dtype=torch.bool)
        left = torch.arange(node.numel(), device=node.device)
        slot = self._slot(node)
        while left.numel() > 0:
            entry = self._table[row[left], slot[left]]
            found[left] = entry == node[left]
            left = left[(entry != node[left]) & (entry >= 0)]
            slot[left] = (slot[left] + 1) & (self._table.size(1) - 1)
        return found

    def add(self, row: Tensor, node: Tensor) -> None:
        """Puts one node into each of some sets; no row may come twice."""
        if 2 * (self._fullest + 1) > self._table.size(1):
            self._grow()
        self._insert(row, node)
        self._fullest += 1

    def keep(self, row: Tensor) -> None:
        """Keeps these rows, in this order, and forgets the others."""
        self._table = self._table[row]

    def _insert(self, row: Tensor, node: Tensor) -> None:
        slot = self._slot(node)
        while row.numel() > 0:
            entry = self._table[row, slot]
            here = (entry < 0) | (entry == node)
            self._table[row[here], slot[here]] = node[here]
            row, node = row[~here], node[~here]
            slot = (slot[~here] + 1) & (self._table.size(1) - 1)

    def _grow(self) -> None:
        old = self._table
        self._table = torch.full(
            (old.size(0), 2 * old.size(1)),
            -1,
            dtype=torch.long,
            device=old.device,
        )
        for column in old.T:
            row = (column >= 0).nonzero().squeeze(1)
            self._insert(row, column[row])

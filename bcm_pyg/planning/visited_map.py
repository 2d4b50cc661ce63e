from __future__ import annotations

import torch
from torch import Tensor

#: Maps of at most so many bytes spend a byte on what a bit would do for.
SMALL_BYTES = 2**23


class VisitedMap:
    """One set of nodes per query, as a bit for every query and node.

    Faster than :class:`~bcm_pyg.planning.visited.VisitedSets`, but its memory
    grows with the graph. Where that is little, it is a byte instead of a bit.

    Args:
        num_rows (int): Number of sets.
        num_nodes (int): Number of nodes.
        device (torch.device): Where to keep them.
    """

    def __init__(
        self, num_rows: int, num_nodes: int, device: torch.device
    ) -> None:
        self.num_rows = num_rows
        self._packed = num_rows * num_nodes > SMALL_BYTES
        self._width = -(-num_nodes // 8) if self._packed else num_nodes
        self._bytes = torch.zeros(
            num_rows * self._width, dtype=torch.uint8, device=device
        )

    @staticmethod
    def num_bytes(num_rows: int, num_nodes: int) -> int:
        """Bytes that the sets would take, above the small ones."""
        return num_rows * -(-num_nodes // 8)

    def rows(self) -> Tensor:
        """What stands for each of the sets: where it begins."""
        rows = torch.arange(self.num_rows, device=self._bytes.device)
        return rows * self._width

    def contains(self, row: Tensor, node: Tensor) -> Tensor:
        """Whether each node is in the set of its row; shapes broadcast."""
        place = row + (node >> 3 if self._packed else node)
        found = self._bytes.index_select(0, place.view(-1)).view(place.shape)
        if self._packed:
            found = found >> (node & 7) & 1
        return found.bool()

    def add(self, row: Tensor, node: Tensor) -> None:
        """Puts one node into each of some sets; no row may come twice."""
        if not self._packed:
            self._bytes.index_fill_(0, row + node, 1)
            return
        place = row + (node >> 3)
        value = self._bytes.index_select(0, place)
        value |= (1 << (node & 7)).byte()
        self._bytes.index_copy_(0, place, value)

    def keep(self, row: Tensor) -> Tensor:
        """Keeps these sets; the others are left where they are.

        Returns:
            What stands for the sets that are kept, as before.
        """
        self.num_rows = row.numel()
        return row

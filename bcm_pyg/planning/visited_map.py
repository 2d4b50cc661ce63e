from __future__ import annotations

import torch
from torch import Tensor


class VisitedMap:
    """One set of nodes per query, as a byte for every query and node.

    The fastest of the sets where graph and batch are small.

    Args:
        num_rows (int): Number of sets.
        num_nodes (int): Number of nodes.
        device (torch.device): Where to keep them.
    """

    def __init__(
        self, num_rows: int, num_nodes: int, device: torch.device
    ) -> None:
        self.num_nodes = num_nodes
        self._seen = torch.zeros(
            num_rows * num_nodes, dtype=torch.bool, device=device
        )

    @property
    def num_rows(self) -> int:
        """Number of sets."""
        return self._seen.numel() // self.num_nodes

    def rows(self) -> Tensor:
        """What stands for each of the sets: where it begins."""
        size = self._seen.numel()
        return torch.arange(0, size, self.num_nodes, device=self._seen.device)

    def contains(self, row: Tensor, node: Tensor) -> Tensor:
        """Whether each node is in the set of its row; shapes broadcast."""
        place = row + node
        return self._seen.index_select(0, place.view(-1)).view(place.shape)

    def add(self, row: Tensor, node: Tensor) -> None:
        """Puts one node into each of some sets; no row may come twice."""
        self._seen.index_fill_(0, row + node, True)

    def keep(self, row: Tensor) -> None:
        """Keeps these sets, in this order, and forgets the others."""
        table = self._seen.view(-1, self.num_nodes)
        self._seen = table.index_select(0, row // self.num_nodes).view(-1)

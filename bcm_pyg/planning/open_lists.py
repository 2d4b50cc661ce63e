from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from bcm_pyg.utils import scatter_min

from .node_lists import INFINITE, NodeLists

#: The rank of a node that is not open.
CLOSED = torch.iinfo(torch.long).max


class Best(NamedTuple):
    """The most promising open nodes of each list, best first.

    Attributes:
        slot: :obj:`[R, K]` their places in the lists.
        node: :obj:`[R, K]` the nodes.
        value: :obj:`[R, K]` what a route through each is hoped to cost;
            infinite where there are no more.
    """

    slot: Tensor
    node: Tensor
    value: Tensor


class OpenLists(NodeLists):
    """The nodes that each of a batch of searches has found.

    A node has a cost from the start, and while it is open a value by which it
    waits for its turn. Values are float64 numbers from which the last bits are
    taken (11 at 1,000 nodes, of 52) to make them distinct, so that the order
    never depends on the batch: of nodes of equal value the last found is first.

    Args:
        starts (torch.Tensor): The start of each search, :obj:`[R]`.
        num_nodes (int): Nodes of the graph.

    Attributes:
        cost: :obj:`[R, C]` cost of the best way found to each node; minus
            infinite where a better one is of no use.
        reopen: Whether a node that had its turn has another when it is reached
            at less cost.
    """

    def __init__(self, starts: Tensor, num_nodes: int) -> None:
        super().__init__(starts.numel(), num_nodes, starts.device)
        self.reopen = False
        self._mask = (1 << num_nodes.bit_length()) - 1
        self._rank = torch.full_like(self.node, CLOSED)
        row = torch.arange(starts.numel(), device=starts.device)
        zero = torch.zeros_like(starts, dtype=torch.float64)
        self.reach(row, starts, zero, zero, distinct=True)

    def reach(
        self,
        row: Tensor,
        node: Tensor,
        cost: Tensor,
        value: Tensor,
        distinct: bool = False,
    ) -> None:
        """Notes ways to nodes, where they are new or better than before.

        Args:
            row (torch.Tensor): The search that found each, ascending,
                :obj:`[M]`.
            node (torch.Tensor): Where each way leads, :obj:`[M]`.
            cost (torch.Tensor): What it costs from the start, :obj:`[M]`.
            value (torch.Tensor): What a route is hoped to cost that way,
                :obj:`[M]`, at least 0 and finite.
            distinct (bool, optional): Whether no two ways of a search lead to
                the same node. (default: :obj:`False`)
        """
        slot = self.find(row, node)
        here = self.at(row, slot.clamp(min=0))
        known = self.cost.view(-1).index_select(0, here)
        known = known.masked_fill_(slot < 0, INFINITE)
        better = (cost < known).nonzero().squeeze(1)
        row, node, cost, value, slot = (
            part.index_select(0, better)
            for part in (row, node, cost, value, slot)
        )
        if not distinct:
            pair, group = (row * (self._mask + 1) + node).unique(
                return_inverse=True
            )
            best = scatter_min(cost, group, dim_size=pair.numel())[1]
            row, node, cost, value, slot = (
                part[best] for part in (row, node, cost, value, slot)
            )
        new = (slot < 0).nonzero().squeeze(1)
        slot[new] = self.append(row[new], node[new])
        here = self.at(row, slot)
        self.cost.view(-1)[here] = cost
        bits = value.contiguous().view(torch.long)  # in the order of values
        rank = bits & ~self._mask | (self._mask - slot)
        self._rank.view(-1)[here] = rank

    def best(self, count: int) -> Best:
        """The :obj:`count` open nodes of lowest value of each list."""
        if count == 1:
            rank = self._rank.amin(dim=1, keepdim=True)
        else:
            count = min(count, self.capacity)
            rank = self._rank.topk(count, dim=1, largest=False).values
        slot = self._mask - (rank & self._mask)
        slot = slot.masked_fill(rank == CLOSED, 0)
        value = (rank & ~self._mask).view(torch.float64)
        value = value.masked_fill(rank == CLOSED, INFINITE)
        return Best(slot, self.node.gather(1, slot), value)

    def close(self, row: Tensor, slot: Tensor) -> None:
        """Ends the turn of nodes."""
        here = self.at(row, slot)
        self._rank.view(-1)[here] = CLOSED
        if not self.reopen:
            self.cost.view(-1)[here] = -INFINITE

    def forget(self, spare: Tensor) -> None:
        """Drops the open nodes, but for one node :obj:`[R]` of each list."""
        gone = (self._rank < CLOSED) & (self.node != spare[:, None])
        self._rank.masked_fill_(gone, CLOSED)
        self.cost.masked_fill_(gone, INFINITE)

    def keep(self, row: Tensor) -> None:
        """Keeps these lists, in this order, and forgets the others."""
        super().keep(row)
        self._rank = self._rank[row]

    def _grow(self) -> None:
        super()._grow()
        closed = torch.full_like(self._rank, CLOSED)
        self._rank = torch.cat([self._rank, closed], dim=1)

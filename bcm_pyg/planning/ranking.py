"""The fast way to the best neighbours: scores without what they share."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from .edge_cache import EdgeCache
from .neighbors import NeighborTable
from .row_products import row_products

#: Rows of slopes that are read at a time: 2**13 of 256 floats are 8 MB.
MAX_SLOPES = 2**13


class Ranking(Protocol):
    """Ranks the ways on from nodes, in tables instead of lists.

    A :class:`~bcm_pyg.planning.Scorer` may offer one as :obj:`ranking`; greedy
    rollouts then use it. Ranks of one node are its scores but for a constant
    that all share: they say which way is best, and by how much.
    """

    @property
    def table(self) -> NeighborTable:
        """The ways on that are ranked."""
        ...

    def goal_rows(self, goals: Tensor) -> Tensor:
        """What is kept of each goal during its walk, :obj:`[B, *]`."""
        ...

    def __call__(
        self, nodes: Tensor, goals: Tensor, goal_rows: Tensor, heads: Tensor
    ) -> Tensor:
        """A new tensor of ranks, :obj:`[B, W]`.

        Those of padding and of nodes that are too wide for the table mean
        nothing, but padding never comes before a finite rank.

        Args:
            nodes (torch.Tensor): The nodes, :obj:`[B]`.
            goals (torch.Tensor): The goal of each, :obj:`[B]`.
            goal_rows (torch.Tensor): What :meth:`goal_rows` said of these.
            heads (torch.Tensor): The rows of the table, :obj:`[B, W]`.
        """
        ...


class MapRanking:
    r"""Ranks by a map: one product with :math:`W_2` a node, and dot products.

    The score of the edge into the goal is what the convention of the map says.
    As :math:`D_i(g; g) = 0` by construction, its rank before that is minus the
    constant that all ranks of the node lack: no further layer is needed to
    compare it with the others.

    Args:
        cache (EdgeCache): What is known of the edges.
        cost_scale (float): The cost that a score of 1 stands for.
        terminal (str): The terminal convention.
    """

    def __init__(
        self, cache: EdgeCache, cost_scale: float, terminal: str
    ) -> None:
        self.cache = cache
        self.cost_scale = cost_scale
        self.terminal = terminal
        self.table = cache.table

    @torch.no_grad()
    def goal_rows(self, goals: Tensor) -> Tensor:
        """Hidden rows of the goals with the first bias, :obj:`[B, H]`."""
        bias = self.cache.transition.lin1.bias
        return self.cache.hidden.index_select(0, goals).add_(bias)

    @torch.no_grad()
    def __call__(
        self, nodes: Tensor, goals: Tensor, goal_rows: Tensor, heads: Tensor
    ) -> Tensor:
        """A new tensor of ranks, :obj:`[B, W]`."""
        size = max(1, MAX_SLOPES // self.table.width)
        if nodes.numel() <= size:
            return self._rank(nodes, goals, goal_rows, heads)
        parts = (part.split(size) for part in (nodes, goals, goal_rows, heads))
        return torch.cat(
            [self._rank(*part) for part in zip(*parts, strict=True)]
        )

    def _rank(
        self, nodes: Tensor, goals: Tensor, goal_rows: Tensor, heads: Tensor
    ) -> Tensor:
        cache, table = self.cache, self.table
        cache.fill(nodes)
        difference = goal_rows - cache.hidden.index_select(0, nodes)
        feature = cache.transition.features(difference, inplace=True)

        rest = table.rest.index_select(0, nodes)  # [B, W - 1]
        change = row_products(feature, cache.slope, rest)
        rank = cache.offsets.index_select(0, nodes)
        rank[:, 1:].add_(change)  # the others are told from the first
        if self.terminal == 'calibrated':
            cost = table.cost.index_select(0, nodes)
            last = torch.add(rank, cost, alpha=1 / self.cost_scale)
            rank = torch.where(heads == goals[:, None], last, rank)
        return rank

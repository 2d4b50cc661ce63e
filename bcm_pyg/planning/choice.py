"""Where each of a batch of walks goes next."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency, scatter_min

from .ranking import Ranking
from .scorer import Scorer
from .visited import Visited

INFINITE = float('inf')


class Choice(NamedTuple):
    """The next step of each walk.

    Attributes:
        node: :obj:`[B]` where it goes; where no edge leaves, it stays.
        place: :obj:`[B]` which of its edges it takes: 0 for the first.
        is_old: :obj:`[B]` whether it has been there before.
    """

    node: Tensor
    place: Tensor
    is_old: Tensor


class Chooser:
    """Chooses the best-scored way on, or the best-scored new one.

    Args:
        scorer (Scorer): Scores the ways on; its ranking, if it has one, is
            used where it can be.
        adjacency (Adjacency): The graph.
        prefer_unvisited (bool): Whether neighbours that were not visited come
            first, whatever their score.
    """

    def __init__(
        self, scorer: Scorer, adjacency: Adjacency, prefer_unvisited: bool
    ) -> None:
        self.scorer = scorer
        self.adjacency = adjacency
        self.prefer_unvisited = prefer_unvisited
        self.ranking: Ranking | None = getattr(scorer, 'ranking', None)

    def goal_rows(self, goals: Tensor) -> Tensor:
        """What is kept of each goal during its walk."""
        if self.ranking is None:
            return goals
        return self.ranking.goal_rows(goals)

    def __call__(
        self,
        nodes: Tensor,
        goals: Tensor,
        goal_rows: Tensor,
        visited: Visited,
        row: Tensor,
    ) -> Choice:
        """The next step of each walk, which is then visited.

        Args:
            nodes (torch.Tensor): Where the walks are, :obj:`[B]`.
            goals (torch.Tensor): Where they go, :obj:`[B]`.
            goal_rows (torch.Tensor): What :meth:`goal_rows` said of them.
            visited (Visited): Where they have been.
            row (torch.Tensor): Their rows in it, :obj:`[B]`.
        """
        if self.ranking is None:
            return self._from_candidates(nodes, goals, visited, row)
        table = self.ranking.table
        heads = table.head.index_select(0, nodes)
        rank = self.ranking(nodes, goals, goal_rows, heads)
        if self.prefer_unvisited:
            # An overflowed rank must not tie with one that is ruled out.
            rank.clamp_(max=torch.finfo(rank.dtype).max)
            seen = visited.contains(row[:, None], heads)  # padding is seen, too
            all_seen = seen.all(dim=1, keepdim=True)
            rank.masked_fill_(seen > all_seen, INFINITE)
        place = rank.argmin(dim=1)
        at = torch.add(place, nodes, alpha=table.width)
        node = table.head.view(-1).index_select(0, at)
        if self.prefer_unvisited:
            is_old = all_seen.squeeze(1)
        else:
            is_old = visited.contains(row, node)
        choice = Choice(node, place, is_old)
        visited.add(row, node)
        if table.wide is not None:
            wide = table.wide.index_select(0, nodes).nonzero().squeeze(1)
            if wide.numel() > 0:
                other = self._from_candidates(
                    nodes[wide], goals[wide], visited, row[wide]
                )
                for mine, theirs in zip(choice, other, strict=True):
                    mine.index_copy_(0, wide, theirs)
        return choice

    def _from_candidates(
        self, nodes: Tensor, goals: Tensor, visited: Visited, row: Tensor
    ) -> Choice:
        ways = self.scorer(nodes, goals)
        head = self.adjacency.dst[ways.edge]
        score = ways.score
        if self.prefer_unvisited:
            seen = visited.contains(row[ways.row], head)
            fresh = torch.zeros_like(nodes, dtype=torch.bool)
            fresh[ways.row[~seen]] = True
            # An overflowed score must not tie with one that is ruled out.
            score = score.clamp(max=torch.finfo(score.dtype).max)
            score = score.masked_fill(seen & fresh[ways.row], INFINITE)
        best = scatter_min(score, ways.row, dim_size=nodes.numel())[1]
        moves = best >= 0
        best = best[moves]
        node, place = nodes.clone(), torch.zeros_like(nodes)
        node[moves] = head[best]
        place[moves] = ways.edge[best] - self.adjacency.rowptr[nodes[moves]]
        is_old = visited.contains(row, node)
        visited.add(row, node)
        return Choice(node, place, is_old)

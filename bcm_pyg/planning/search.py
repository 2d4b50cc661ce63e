"""Best-first search for a batch of queries in lock step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency

from .open_lists import OpenLists
from .readout import cost_scale
from .scorer import Scorer

#: Room for found nodes, over all queries: 24 bytes each, 72 by hash.
MAX_FOUND = 2**22
#: One node in so many that a search has expanded has its turn at once.
SHARE = 64


class Searched(NamedTuple):
    """What the searches of some queries did.

    Attributes:
        query: :obj:`[Q]` the queries.
        pairs: :obj:`[M]` the expanded nodes, as sorted :math:`q N + i` of a
            position :math:`q` in :obj:`query` and a node :math:`i`.
        bound: :obj:`[Q]` the lowest value of an open node in the end; infinite
            where there was none left.
        reached: :obj:`[Q]` whether that node was the goal.
    """

    query: Tensor
    pairs: Tensor
    bound: Tensor
    reached: Tensor


def search(
    scorer: Scorer,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
    *,
    weight: float = 1.0,
    width: int | None = None,
    most: Tensor | None = None,
    ceiling: Tensor | None = None,
    reopen: bool = False,
) -> Iterator[Searched]:
    r"""Expands the most promising nodes until the goal is the best of all.

    The value of a neighbour :math:`j` of an expanded node :math:`i` is

    .. math::
        f(j) = c(i) + c_{ij} + w \max(0, D_i(j; g) - c_{ij}) ,

    where :math:`c(i)` is the cost of the way found to :math:`i`: one pass of
    the map per expanded node serves all its neighbours. Without :obj:`width`
    the search is complete: it ends at the goal, or has expanded all nodes that
    the start can reach.

    The first 64 nodes are expanded one by one; then one in 64 of those expanded
    so far have their turn at once, so that a search of :math:`n` nodes takes
    about :math:`64 (1 + \log(n / 64))` steps. There is room for at most
    :math:`2^{23}` found nodes at a time (200 MB, and 256 MB to find them by
    table or 400 MB by hash), or for those of one query: queries that need more
    are set aside and begun anew.

    Args:
        scorer (Scorer): Scores the ways on.
        adjacency (Adjacency): The graph.
        starts (torch.Tensor): :obj:`[B]`.
        goals (torch.Tensor): :obj:`[B]`.
        weight (float, optional): :math:`w`. (default: :obj:`1.0`)
        width (int, optional): Expand so many at each step, and forget what
            else is open. (default: :obj:`None`)
        most (torch.Tensor, optional): End after so many expansions, :obj:`[B]`.
        ceiling (torch.Tensor, optional): Do not expand nodes of such a value or
            a higher one, :obj:`[B]`.
        reopen (bool, optional): Expand a node again when it is reached at less
            cost. (default: :obj:`False`)

    Returns:
        The searches of all queries, in parts.
    """
    waiting = [torch.arange(starts.numel(), device=starts.device)]
    while waiting:
        query = waiting.pop()
        batch = _Searches(scorer, adjacency, starts[query], goals[query])
        batch.weight, batch.width = weight, width
        batch.lists.reopen = reopen
        if most is not None:
            batch.most = most[query]
        if ceiling is not None:
            batch.ceiling = ceiling[query]
        done = batch.run()
        if not bool(done.all()):
            waiting.append(query[~done])
        yield batch.searched(query, done)


class _Searches:
    """The searches of a batch of queries, or of those of them that fit."""

    def __init__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> None:
        self.scorer = scorer
        self.adjacency = adjacency
        self.weight = 1.0
        self.width: int | None = None
        self.cost_scale = cost_scale(scorer)
        self.bound = torch.zeros_like(goals, dtype=torch.float64)
        self.reached = torch.zeros_like(goals, dtype=torch.bool)
        self.expanded = [goals[:0]]  # pairs of query and node
        # One entry for each list.
        self.lists = OpenLists(starts, adjacency.num_nodes)
        self.query = torch.arange(goals.numel(), device=goals.device)
        self.goal = goals
        self.turns = torch.zeros_like(goals)
        self.on = torch.ones_like(goals, dtype=torch.bool)
        self.most = torch.full_like(goals, torch.iinfo(torch.long).max)
        self.ceiling = torch.full_like(self.bound, float('inf'))

    def run(self) -> Tensor:
        """Searches; which queries are done, bool :obj:`[B]`."""
        done = torch.ones_like(self.on)
        while True:
            row, slot, node = self._next()
            if row.numel() == 0:
                return done
            self._expand(row, slot, node)
            kept = self.on.nonzero().squeeze(1)
            fit = max(1, MAX_FOUND // self.lists.capacity)
            if kept.numel() > fit:
                half = (kept.numel() + 1) // 2
                done[self.query[kept[half:]]] = False
                kept = kept[:half]
            if 4 * kept.numel() < 3 * self.on.numel():
                self._keep(kept)

    def _next(self) -> tuple[Tensor, Tensor, Tensor]:
        """List, place and node of all whose turn it is; ends searches."""
        if self.width is None:
            count = 1 + self.turns // SHARE
        else:
            count = torch.full_like(self.turns, self.width)
        best = self.lists.best(int((count * self.on).max()))
        at_goal = best.node == self.goal[:, None]
        first, arrived = best.value[:, 0], at_goal[:, 0]
        ended = arrived | first.isinf()
        ended |= (first >= self.ceiling) | (self.turns >= self.most)
        ended &= self.on
        if bool(ended.any()):
            self.bound[self.query[ended]] = first[ended]
            self.reached[self.query[ended]] = arrived[ended]
            self.on = self.on & ~ended
        place = torch.arange(best.node.size(1), device=self.goal.device)
        turn = (place < count[:, None]) & self.on[:, None]
        turn &= best.value < self.ceiling[:, None]
        turn &= at_goal.cumsum(dim=1) == 0  # what looks better than the goal
        row, place = turn.nonzero().unbind(1)
        return row, best.slot[row, place], best.node[row, place]

    def _expand(self, row: Tensor, slot: Tensor, node: Tensor) -> None:
        lists = self.lists
        cost_so_far = lists.cost[row, slot]
        lists.close(row, slot)
        if self.width is not None:
            lists.forget(self.goal)
        self.turns += torch.bincount(row, minlength=lists.num_rows)
        self.expanded.append(self.query[row] * self.adjacency.num_nodes + node)
        ways = self.scorer(node, self.goal[row])
        edge_cost = self.adjacency.cost[ways.edge].double()
        cost = cost_so_far[ways.row] + edge_cost
        rest = ways.score.detach().double() * self.cost_scale - edge_cost
        value = cost
        if self.weight > 0:  # 0 times infinity is no number
            value = cost + self.weight * rest.clamp(min=0)
        most = torch.finfo(value.dtype).max
        value = value.nan_to_num(nan=most, posinf=most)  # last, but not lost
        head = self.adjacency.dst[ways.edge]
        one_each = row.numel() == row.unique_consecutive().numel()
        lists.reach(row[ways.row], head, cost, value, distinct=one_each)

    def _keep(self, rows: Tensor) -> None:
        self.lists.keep(rows)
        self.query, self.goal = self.query[rows], self.goal[rows]
        self.turns, self.on = self.turns[rows], self.on[rows]
        self.most, self.ceiling = self.most[rows], self.ceiling[rows]

    def searched(self, query: Tensor, done: Tensor) -> Searched:
        """What was done, without the queries that were set aside."""
        num_nodes = self.adjacency.num_nodes
        pairs = torch.cat(self.expanded).unique()
        row = pairs // num_nodes
        place = done.cumsum(0) - 1
        pairs = place[row] * num_nodes + pairs % num_nodes
        return Searched(
            query[done], pairs[done[row]], self.bound[done], self.reached[done]
        )

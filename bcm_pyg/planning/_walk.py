"""Walks to the best-scored neighbour by any scorer, in torch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency, scatter_min

from .base import Scorer
from .plan import Plan

#: Bytes of the sets of visited nodes at a time.
MAX_BYTES = 2**28


def walk(
    scorer: Scorer,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
    prefer_unvisited: bool,
) -> Plan:
    r"""Walks from each start until its goal, a dead end, or :math:`N` steps.

    A walk that provably goes in a circle is ended earlier. If
    :obj:`prefer_unvisited`, unvisited neighbours come first at any score.
    """
    size = max(1, 8 * MAX_BYTES // adjacency.num_nodes)
    parts = zip(starts.split(size), goals.split(size), strict=True)
    walks = (_Walks(scorer, adjacency, *x, prefer_unvisited) for x in parts)
    with torch.no_grad():
        return Plan.cat([walk.plan() for walk in walks])


@dataclass(eq=False)
class _Walks:
    """The walks of a batch, in lock step.

    Memory: a bit a query and node, and 16 bytes a query and step.
    """

    scorer: Scorer
    adjacency: Adjacency
    starts: Tensor
    goals: Tensor
    prefer_unvisited: bool

    def __post_init__(self) -> None:
        # To end circles: a node of the walk since the last new one, how many
        # steps ago that was, and when to watch another.
        self.watched = self.starts.clone()
        self.stale = torch.zeros_like(self.starts)
        self.lap = torch.ones_like(self.starts)

    def plan(self) -> Plan:
        """Walks, and makes a plan of it."""
        starts, adjacency = self.starts, self.adjacency
        success = starts == self.goals
        cost = torch.zeros_like(starts, dtype=torch.float64)
        expansions = torch.zeros_like(starts)
        steps: list[tuple[Tensor, Tensor]] = []
        on = (~success).nonzero().squeeze(1)  # queries under way
        node, is_new = starts[on], torch.ones_like(on, dtype=torch.bool)
        visited = _Visited(starts, adjacency.num_nodes)
        visited.add(on, node)
        for _ in range(adjacency.num_nodes):
            if on.numel() == 0:
                break
            expansions[on] += is_new
            edge = self._choose(on, node, visited)
            moved = edge >= 0  # False at a dead end
            on, edge = on[moved], edge[moved]
            node = adjacency.dst[edge]
            cost[on] += adjacency.exact_cost[edge]
            steps.append((on, node))
            is_new = ~visited.contains(on, node)
            visited.add(on, node)
            arrived = node == self.goals[on]
            success[on[arrived]] = True
            going = ~arrived & ~self._circles(on, node, is_new)
            on, node, is_new = on[going], node[going], is_new[going]
        return Plan.from_steps(
            starts, steps, success=success, cost=cost, expansions=expansions
        )

    def _choose(self, on: Tensor, node: Tensor, visited: _Visited) -> Tensor:
        """The edge that each walk takes, -1 at a dead end."""
        edge, source, score = self.scorer(node, self.goals[on])
        # An overflowed score must not tie with one that is ruled out.
        most = torch.finfo(score.dtype).max
        score = score.nan_to_num(nan=most, posinf=most)
        if self.prefer_unvisited:
            seen = visited.contains(on[source], self.adjacency.dst[edge])
            fresh = torch.zeros_like(node, dtype=torch.bool)
            fresh[source[~seen]] = True
            score = score.masked_fill(seen & fresh[source], float('inf'))
        best = scatter_min(score, source, dim_size=node.numel())[1]
        out = torch.full_like(node, -1)
        out[best >= 0] = edge[best[best >= 0]]
        return out

    def _circles(self, on: Tensor, node: Tensor, is_new: Tensor) -> Tensor:
        """Which walks provably never arrive.

        Without memory, the second visit of a node is a circle. With it, the
        second visit while no node was new is one. It is enough to watch one
        node, and another at growing intervals (Brent's algorithm).
        """
        if not self.prefer_unvisited:
            return ~is_new
        stale = torch.where(is_new, 0, self.stale[on] + 1)
        again = ~is_new & (node == self.watched[on])
        lap = self.lap[on]
        watch_it = is_new | (stale >= lap)
        self.watched[on] = torch.where(watch_it, node, self.watched[on])
        lap = torch.where(watch_it, 2 * lap, lap)
        self.lap[on] = torch.where(is_new, 1, lap)
        self.stale[on] = stale
        return again


class _Visited:
    """A set of nodes for each query, as bits."""

    def __init__(self, queries: Tensor, num_nodes: int) -> None:
        shape = queries.numel(), -(-num_nodes // 8)
        self._bytes = queries.new_zeros(shape, dtype=torch.uint8)

    def contains(self, query: Tensor, node: Tensor) -> Tensor:
        """Whether each node is in the set of its query."""
        return (self._bytes[query, node >> 3] >> (node & 7) & 1).bool()

    def add(self, query: Tensor, node: Tensor) -> None:
        """Puts one node into each of some sets; no query may come twice."""
        self._bytes[query, node >> 3] |= (1 << (node & 7)).byte()

"""Rollouts of a map, whatever its weights, along the true shortest paths.

How long a rollout takes does not depend on what the weights are, but on how
many hops it makes. So that large graphs can be timed without training a map of
them, all network work is done as ever, and then the true next hop is taken.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from bcm_pyg import Planner
from bcm_pyg.planning import Candidates, MapScorer
from bcm_pyg.planning.neighbors import NeighborTable
from bcm_pyg.planning.ranking import MapRanking
from bcm_pyg.planning.rollout import MAX_STEPS
from bcm_pyg.utils import Adjacency


def sample_routes(
    adjacency: Adjacency, num: int, seed: int, sources: int = 20
) -> Tensor:
    """Shortest paths between random nodes, :obj:`[num, L]`, padded with -1.

    They start at few nodes, as each takes an exact search, and end at distinct
    ones, as a driven scorer tells queries by their goals.
    """
    rng = np.random.default_rng(seed)
    graph = adjacency.to_scipy()
    used = np.flatnonzero(np.diff(graph.indptr))
    parts: list[list[np.ndarray]] = []
    taken = np.zeros(adjacency.num_nodes, dtype=bool)
    share = -(-num // sources)
    while num > 0:
        start = rng.choice(used)
        _, before = dijkstra(graph, indices=start, return_predecessors=True)
        ends = np.flatnonzero((before >= 0) & ~taken)
        ends = rng.permutation(ends)[: min(share, num)]
        taken[ends] = True
        num -= ends.size
        steps = [ends]  # backwards
        while (steps[-1] != start).any():
            node = steps[-1]
            steps.append(np.where(node == start, start, before[node]))
        parts.append(_forwards(np.stack(steps, axis=1), start))
    width = max(part.shape[1] for part in parts)
    out = [
        np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-1)
        for part in parts
    ]
    return torch.from_numpy(np.concatenate(out)).long()


def _forwards(back: np.ndarray, start: int) -> np.ndarray:
    """Rows that end with repeats of the start, turned round and padded."""
    length = (back != start).sum(axis=1) + 1
    place = length[:, None] - 1 - np.arange(back.shape[1])
    route = np.take_along_axis(back, np.maximum(place, 0), axis=1)
    return np.where(place >= 0, route, -1)


class Driver:
    """Knows the next hop of each query, told by its goal.

    Args:
        routes (torch.Tensor): Paths to distinct goals, :obj:`[B, L]`, padded
            with -1.
        num_nodes (int): Number of nodes.
    """

    def __init__(self, routes: Tensor, num_nodes: int) -> None:
        length = (routes >= 0).sum(dim=1)
        self.starts = routes[:, 0]
        self.goals = routes.gather(1, length[:, None] - 1).squeeze(1)
        self.hops = length - 1
        # Walks may go on beyond their goals for some steps.
        routes = torch.nn.functional.pad(routes, (0, MAX_STEPS + 1), value=-1)
        self._nodes = routes.reshape(-1)
        self._next = torch.zeros(num_nodes, dtype=torch.long)  # by goal
        self._first = torch.arange(routes.size(0)) * routes.size(1) + 1

    def begin(self) -> None:
        """To be called before each rollout."""
        self._next[self.goals] = self._first

    def next_hop(self, goals: Tensor) -> Tensor:
        """The next node on the way to each goal, -1 beyond its end."""
        here = self._next.index_select(0, goals)
        self._next.index_copy_(0, goals, here + 1)
        return self._nodes.index_select(0, here)


class DrivenRanking:
    """Ranks as a map does, then puts the true next hop first."""

    def __init__(self, ranking: MapRanking, driver: Driver) -> None:
        self.ranking = ranking
        self.driver = driver

    @property
    def table(self) -> NeighborTable:
        """The ways on that are ranked."""
        return self.ranking.table

    def goal_rows(self, goals: Tensor) -> Tensor:
        """What is kept of each goal during its walk."""
        return self.ranking.goal_rows(goals)

    def __call__(
        self, nodes: Tensor, goals: Tensor, goal_rows: Tensor, heads: Tensor
    ) -> Tensor:
        """A new tensor of ranks, :obj:`[B, W]`."""
        rank = self.ranking(nodes, goals, goal_rows, heads)
        best = self.driver.next_hop(goals)[:, None] == heads
        return rank.masked_fill_(best, -float('inf'))


class DrivenScorer:
    """Scores as a map does, then puts the true next hop first."""

    def __init__(self, scorer: MapScorer, driver: Driver) -> None:
        self.scorer = scorer
        self.driver = driver
        self.ranking = None
        if scorer.ranking is not None:
            self.ranking = DrivenRanking(scorer.ranking, driver)

    def __call__(self, nodes: Tensor, goals: Tensor) -> Candidates:
        """All candidates of each node, scored for its goal."""
        ways = self.scorer(nodes, goals)
        best = self.driver.next_hop(goals)[ways.row]
        best = best == self.scorer.adjacency.dst[ways.edge]
        return ways._replace(score=ways.score.masked_fill(best, -float('inf')))


def drive(planner: Planner, routes: Tensor) -> Driver:
    """Makes a planner of a greedy readout follow these routes.

    Ask it for :obj:`driver.starts` and :obj:`driver.goals`, and call
    :obj:`driver.begin()` before each time.
    """
    driver = Driver(routes, planner.adjacency.num_nodes)
    planner.scorer = DrivenScorer(planner.scorer, driver)  # type: ignore
    return driver

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan

from ._first_moves import first_move_runs, goal_order
from ._table_walk import walk_by_moves


class CPD(BasePlanner):
    r"""A compressed path database, as in `"Compressing Optimal Paths with Run
    Length Encoding" <https://doi.org/10.1613/jair.4931>`_: exact, and much
    smaller than :class:`APSP`.

    For every node and goal it knows the first move of a shortest route, as the
    place of an edge among the node's out-edges. Goals are put in an order where
    neighbours are close (depth first), and a node's moves are stored as runs of
    equal ones. Where several moves are optimal, whichever makes the run longest
    is taken. A route is a look-up per hop, by binary search in the runs of the
    current node, for all queries in lock step; a hop counts as an expansion.

    It is built by one search per goal, which takes some 20 seconds at
    :math:`N = 10^4` and grows with :math:`N^2`. Beside the runs, building holds
    64 MiB of search results.

    Args:
        data (torch_geometric.data.Data): The graph.
        progress (bool, optional): Whether to show a bar while building.
            (default: :obj:`False`)

    Attributes:
        runs: :obj:`[R]` array of all runs, node by node, each of them the
            position of its first goal times :obj:`num_moves` plus its move.
        rowptr: :obj:`[N + 1]` array, where the runs of each node begin.
        rank: :obj:`[N]` array, the position of each node among the goals;
            those that no edge leads to come after the last.
        num_moves: All moves are below this number.
        num_goals: Number of nodes that edges lead to.
    """

    def __init__(
        self, data: Data | SimplifiedGraph, *, progress: bool = False
    ) -> None:
        super().__init__(data, torch.device('cpu'))
        num_nodes = self.adjacency.num_nodes
        goals = goal_order(self.adjacency)
        node, column, move = first_move_runs(self.adjacency, goals, progress)
        self.num_goals = int(goals.size)
        self.num_moves = int(move.max()) + 1
        rank = np.full(num_nodes, goals.size)
        rank[goals] = np.arange(goals.size)
        num_runs = np.bincount(node, minlength=num_nodes)
        self.rank = _compact(rank, goals.size)
        self.rowptr = _compact(np.append(0, num_runs.cumsum()), node.size)
        self.runs = _compact(
            column * self.num_moves + move, goals.size * self.num_moves - 1
        )
        self._search_steps = int(num_runs.max() - 1).bit_length()

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        start, goal = starts.numpy(), goals.numpy()
        asked = self.adjacency.degree().numpy()[start] > 0
        asked &= self.rank[goal] < self.num_goals
        return walk_by_moves(
            self.adjacency, start, goal, asked, self.first_moves
        )

    def first_moves(self, nodes: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """The move of each node towards its goal, :obj:`[B]`.

        Nodes must have out-edges, and goals edges that lead to them. A move
        that equals the node's out-degree means that there is no route.
        """
        low = self.rowptr[nodes].astype(np.int64)
        high = self.rowptr[nodes + 1].astype(np.int64)
        bound = (self.rank[goals].astype(np.int64) + 1) * self.num_moves
        for _ in range(self._search_steps):
            middle = (low + high) >> 1
            before = self.runs[middle] < bound
            low = np.where(before, middle, low)
            high = np.where(before, high, middle)
        return (self.runs[low] % self.num_moves).astype(np.int64)

    def storage_bytes(self) -> int:
        """Bytes of :obj:`runs`, :obj:`rowptr` and :obj:`rank`.

        The graph, by which a move becomes an edge, is not counted.
        """
        return self.runs.nbytes + self.rowptr.nbytes + self.rank.nbytes

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(num_nodes={self.adjacency.num_nodes}, '
            f'num_runs={self.runs.size})'
        )


def _compact(values: np.ndarray, most: int) -> np.ndarray:
    """The same in the smallest unsigned type that holds :obj:`most`."""
    return values.astype(np.min_scalar_type(most))

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse.csgraph import breadth_first_order, connected_components
from torch import Tensor

from ._adjacency import Adjacency


class Reachability:
    """Answers which nodes can reach a goal.

    On graphs whose weak components are all strongly connected (every undirected
    graph) the answer is a comparison of labels; elsewhere it is one
    breadth-first search against the edges per goal.

    Args:
        adjacency (Adjacency): The graph.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        graph = adjacency.to_scipy()
        graph.data = np.ones_like(graph.data)  # a cost of 0 is an edge too
        _, weak = connected_components(graph, connection='weak')
        num_strong, strong = connected_components(graph, connection='strong')
        device = adjacency.device
        #: Label of the weak component of each node, [N].
        self.weak = torch.from_numpy(weak).long().to(device)
        #: Label of the strong component of each node, [N].
        self.strong = torch.from_numpy(strong).long().to(device)
        #: Whether reachable always means mutually reachable.
        self.symmetric = num_strong == int(weak.max()) + 1
        self._reversed = None if self.symmetric else graph.T.tocsr()

    def to_goals(self, goals: Tensor) -> Tensor:
        """Which nodes can reach each goal, bool :obj:`[N, G]`."""
        if self._reversed is None:
            return self.weak[:, None] == self.weak[goals]
        num_nodes = self.weak.numel()
        out = torch.zeros(goals.numel(), num_nodes, dtype=torch.bool)
        for row, goal in enumerate(goals.tolist()):
            found = breadth_first_order(
                self._reversed, goal, return_predecessors=False
            )
            out[row, torch.from_numpy(found).long()] = True
        return out.T.to(goals.device)

    def pairs(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Whether each start can reach its goal, bool :obj:`[B]`."""
        if self._reversed is None:
            return self.weak[starts] == self.weak[goals]
        unique, inverse = goals.unique(return_inverse=True)
        out = torch.zeros_like(goals, dtype=torch.bool)
        chunk = max(1, 2**26 // self.weak.numel())  # 64 MB of masks at a time
        for first in range(0, unique.numel(), chunk):
            part = unique[first : first + chunk]
            here = (inverse >= first) & (inverse < first + part.numel())
            mask = self.to_goals(part)
            out[here] = mask[starts[here], inverse[here] - first]
        return out

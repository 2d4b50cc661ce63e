from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.sparse.csgraph import breadth_first_order, connected_components
from torch import Tensor

if TYPE_CHECKING:
    from .adjacency import Adjacency


class Reachability:
    """Answers which nodes can reach a goal.

    Within a strong component, and on graphs whose weak components are all
    strongly connected (every undirected graph), the answer is a comparison of
    labels. Elsewhere it takes one breadth-first search against the edges per
    strong component that has goals.

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
        self._strong = strong

    def to_goals(self, goals: Tensor) -> Tensor:
        """Which nodes can reach each goal, bool :obj:`[N, G]`."""
        if self._reversed is None:
            return self.weak[:, None] == self.weak[goals]
        some, inverse = self._one_each(goals)
        return self._search(some).index_select(0, inverse).T

    def surely(self, starts: Tensor, goals: Tensor) -> bool:
        """Whether all starts and goals are each in one strong component."""
        if starts.numel() == 1:  # much quicker than with tensors
            return bool(self._strong[int(starts)] == self._strong[int(goals)])
        return bool((self.strong[starts] == self.strong[goals]).all())

    def pairs(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Whether each start can reach its goal, bool :obj:`[B]`."""
        out = self.strong[starts] == self.strong[goals]
        if self._reversed is None:
            return out
        # Only between two strong components is there something to search.
        left = ~out & (self.weak[starts] == self.weak[goals])
        left = left.nonzero().squeeze(1)
        starts, goals = starts[left], goals[left]
        some, inverse = self._one_each(goals)
        chunk = max(1, 2**26 // self.weak.numel())  # 64 MB of masks at a time
        for first in range(0, some.numel(), chunk):
            part = some[first : first + chunk]
            here = (inverse >= first) & (inverse < first + part.numel())
            mask = self._search(part)
            out[left[here]] = mask[inverse[here] - first, starts[here]]
        return out

    def _one_each(self, goals: Tensor) -> tuple[Tensor, Tensor]:
        """One goal of each strong component, and which stands for each goal."""
        label, inverse = self.strong[goals].unique(return_inverse=True)
        some = torch.zeros_like(label)
        some[inverse] = goals  # any of them will do
        return some, inverse

    def _search(self, goals: Tensor) -> Tensor:
        """One breadth-first search per goal, bool :obj:`[G, N]`."""
        assert self._reversed is not None
        out = torch.zeros(goals.numel(), self.weak.numel(), dtype=torch.bool)
        for row, goal in enumerate(goals.tolist()):
            found, _ = breadth_first_order(self._reversed, goal)
            out[row, torch.from_numpy(found).long()] = True
        return out.to(goals.device)

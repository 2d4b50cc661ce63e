"""The min-plus backup over the graph, applied many times."""

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components, dijkstra
from torch import Tensor

from bcm_pyg.utils import Adjacency, scatter_amin

#: Edges of a node that have a slot of their own; further ones are scattered.
MAX_SLOTS = 16


def hop_diameter(adjacency: Adjacency) -> int:
    """A lower bound of the largest number of hops from a node to another.

    Six searches in the largest weak component, in turn against and along the
    edges, each from the farthest node that the last one found.
    """
    graphs = [adjacency.to_scipy(reverse=True), adjacency.to_scipy()]
    label = connected_components(graphs[0], connection='weak')[1]
    part = np.bincount(label).argmax()
    node, most = int(np.flatnonzero(label == part)[0]), 0
    for turn in range(6):
        hops = dijkstra(graphs[turn % 2], unweighted=True, indices=node)
        hops[np.isinf(hops)] = -1
        node = int(hops.argmax())
        most = max(most, int(hops[node]))
    return most


class Sweeper:
    r"""Sweeps values of goals over the graph,

    .. math::
        V_i(g) \leftarrow \min_{j \in \mathcal{N}(i)} c_{ij} + V_j(g), \qquad
        V_g(g) = 0 ,

    where a node keeps its value if that is lower. On graphs of low degree this
    runs several times faster slot by slot than scattered: the first edge of
    every node, then the second of every node that has one, and so on. Nodes are
    sorted by degree, so that the nodes of a slot come first.

    Args:
        adjacency (Adjacency): The graph.
        cost (torch.Tensor): Edge costs in the units of the values, :obj:`[E]`.
        terminal (str): What the last edge into the goal costs: its cost, or 0
            under :obj:`"paper"`.
    """

    def __init__(
        self, adjacency: Adjacency, cost: Tensor, terminal: str
    ) -> None:
        self.adjacency = adjacency
        self.terminal = terminal
        degree = adjacency.degree()
        self._order = degree.argsort(descending=True, stable=True)
        self._rank = self._order.argsort()
        self._spare: tuple[Tensor, Tensor] | None = None
        self._slots: list[tuple[Tensor, Tensor]] = []
        for number in range(min(MAX_SLOTS, int(degree.max()))):
            nodes = self._order[: int((degree > number).sum())]
            edge = adjacency.rowptr[nodes] + number
            head = self._rank[adjacency.dst[edge]]
            self._slots.append((head, cost[edge, None]))
        slot = torch.arange(adjacency.num_edges, device=degree.device)
        slot -= adjacency.rowptr[adjacency.src]
        rest = (slot >= MAX_SLOTS).nonzero().squeeze(1)
        self._rest = (
            self._rank[adjacency.src[rest]],
            self._rank[adjacency.dst[rest]],
            cost[rest, None],
        )

    def __call__(
        self, value: Tensor, goals: Tensor, times: int | None
    ) -> Tensor:
        """Sweeps values :obj:`[N, G]` of goals :obj:`[G]`.

        Args:
            value (torch.Tensor): Where to start; infinite where nothing is
                known.
            goals (torch.Tensor): The goal of each column.
            times (int, optional): How many times; :obj:`None` until nothing
                changes, at most :math:`N` times.
        """
        value = value[self._order]
        pinned = self._pins(goals)
        value[pinned] = 0
        # Tables to work in are kept: fresh pages cost more than a sweep.
        if self._spare is None or self._spare[0].shape != value.shape:
            self._spare = torch.empty_like(value), torch.empty_like(value)
        swept, through = self._spare
        tail, head_of_rest, cost_of_rest = self._rest
        for _ in range(self.adjacency.num_nodes if times is None else times):
            swept.copy_(value)
            for head, cost in self._slots:
                part = through[: head.numel()]
                torch.index_select(value, 0, head, out=part).add_(cost)
                into = swept[: head.numel()]
                torch.minimum(into, part, out=into)
            if tail.numel() > 0:
                part = value[head_of_rest] + cost_of_rest
                part = scatter_amin(part, tail, 0, swept.size(0))
                torch.minimum(swept, part, out=swept)
            swept[pinned] = 0
            value, swept = swept, value
            if times is None and torch.equal(swept, value):
                break
        return value[self._rank]

    def _pins(self, goals: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes and columns of the values that are 0 by convention."""
        column = torch.arange(goals.numel(), device=goals.device)
        if self.terminal != 'paper':
            return self._rank[goals], column
        edge, where = (self.adjacency.dst[:, None] == goals).nonzero().T
        before = self._rank[self.adjacency.src[edge]]
        nodes = torch.cat([self._rank[goals], before])
        return nodes, torch.cat([column, where])

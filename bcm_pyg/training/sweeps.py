"""The min-plus backup over the graph, applied many times."""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components, dijkstra
from torch import Tensor

from bcm_pyg.kernels import load_kernels
from bcm_pyg.utils import Adjacency, scatter_amin

#: Columns that are swept together: these of a node and its neighbours stay
#: near.
COLUMNS = 64
#: What backups of a column take at most, in edges per node, if only edges into
#: changed values are looked at. Measured on mazes, game maps and roads: a
#: change comes to a node some dozen times, and costs more than an edge in line.
CHANGED = 500


def backup_work(adjacency: Adjacency, times: int) -> int:
    """Edges that so many backups of the values of a goal look at, or as many.

    Few backups look at all edges, many at those into changed values.
    """
    all_edges = times * adjacency.num_edges
    return min(all_edges, CHANGED * adjacency.num_nodes)


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

    where a node keeps its value if that is lower. On the CPU it runs compiled,
    some columns in each thread, and many sweeps look at edges into changed
    values alone; the result is the same to the bit.

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
        self.cost = cost
        self.terminal = terminal
        self.kernels: Any = (
            load_kernels() if cost.device.type == 'cpu' else None
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
        if self.kernels is None:
            return self._plain(value, goals, times)
        threads = torch.get_num_threads()
        num = max(min(threads, goals.numel()), -(-goals.numel() // COLUMNS))
        parts = value.tensor_split(num, 1), goals.tensor_split(num)
        sweep = partial(self._compiled, times=-1 if times is None else times)
        if threads == 1 or num == 1:
            return torch.cat([*map(sweep, *parts)], 1)
        with ThreadPoolExecutor(threads) as pool:
            return torch.cat([*pool.map(sweep, *parts)], 1)

    def _compiled(self, value: Tensor, goals: Tensor, times: int) -> Tensor:
        contiguous, pins = torch.contiguous_format, self._pins(goals)
        if self._by_changes(times):
            value = value.T.clone(memory_format=contiguous)
            arrays = [x.numpy() for x in (*self.by_head, value, *pins)]
            changed = self.kernels.back_up_changes(*arrays, times)
            return torch.from_numpy(changed).T.contiguous()
        graph = self.adjacency.rowptr, self.adjacency.dst, self.cost
        value = value.clone(memory_format=contiguous)
        arrays = [x.numpy() for x in (*graph, value, *pins)]
        return torch.from_numpy(self.kernels.back_up(*arrays, times))

    def _by_changes(self, times: int) -> bool:
        if times < 0:
            return True
        all_edges = times * self.adjacency.num_edges
        return all_edges > backup_work(self.adjacency, times)

    @cached_property
    def by_head(self) -> tuple[Tensor, Tensor, Tensor]:
        """The edges into each node: where they begin, tails and costs."""
        order = self.adjacency.dst.argsort(stable=True)
        num = torch.bincount(
            self.adjacency.dst, minlength=self.adjacency.num_nodes
        )
        begin = torch.cat([num.new_zeros(1), num.cumsum(0)])
        return begin, self.adjacency.src[order], self.cost[order]

    def _plain(self, value: Tensor, goals: Tensor, times: int | None) -> Tensor:
        src, dst = self.adjacency.src, self.adjacency.dst
        pinned = self._pins(goals)
        value = value.index_put(pinned, value.new_zeros(()))
        for _ in range(self.adjacency.num_nodes if times is None else times):
            through = value[dst] + self.cost[:, None]
            swept = scatter_amin(through, src, 0, value.size(0))
            swept = torch.minimum(swept, value)
            swept[pinned] = 0
            if times is None and torch.equal(swept, value):
                break
            value = swept
        return value

    def _pins(self, goals: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes and columns of the values that are 0 by convention."""
        column = torch.arange(goals.numel(), device=goals.device)
        if self.terminal != 'paper':
            return goals, column
        edge, where = (self.adjacency.dst[:, None] == goals).nonzero().T
        nodes = torch.cat([goals, self.adjacency.src[edge]])
        return nodes, torch.cat([column, where])

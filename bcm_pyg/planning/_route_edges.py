from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency


class RouteEdges:
    """Finds the edges along routes on a graph, and what they cost.

    Args:
        adjacency (Adjacency): The edges of the graph.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency
        # Ascending, as the edges are sorted by tail, then head.
        self._key = adjacency.src * adjacency.num_nodes + adjacency.dst

    def ids(self, nodes: Tensor) -> Tensor:
        """Edges along routes :obj:`[Q, L]`, -1 at and after the last node."""
        num_nodes = self.adjacency.num_nodes
        if nodes.numel() and int(nodes.max()) >= num_nodes:
            raise BCMError(
                'the planner plans on another graph: its route visits node '
                f'{int(nodes.max())}, but there are {num_nodes} nodes'
            )
        out = torch.full_like(nodes, -1)
        tail, head = nodes[:, :-1], nodes[:, 1:]
        step = head >= 0
        wanted = (tail * num_nodes + head)[step]
        found = torch.searchsorted(self._key, wanted)
        found = found.clamp(max=self._key.numel() - 1)
        bad = self._key[found] != wanted
        if bool(bad.any()):
            first = int(wanted[bad][0])
            raise BCMError(
                'the planner plans on another graph: its route goes from node '
                f'{first // num_nodes} to {first % num_nodes}, where there is '
                'no edge'
            )
        out[:, :-1][step] = found
        return out

    def costs(self, nodes: Tensor) -> Tensor:
        """What routes :obj:`[Q, L]` cost, float64 :obj:`[Q]`."""
        edge = self.ids(nodes)
        cost = self.adjacency.cost[edge].double()
        return cost.masked_fill(edge < 0, 0).sum(dim=1)

    def num_bytes(self) -> int:
        """Bytes kept beside the edges."""
        return self._key.numel() * self._key.element_size()


def cut_loops(nodes: Tensor) -> Tensor:
    """Routes :obj:`[Q, L]` that visit no node twice, over the same edges."""
    ordered = nodes.sort(dim=1).values
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    rows = twice.any(dim=1).nonzero().squeeze(1).tolist()
    if not rows:
        return nodes
    nodes = nodes.clone()
    for row in rows:
        route: dict[int, None] = {}
        for node in nodes[row].tolist():
            if node < 0:
                break
            if node in route:
                while next(reversed(route)) != node:
                    route.popitem()
            route[node] = None
        nodes[row] = -1
        nodes[row, : len(route)] = nodes.new_tensor(list(route))
    return nodes

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.planning import Plan
from bcm_pyg.planning.walks import Steps, plan_of_walks
from bcm_pyg.typing import Ids
from bcm_pyg.utils import (
    Adjacency,
    Reachability,
    as_queries,
    check_int,
)

#: Bytes of distances and predecessors that one search call makes.
CHUNK_BYTES = 2**26


class APSP:
    r"""All-pairs shortest paths: every answer is computed in advance.

    The paper's "exact pairwise distance and next-hop tables", with
    :math:`\mathcal{O}(1)` look-up per step. A pair takes 12 bytes (float64
    distance, int32 next hop), blocked cells included: 30.720 MB at
    :math:`N = 1600`, as in the paper. Nothing here is fitted. In a
    :class:`~bcm_pyg.planning.Plan`, a look-up counts as an expansion.

    Args:
        data (torch_geometric.data.Data): The graph.
        max_bytes (int, optional): Larger tables are refused. (default: 4 GiB)

    Attributes:
        distance: :obj:`[N, N]` float64, from row to column, infinite where
            there is no route.
        next_hop: :obj:`[N, N]` int32, the node after the row's on the way to
            the column's, -1 where there is none.
    """

    def __init__(self, data: Data, *, max_bytes: int = 2**32) -> None:
        check_int('max_bytes', max_bytes, 0)
        self.max_bytes = max_bytes
        self.adjacency = Adjacency.from_data(planning_graph(data).cpu())
        num_nodes = self.adjacency.num_nodes
        if self.storage_bytes() > max_bytes:
            raise BCMError(
                f'the tables of {num_nodes} nodes need {self.storage_bytes()} '
                f'bytes (12 a pair), more than max_bytes = {max_bytes}: raise '
                'it, or use Dijkstra, which keeps no table'
            )
        # One search against the edges per goal, so rows are goals here.
        distance = np.empty((num_nodes, num_nodes))
        next_hop = np.empty((num_nodes, num_nodes), dtype=np.int32)
        graph = self.adjacency.to_scipy(reverse=True)
        chunk = max(1, CHUNK_BYTES // (12 * num_nodes))
        for first in range(0, num_nodes, chunk):
            goals = np.arange(first, min(first + chunk, num_nodes))
            distance[goals], next_hop[goals] = dijkstra(
                graph, indices=goals, return_predecessors=True
            )
        np.maximum(next_hop, -1, out=next_hop)  # scipy's mark is -9999
        self.distance = torch.from_numpy(distance).T
        self.next_hop = torch.from_numpy(next_hop).T

    def __call__(self, starts: Ids, goals: Ids) -> Plan:
        """Optimal routes for queries given as ints, lists, arrays, tensors."""
        start, goal = (
            ids.cpu()
            for ids in as_queries(starts, goals, self.adjacency.num_nodes)
        )
        cost = self.distance[start, goal]
        success = torch.isfinite(cost)
        steps: Steps = []
        query = (success & (start != goal)).nonzero().squeeze(1)
        node = start[query]
        while query.numel() > 0:
            node = self.next_hop[node, goal[query]].long()
            steps.append((query, node))
            on = node != goal[query]
            query, node = query[on], node[on]
        plan = plan_of_walks(
            start,
            steps,
            success=success,
            cost=cost,
            expansions=torch.zeros_like(start),
            lower_bound=cost.clone(),
        )
        return replace(plan, expansions=plan.hops.clone())

    def storage_bytes(self) -> int:
        """Bytes of both tables, the paper's count."""
        return 12 * self.adjacency.num_nodes**2

    def compact_bytes(self) -> int:
        r"""Bytes of the next hops alone, packed: the fair reference.

        A next hop is one of the node's out-edges, so that
        :math:`\lceil \log_2 \max_i \deg(i) \rceil` bits answer each ordered
        pair of distinct nodes with edges, exactly, given the graph (which
        everyone has; distances follow from its costs). Where some such pair has
        no route, that is one more code.
        """
        degree = self.adjacency.degree()
        head = torch.bincount(
            self.adjacency.dst, minlength=self.adjacency.num_nodes
        )
        used = (degree + head) > 0
        strong = Reachability(self.adjacency).strong[used]
        codes = int(degree.max()) + int(strong.unique().numel() > 1)
        num_used = int(used.sum())
        bits = (codes - 1).bit_length() * num_used * (num_used - 1)
        return (bits + 7) // 8

    def __repr__(self) -> str:
        return f'{type(self).__name__}(num_nodes={self.adjacency.num_nodes})'

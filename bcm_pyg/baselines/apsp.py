from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import check_int

from ._packed_hops import HopLayout
from ._table_walk import walk_by_moves

#: Bytes of distances and predecessors that one search call makes.
CHUNK_BYTES = 2**26


class APSP(BasePlanner):
    r"""All-pairs shortest paths: every answer is computed in advance.

    The paper's "exact pairwise distance and next-hop tables", with
    :math:`\mathcal{O}(1)` look-up per step. A pair takes 12 bytes (float64
    distance, int32 next hop), blocked cells included: 30.720 MB at
    :math:`N = 1600`, as in the paper. Nothing here is fitted. In a
    :class:`~bcm_pyg.planning.Plan`, a look-up counts as an expansion.

    With :obj:`packed`, only next hops are kept, as places among the out-edges
    of a node, in as few bits as these take: 2 on a grid, 0.589 MB at
    :math:`N = 1600`. Routes are the same, and cost what their edges sum up to.
    Where a start or a goal has no edges, the graph itself says that there is no
    route. For other pairs, this is one more code, on graphs that need it.

    Args:
        data (torch_geometric.data.Data): The graph.
        packed (bool, optional): Whether to keep packed next hops alone.
            (default: :obj:`False`)
        max_bytes (int, optional): Larger tables are refused. (default: 4 GiB)

    Attributes:
        distance: :obj:`[N, N]` float64, from row to column, infinite where
            there is no route. Not if packed.
        next_hop: :obj:`[N, N]` int32, the node after the row's on the way to
            the column's, -1 where there is none. Not if packed.
        packed_hops: uint8 array of as many bytes as :meth:`compact_bytes`
            says. Only if packed.
    """

    def __init__(
        self,
        data: Data | SimplifiedGraph,
        *,
        packed: bool = False,
        max_bytes: int = 2**32,
    ) -> None:
        check_int('max_bytes', max_bytes, 0)
        self.packed = packed
        self.max_bytes = max_bytes
        super().__init__(data, torch.device('cpu'))
        self._layout = HopLayout(self.adjacency)
        if self.storage_bytes() > max_bytes:
            size = f'{self._layout.bits} bits' if packed else '12'
            smaller = '' if packed else 'pass packed=True, '
            raise BCMError(
                f'the tables of {self.adjacency.num_nodes} nodes need '
                f'{self.storage_bytes()} bytes ({size} a pair), more than '
                f'max_bytes = {max_bytes}: raise it, {smaller}or use '
                'Dijkstra, which keeps no table'
            )
        if packed:
            self.packed_hops = self._packed_hops()
        else:
            self.distance, self.next_hop = self._tables()

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        walk = self._walk_packed if self.packed else self._walk
        plan = walk(starts, goals)
        return replace(
            plan, expansions=plan.hops.clone(), lower_bound=plan.cost.clone()
        )

    def storage_bytes(self) -> int:
        """Bytes of both tables, the paper's count, or of the packed one."""
        if self.packed:
            return self.compact_bytes()
        return 12 * self.adjacency.num_nodes**2

    def compact_bytes(self) -> int:
        r"""Bytes of the next hops alone, packed: the fair reference.

        A next hop is one of the node's out-edges, so that
        :math:`\lceil \log_2 \max_i \deg(i) \rceil` bits answer each ordered
        pair of distinct nodes with edges, exactly, given the graph (which
        everyone has; distances follow from its costs). Where some such pair has
        no route, that is one more code.
        """
        return self._layout.num_bytes

    def _walk(self, start: Tensor, goal: Tensor) -> Plan:
        cost = self.distance[start, goal]
        success = torch.isfinite(cost)
        steps = []
        query = (success & (start != goal)).nonzero().squeeze(1)
        node = start[query]
        while query.numel() > 0:
            node = self.next_hop[node, goal[query]].long()
            steps.append((query, node))
            on = node != goal[query]
            query, node = query[on], node[on]
        return Plan.from_steps(
            start,
            steps,
            success=success,
            cost=cost,
            expansions=torch.zeros_like(start),
        )

    def _walk_packed(self, starts: Tensor, goals: Tensor) -> Plan:
        start, goal = starts.numpy(), goals.numpy()
        read = partial(self._layout.read, self.packed_hops)
        asked = self._layout.holds(start, goal)
        return walk_by_moves(self.adjacency, start, goal, asked, read)

    def _tables(self) -> tuple[Tensor, Tensor]:
        size = (self.adjacency.num_nodes, self.adjacency.num_nodes)
        # One search against the edges per goal, so rows are goals here.
        distance = np.empty(size)
        next_hop = np.empty(size, dtype=np.int32)
        for goals, *found in self._searches(np.arange(size[0])):
            distance[goals], next_hop[goals] = found
        np.maximum(next_hop, -1, out=next_hop)  # scipy's mark is -9999
        return torch.from_numpy(distance).T, torch.from_numpy(next_hop).T

    def _packed_hops(self) -> np.ndarray:
        parts = [
            self._layout.pack(goals, next_hop)
            for goals, _, next_hop in self._searches(self._layout.nodes)
        ]
        return np.concatenate(parts)

    def _searches(
        self, goals: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Chunks of goals, distances to them and next hops, both [G, N]."""
        graph = self.adjacency.to_scipy(reverse=True)
        # By eights, so that the packed parts are whole bytes.
        eights = CHUNK_BYTES // (8 * 12 * self.adjacency.num_nodes)
        chunk = 8 * max(1, eights)
        for first in range(0, goals.size, chunk):
            part = goals[first : first + chunk]
            yield part, *dijkstra(graph, indices=part, return_predecessors=True)

    def __repr__(self) -> str:
        mode = ', packed=True' if self.packed else ''
        return f'{type(self).__name__}(num_nodes={self.num_nodes}{mode})'

"""A graph reduced to the nodes at which a route has a choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency

from ._entries import entries, num_entries
from .planning_graph import planning_graph


@dataclass(frozen=True, eq=False)
class SimplifiedGraph:
    r"""What is left of a graph without dead ends and chains, and the way back.

    On a road most nodes leave no choice: one goes on, or turns round. Such
    *forced* nodes are taken out, in connected *segments* that touch the rest at
    one or two *portals*; a way through a segment from portal to portal becomes
    one edge. Shortest distances between the nodes that stay are those of the
    full graph.

    Attributes:
        data: The simplified graph, a canonical planning graph. Its
            :obj:`node_id` is that of the full graph, or its nodes.
        full: The full graph, a canonical planning graph.
        node: :obj:`[n]` the full node of each node that stays.
        place: :obj:`[N]` the node of :obj:`data` of each full node, -1 if
            forced.
        segment: :obj:`[N]` the segment of each forced node, -1 for the others.
        portal: :obj:`[P, 2]` the nodes of :obj:`data` that a segment touches,
            -1 for no second one.
        to_portal: :obj:`[2, N]` float64 cost of each forced node to either
            portal inside its segment; infinite if there is no way.
        next_node: :obj:`[2, N]` the full node that comes next on that way.
        from_portal: :obj:`[2, N]` cost from either portal to each forced node.
        last_node: :obj:`[2, N]` the full node that comes before it.
        through: :obj:`[E + 1]` where the forced nodes of each edge of
            :obj:`data` begin in :obj:`inner`.
        inner: Full nodes that the edges of :obj:`data` stand for, in order.
    """

    data: Data
    full: Data
    node: Tensor
    place: Tensor
    segment: Tensor
    portal: Tensor
    to_portal: Tensor
    next_node: Tensor
    from_portal: Tensor
    last_node: Tensor
    through: Tensor
    inner: Tensor

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.full.num_nodes} nodes, of which '
            f'{self.node.numel()} stay)'
        )


def simplify_graph(data: Data) -> SimplifiedGraph:
    """Takes out what leaves no choice: dead ends, their trees, and chains.

    A chain may be one-way or both ways and carry dead-end trees. In a part of
    the graph where no node has a choice (a tree, a ring) one node stays.

    Args:
        data (torch_geometric.data.Data): The graph.

    Raises:
        BCMError: If no edge is left: the graph is a forest or made of rings,
            where any search is trivial.
    """
    full = planning_graph(data)
    graph = Adjacency.from_data(full).to_scipy()
    forced = _forced_nodes(graph)
    segments = _Segments(graph, forced)
    node = np.flatnonzero(~forced)
    place = np.full(forced.size, -1)
    place[node] = np.arange(node.size)

    tail, head, cost, slot, segment = segments.crossings()
    tails, heads, costs = _entries(graph)
    direct = ~forced[tails] & ~forced[heads]
    tail = np.concatenate([tails[direct], tail])
    head = np.concatenate([heads[direct], head])
    cost = np.concatenate([costs[direct], cost])
    via = np.concatenate([np.full(direct.sum(), -1), segment])
    slot = np.concatenate([np.zeros(direct.sum(), dtype=int), slot])
    if not (tail != head).any():
        raise BCMError(
            'no node of the graph leaves a choice (it is a forest, or made of '
            'rings): there is nothing to learn, use exact search'
        )
    reduced = Data(
        pos=full.pos[torch.from_numpy(node)],
        edge_index=torch.from_numpy(np.stack([place[tail], place[head]])),
        edge_cost=torch.from_numpy(cost),
        edge_via=torch.from_numpy(via),
        edge_slot=torch.from_numpy(slot),
        full_node=torch.from_numpy(node),
    )
    kept = torch.from_numpy(node)
    reduced.node_id = kept  # unless they have names
    for key in ('coord', 'lonlat', 'node_id', 'blocked'):
        value = full.get(key)
        if num_entries(key, value, full) == full.num_nodes:
            reduced[key] = entries(full, key, kept)
    if full.get('pos_origin') is not None:
        reduced.pos_origin = full.pos_origin
    reduced = planning_graph(reduced)
    via, slot = reduced.edge_via.numpy(), reduced.edge_slot.numpy()
    del reduced.edge_via, reduced.edge_slot
    through, inner = segments.unpack(via, slot)
    portal = np.where(segments.portal >= 0, place[segments.portal], -1)
    return SimplifiedGraph(
        data=reduced,
        full=full,
        node=torch.from_numpy(node),
        place=torch.from_numpy(place),
        portal=torch.from_numpy(portal),
        through=torch.from_numpy(through),
        inner=torch.from_numpy(inner),
        **{name: torch.from_numpy(x) for name, x in segments.tables().items()},
    )


def _entries(graph: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tails, heads and costs of all edges, those of cost 0 among them."""
    degree = np.diff(graph.indptr)
    tails = np.repeat(np.arange(graph.shape[0]), degree)
    return tails, graph.indices.astype(np.int64), graph.data


def _forced_nodes(graph: csr_array) -> np.ndarray:
    """Which nodes leave no choice, bool [N]."""
    tails, heads, _ = _entries(graph)
    ones = np.ones(tails.size, dtype=np.int64)
    either = csr_array((ones, (tails, heads)), shape=graph.shape)
    either = (either + either.T).tocsr()
    either.data[:] = 1
    degree = np.diff(either.indptr)
    # Dead ends go first; what they hung on may be a dead end then.
    alive = np.ones(degree.size, dtype=bool)
    leaf = np.flatnonzero(degree <= 1)
    while leaf.size:
        alive[leaf] = False
        begin = either.indptr[leaf]
        count = either.indptr[leaf + 1] - begin
        entry = np.repeat(begin - count.cumsum() + count, count)
        touched = either.indices[entry + np.arange(entry.size)]
        np.subtract.at(degree, touched, 1)
        touched = np.unique(touched)
        leaf = touched[alive[touched] & (degree[touched] <= 1)]
    forced = ~alive | (degree == 2)
    # Somewhere a route must be able to start: one node per component stays.
    num, label = connected_components(either, directed=False)
    stays = np.zeros(num, dtype=bool)
    stays[label[~forced]] = True
    order = np.argsort(np.diff(either.indptr), kind='stable')
    busiest = np.zeros(num, dtype=np.int64)
    busiest[label[order]] = order
    forced[busiest[~stays]] = False
    return forced


class _Segments:
    """The forced nodes, cut off from each other at their portals.

    Nodes of the cut graph: the forced nodes, then two portals for each segment.
    """

    def __init__(self, graph: csr_array, forced: np.ndarray) -> None:
        self.forced = np.flatnonzero(forced)
        self.num_nodes = forced.size
        tails, heads, costs = _entries(graph)
        local = np.full(forced.size, -1)
        local[self.forced] = np.arange(self.forced.size)
        inside = forced[tails] & forced[heads]
        size = self.forced.size
        within = csr_array(
            (
                np.ones(inside.sum()),
                (local[tails[inside]], local[heads[inside]]),
            ),
            shape=(size, size),
        )
        if size:
            self.num, label = connected_components(within, directed=False)
        else:
            self.num, label = 0, np.empty(0, dtype=np.int64)
        self.segment = np.full(forced.size, -1)
        self.segment[self.forced] = label

        out = forced[tails] & ~forced[heads]
        into = ~forced[tails] & forced[heads]
        segment = np.concatenate(
            [self.segment[tails[out]], self.segment[heads[into]]]
        )
        portal = np.concatenate([heads[out], tails[into]])
        slot = self._slots(segment, portal)
        copies = size + 2 * segment + slot
        self.cut_tail = np.concatenate(
            [local[tails[inside]], local[tails[out]], copies[out.sum() :]]
        )
        self.cut_head = np.concatenate(
            [local[heads[inside]], copies[: out.sum()], local[heads[into]]]
        )
        self.cut_cost = np.concatenate([costs[inside], costs[out], costs[into]])
        self.to = [self._search(slot, reverse=True) for slot in (0, 1)]
        self.of = [self._search(slot, reverse=False) for slot in (0, 1)]

    def _slots(self, segment: np.ndarray, portal: np.ndarray) -> np.ndarray:
        """Which portal of its segment each crossing uses, 0 or 1."""
        self.portal = np.full((self.num, 2), -1)
        pairs, inverse = np.unique(
            np.stack([segment, portal]), axis=1, return_inverse=True
        )
        first = np.searchsorted(pairs[0], pairs[0])
        slot = np.arange(pairs.shape[1]) - first
        assert slot.max(initial=0) <= 1, 'a segment has at most two portals'
        self.portal[pairs[0], slot] = pairs[1]
        return slot[inverse.ravel()]

    def _search(
        self, slot: int, reverse: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cost and neighbour on the way between all nodes and one portal."""
        size = self.forced.size + 2 * self.num
        tail, head = self.cut_tail, self.cut_head
        if reverse:
            tail, head = head, tail
        starts = (
            self.forced.size
            + 2 * np.flatnonzero(self.portal[:, slot] >= 0)
            + slot
        )
        if starts.size == 0:
            return np.full(size, np.inf), np.full(size, -1)
        cut = csr_array((self.cut_cost, (tail, head)), shape=(size, size))
        cost, before, _ = dijkstra(
            cut, indices=starts, min_only=True, return_predecessors=True
        )
        return cost, np.maximum(before, -1)

    def _full(self, cut_node: np.ndarray) -> np.ndarray:
        """Full nodes of nodes of the cut graph, -1 for -1."""
        size = self.forced.size
        names = np.concatenate([self.forced, self.portal.ravel(), [-1]])
        return names[cut_node] if size else np.full(cut_node.shape, -1)

    def crossings(self) -> tuple[np.ndarray, ...]:
        """Ways through: tail, head, cost, slot of the head, segment."""
        parts = []
        for slot in (0, 1):
            start = self.forced.size + 2 * np.arange(self.num) + 1 - slot
            cost = self.to[slot][0][start]
            segment = np.flatnonzero(np.isfinite(cost))
            portal = self.portal[segment]
            parts.append(
                (
                    portal[:, 1 - slot],
                    portal[:, slot],
                    cost[segment],
                    np.full(segment.size, slot),
                    segment,
                )
            )
        return tuple(
            np.concatenate(column) for column in zip(*parts, strict=True)
        )

    def unpack(
        self, via: np.ndarray, slot: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The forced nodes of each edge: where they begin, and themselves."""
        edge = np.flatnonzero(via >= 0)
        toward = slot[edge]
        at = self.forced.size + 2 * via[edge] + 1 - toward
        step = np.stack([before for _, before in self.to])
        edges, nodes = [], []
        while edge.size:
            at = step[toward, at]
            on = at < self.forced.size
            edge, toward, at = edge[on], toward[on], at[on]
            edges.append(edge)
            nodes.append(self.forced[at])
        edge = np.concatenate([*edges, np.empty(0, dtype=np.int64)])
        node = np.concatenate([*nodes, np.empty(0, dtype=np.int64)])
        order = np.argsort(edge, kind='stable')
        count = np.bincount(edge, minlength=via.size)
        return np.concatenate([[0], count.cumsum()]), node[order]

    def tables(self) -> dict[str, np.ndarray]:
        """What a query that starts or ends at a forced node needs."""
        size = self.forced.size
        out: dict[str, np.ndarray] = {'segment': self.segment}
        for cost_name, node_name, found in (
            ('to_portal', 'next_node', self.to),
            ('from_portal', 'last_node', self.of),
        ):
            cost = np.full((2, self.num_nodes), np.inf)
            node = np.full((2, self.num_nodes), -1)
            for slot, (all_costs, neighbour) in enumerate(found):
                cost[slot, self.forced] = all_costs[:size]
                node[slot, self.forced] = self._full(neighbour[:size])
            out |= {cost_name: cost, node_name: node}
        return out

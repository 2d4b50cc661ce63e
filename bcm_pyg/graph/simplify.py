"""A graph reduced to the nodes at which a route has a choice."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency

from ._bends import ranges
from .geometry import lines_along
from .planning_graph import num_entries, planning_graph, take


@dataclass(frozen=True, eq=False)
class SimplifiedGraph:
    r"""A graph without dead ends and chains, and the tables to restore them.

    *Forced* nodes, at which a route can only continue or turn round, are
    removed, in connected *segments* that meet the rest of the graph at one or
    two *portals*. The shortest route through a segment from portal to portal
    becomes one edge, so that shortest distances stay the same.

    Attributes:
        data: The simplified graph, a canonical planning graph. Its
            :obj:`node_id` holds the labels of the full graph, its
            :obj:`edge_cost_exact` the sums of costs in float64. If the full
            graph has bends, its edges have those of their segments, too.
        full: The full graph, a canonical planning graph.
        node: :obj:`[n]` the full node of each node of :obj:`data`.
        simplified_node: :obj:`[N]` the node of :obj:`data` of each full node,
            -1 if it is forced.
        segment: :obj:`[N]` the segment of each forced node, -1 for the others.
        portal: :obj:`[P, 2]` the portals of each segment, nodes of
            :obj:`data`; -1 if there is no second one.
        to_portal: :obj:`[2, N]` float64 cost of each forced node to either
            portal inside its segment; infinite if there is no route.
        next_node: :obj:`[2, N]` the full node that follows on that route.
        from_portal: :obj:`[2, N]` cost from either portal to each forced node.
        last_node: :obj:`[2, N]` the full node before it on that route.
        through: :obj:`[E + 1]` where the forced nodes of each edge of
            :obj:`data` begin in :obj:`inner`.
        inner: The forced nodes along the edges of :obj:`data`, in order.
    """

    data: Data
    full: Data
    node: Tensor
    simplified_node: Tensor
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


def simplify_graph(data: Data, keep: Tensor | None = None) -> SimplifiedGraph:
    """Removes the nodes that leave no choice: dead ends, trees and chains.

    A chain may be one-way or two-way and have dead-end trees. A component in
    which no node leaves a choice (a tree, a ring) keeps one node.

    Args:
        data (torch_geometric.data.Data): The graph.
        keep (torch.Tensor, optional): The nodes that stay, :obj:`[n]`
            ascending, as found for a graph with the same or more edges: its
            :obj:`node`. (default: all that leave a choice)

    Raises:
        BCMError: If no edge is left: the graph is a forest or made of rings,
            where any search is trivial.
    """
    full = planning_graph(data)
    adjacency = Adjacency.from_data(full)
    src, dst = full.edge_index.cpu().numpy()
    edges = src, dst, adjacency.exact_cost.cpu().numpy()
    if keep is None:
        forced = _forced_nodes(src, dst, adjacency.num_nodes)
    else:
        forced = np.ones(adjacency.num_nodes, dtype=bool)
        forced[keep.cpu().numpy()] = False
    segments = _Segments(*edges, forced)
    node = np.flatnonzero(~forced)
    simplified = np.full(forced.size, -1)
    simplified[node] = np.arange(node.size)

    direct = ~forced[src] & ~forced[dst]
    none = np.full(src.size, -1)
    kept = [column[direct] for column in (*edges, none, none)]
    tail, head, cost, segment, slot = (
        np.concatenate(pair)
        for pair in zip(kept, segments.crossings(), strict=True)
    )
    # Of parallel edges that are equal in float32, the cheapest comes first.
    order = np.argsort(cost, kind='stable')
    tail, head, cost, segment, slot = (
        column[order] for column in (tail, head, cost, segment, slot)
    )
    if not (tail != head).any():
        raise BCMError(
            'no node of the graph leaves a choice (it is a forest, or made of '
            'rings), so there is nothing to learn: use exact search'
        )
    ids = torch.from_numpy(node)
    ends = np.stack([simplified[tail], simplified[head]])
    reduced = Data(
        pos=None if full.get('pos') is None else full.pos[ids],
        num_nodes=ids.numel(),
        edge_index=torch.from_numpy(ends),
        edge_cost=torch.from_numpy(cost),
        edge_cost_exact=torch.from_numpy(cost),
        edge_segment=torch.from_numpy(segment),
        edge_slot=torch.from_numpy(slot),
        node_id=ids,  # unless there are labels
    )
    for key in ('coord', 'lonlat', 'node_id', 'blocked'):
        if num_entries(key, full.get(key), full) == full.num_nodes:
            reduced[key] = take(full, key, ids)
    if full.get('pos_origin') is not None:
        reduced.pos_origin = full.pos_origin
    reduced = planning_graph(reduced)
    segment, slot = reduced.edge_segment.numpy(), reduced.edge_slot.numpy()
    del reduced.edge_segment, reduced.edge_slot
    tables = segments.tables()
    tables['node'], tables['simplified_node'] = node, simplified
    portal = segments.portal
    tables['portal'] = np.where(portal >= 0, simplified[portal], -1)
    tables['through'], tables['inner'] = segments.inner_nodes(segment, slot)
    if full.get('edge_bends') is not None:
        _keep_bends(reduced, full, node, tables['through'], tables['inner'])
    tensors = {name: torch.from_numpy(table) for name, table in tables.items()}
    return SimplifiedGraph(data=reduced, full=full, **tensors)


def _keep_bends(
    reduced: Data,
    full: Data,
    node: np.ndarray,
    through: np.ndarray,
    inner: np.ndarray,
) -> None:
    """Gives each edge the line of the full edges that it stands for."""
    # The nodes along all edges, one after the other: tail, inner ones, head.
    begin = through + 2 * np.arange(through.size)
    nodes = np.empty(begin[-1], dtype=np.int64)
    tail, head = node[reduced.edge_index.numpy()]
    nodes[begin[:-1]], nodes[begin[1:] - 1] = tail, head
    nodes[ranges(begin[:-1] + 1, begin[1:] - 1)[1]] = inner
    first, points = lines_along(full, nodes, np.diff(begin))
    is_inner = np.ones(len(points), dtype=bool)
    is_inner[first[:-1]] = is_inner[first[1:] - 1] = False
    last = is_inner.cumsum()[first[1:] - 1]
    span = np.stack([np.append(0, last[:-1]), last], axis=1)
    reduced.edge_bends = torch.from_numpy(span)
    reduced.bends = torch.from_numpy(points[is_inner])[None].float()


def _forced_nodes(
    tail: np.ndarray, head: np.ndarray, num_nodes: int
) -> np.ndarray:
    """Which nodes leave no choice, bool [N]."""
    ends = np.concatenate([tail, head])
    others = np.concatenate([head, tail])
    size = (num_nodes, num_nodes)
    either = csr_array((np.ones(ends.size), (ends, others)), shape=size)
    num_neighbours = np.diff(either.indptr)
    # Dead ends go first; what they hung on may then be a dead end, too.
    degree = num_neighbours.copy()
    alive = np.ones(num_nodes, dtype=bool)
    leaf = np.flatnonzero(degree <= 1)
    while leaf.size:
        alive[leaf] = False
        begin = either.indptr[leaf]
        count = either.indptr[leaf + 1] - begin
        entry = np.repeat(begin - count.cumsum() + count, count)
        neighbours = either.indices[entry + np.arange(entry.size)]
        np.subtract.at(degree, neighbours, 1)
        neighbours = np.unique(neighbours)
        leaf = neighbours[alive[neighbours] & (degree[neighbours] <= 1)]
    forced: np.ndarray = ~alive | (degree == 2)
    # A route must be able to start somewhere: one node per component stays.
    num, component = connected_components(either, directed=False)
    stays = np.zeros(num, dtype=bool)
    stays[component[~forced]] = True
    order = np.argsort(num_neighbours, kind='stable')
    busiest = np.zeros(num, dtype=np.int64)
    busiest[component[order]] = order
    forced[busiest[~stays]] = False
    return forced


class _Segments:
    """The forced nodes, then two portals (slots 0 and 1) per segment."""

    def __init__(
        self,
        tail: np.ndarray,
        head: np.ndarray,
        cost: np.ndarray,
        forced: np.ndarray,
    ) -> None:
        self.num_nodes = forced.size
        self.forced = np.flatnonzero(forced)
        size = self.forced.size
        cut_node = np.full(forced.size, -1)
        cut_node[self.forced] = np.arange(size)
        out = forced[tail] & ~forced[head]
        into = ~forced[tail] & forced[head]
        inside = forced[tail] & forced[head]
        ends = cut_node[tail[inside]], cut_node[head[inside]]
        # Without costs: a cost of 0 is an edge, too.
        within = csr_array((np.ones(ends[0].size), ends), shape=(size, size))
        self.num, label = 0, np.empty(0, dtype=np.int64)
        if size:
            self.num, label = connected_components(within, directed=False)
        self.segment = np.full(forced.size, -1)
        self.segment[self.forced] = label

        # Edges to and from a portal end at a copy of it, one per segment.
        crossing = out | into
        segment = np.where(out, self.segment[tail], self.segment[head])[
            crossing
        ]
        portal = np.where(out, head, tail)[crossing]
        copy = np.full(tail.size, -1)
        copy[crossing] = self._copies(segment, self._slots(segment, portal))
        used = inside | crossing
        cut_tail = np.where(into, copy, cut_node[tail])
        cut_head = np.where(out, copy, cut_node[head])
        self.cut = cut_tail[used], cut_head[used], cost[used]
        self.to = [self._search(slot, reverse=True) for slot in (0, 1)]
        self.of = [self._search(slot, reverse=False) for slot in (0, 1)]

    def _slots(self, segment: np.ndarray, portal: np.ndarray) -> np.ndarray:
        """Which portal of its segment each crossing edge uses, 0 or 1."""
        self.portal = np.full((self.num, 2), -1)
        pairs, inverse = np.unique(
            np.stack([segment, portal]), axis=1, return_inverse=True
        )
        first = np.searchsorted(pairs[0], pairs[0])
        slot: np.ndarray = np.arange(pairs.shape[1]) - first
        if slot.max(initial=0) > 1:
            raise BCMError(
                'keep leaves out nodes at which routes have a choice'
            )
        self.portal[pairs[0], slot] = pairs[1]
        return slot[inverse.ravel()]

    def _copies(
        self, segment: np.ndarray, slot: np.ndarray | int
    ) -> np.ndarray:
        """Nodes of the cut graph that stand for portals of segments."""
        return self.forced.size + 2 * segment + slot

    def _search(self, slot: int, reverse: bool) -> tuple[np.ndarray, ...]:
        """Cost between all nodes and one portal, and the neighbour there."""
        size = self.forced.size + 2 * self.num
        starts = self._copies(np.flatnonzero(self.portal[:, slot] >= 0), slot)
        if starts.size == 0:
            return np.full(size, np.inf), np.full(size, -1)
        tail, head, edge_cost = self.cut
        ends = (head, tail) if reverse else (tail, head)
        graph = csr_array((edge_cost, ends), shape=(size, size))
        cost, before, _ = dijkstra(
            graph, indices=starts, min_only=True, return_predecessors=True
        )
        return cost, np.maximum(before, -1)

    def crossings(self) -> tuple[np.ndarray, ...]:
        """Routes between portals: tail, head, cost, segment, slot of head."""
        parts = []
        for slot in (0, 1):
            begin = self._copies(np.arange(self.num), 1 - slot)
            cost = self.to[slot][0][begin]
            segment = np.flatnonzero(np.isfinite(cost))
            tail, head = self.portal[segment].T[[1 - slot, slot]]
            slots = np.full(segment.size, slot)
            parts.append((tail, head, cost[segment], segment, slots))
        return tuple(np.concatenate(pair) for pair in zip(*parts, strict=True))

    def inner_nodes(
        self, segment: np.ndarray, slot: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The forced nodes of each edge: where they begin, and the nodes."""
        edge = np.flatnonzero(segment >= 0)
        toward = slot[edge]
        at = self._copies(segment[edge], 1 - toward)
        step = np.stack([before for _, before in self.to])
        edges, nodes = [edge[:0]], [edge[:0]]
        while edge.size:
            at = step[toward, at]
            on = at < self.forced.size
            edge, toward, at = edge[on], toward[on], at[on]
            edges.append(edge)
            nodes.append(self.forced[at])
        edge = np.concatenate(edges)
        order = np.argsort(edge, kind='stable')
        count = np.bincount(edge, minlength=segment.size)
        through = np.concatenate([[0], count.cumsum()])
        return through, np.concatenate(nodes)[order]

    def tables(self) -> dict[str, np.ndarray]:
        """What a query that starts or ends at a forced node needs."""
        size = self.forced.size
        full_node = np.concatenate([self.forced, self.portal.ravel(), [-1]])
        out: dict[str, np.ndarray] = {'segment': self.segment}
        for cost_name, node_name, found in (
            ('to_portal', 'next_node', self.to),
            ('from_portal', 'last_node', self.of),
        ):
            cost = np.full((2, self.num_nodes), np.inf)
            node = np.full((2, self.num_nodes), -1)
            for slot, (all_costs, neighbour) in enumerate(found):
                cost[slot, self.forced] = all_costs[:size]
                node[slot, self.forced] = full_node[neighbour[:size]]
            out |= {cost_name: cost, node_name: node}
        return out

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The out-edges of every node, in the order of a canonical graph.

    It is a copy, made once for each graph and then shared, together with the
    reachability (see :meth:`from_data`).

    Attributes:
        rowptr: :obj:`[N + 1]` where the out-edges of a node begin.
        src: :obj:`[E]` the tail of each edge, ascending.
        dst: :obj:`[E]` the head of each edge.
        cost: :obj:`[E]` what the edge costs, float32.
        num_nodes: :math:`N`.
        exact_cost: :obj:`[E]` the same in float64, for sums. Edges of a
            simplified graph are sums themselves, and rounded in :obj:`cost`.
    """

    rowptr: Tensor
    src: Tensor
    dst: Tensor
    cost: Tensor
    num_nodes: int
    exact_cost: Tensor

    @classmethod
    def from_data(cls, data: Data) -> Adjacency:
        """From a canonical graph (see :func:`bcm_pyg.planning_graph`).

        The same :obj:`edge_index` gives the same object, unless edges or costs
        have changed.
        """
        edges, cost = data.edge_index, data.edge_cost
        exact = _exact_cost(data)
        num_nodes = int(data.num_nodes)
        with _LOCK:
            known: Adjacency | None = _SHARED.get(edges)
            if known is None or not (
                known.num_nodes == num_nodes
                and known.cost.device == cost.device
                and torch.equal(known.exact_cost, exact)
                and torch.equal(known.src, edges[0])
                and torch.equal(known.dst, edges[1])
            ):
                src, dst = edges.clone().unbind(0)
                degree = torch.bincount(src, minlength=num_nodes)
                rowptr = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
                cost = cost.clone()
                known = cls(rowptr, src, dst, cost, num_nodes, exact.clone())
                _SHARED[edges] = known
            return known

    @cached_property
    def reachability(self) -> Reachability:
        """Which nodes can reach which, found when first asked."""
        return Reachability(self)

    @property
    def num_edges(self) -> int:
        """Number of directed edges."""
        return int(self.src.numel())

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.src.device

    def degree(self) -> Tensor:
        """Number of out-edges of each node, :obj:`[N]`."""
        return self.rowptr[1:] - self.rowptr[:-1]

    def out_edges(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """All edges that leave :obj:`nodes`.

        Returns:
            Their ids :obj:`[M]` and, for each, the position in :obj:`nodes`
            of its tail :obj:`[M]` (ascending).
        """
        begin = self.rowptr[nodes]
        degree = self.rowptr[nodes + 1] - begin
        position = torch.arange(nodes.numel(), device=nodes.device)
        position = position.repeat_interleave(degree)
        first = degree.cumsum(0) - degree  # where each node's edges start in M
        offset = torch.arange(position.numel(), device=nodes.device)
        return (begin - first)[position] + offset, position

    def edge_ids(self, tails: Tensor, heads: Tensor) -> Tensor:
        """The edge between each two nodes, -1 where there is none."""
        return self._tensor(self._edge_ids(_array(tails), _array(heads)))

    def is_part_of(self, other: Adjacency) -> bool:
        """Whether these are edges of another graph, at no less cost."""
        edge = other.edge_ids(self.src, self.dst)
        dearer = self.exact_cost >= other.exact_cost[edge]
        return bool(((edge >= 0) & dearer).all())

    def route_edges(self, nodes: Tensor) -> Tensor:
        """Edges along routes :obj:`[B, L]`, of the same shape.

        It is -1 at padding (-1) and the last node, -2 where there is no edge.
        """
        return self._tensor(self._route_edges(_array(nodes)))

    def route_costs(self, nodes: Tensor) -> Tensor:
        """What routes :obj:`[B, L]` cost, float64 :obj:`[B]`."""
        edge = self._route_edges(_array(nodes))
        cost = np.where(edge < 0, 0.0, self._exact_costs[edge])
        return self._tensor(cost.sum(axis=1))

    # Routes are looked up in arrays: of few nodes that is much quicker.

    def _edge_ids(self, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
        keys = self._keys
        wanted = tails * self.num_nodes + heads
        found = np.minimum(keys.searchsorted(wanted), keys.size - 1)
        return np.where(keys[found] == wanted, found, -1)

    def _route_edges(self, nodes: np.ndarray) -> np.ndarray:
        out = np.full(nodes.shape, -1)
        tail, head = nodes[:, :-1], nodes[:, 1:]
        step = head >= 0
        edge = self._edge_ids(tail[step], head[step])
        edge[edge < 0] = -2
        out[:, :-1][step] = edge
        return out

    @cached_property
    def _keys(self) -> np.ndarray:
        """A number for each edge, ascending as edges are sorted."""
        keys: np.ndarray = _array(self.src) * self.num_nodes + _array(self.dst)
        return keys

    @cached_property
    def _exact_costs(self) -> np.ndarray:
        return _array(self.exact_cost)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self.device)

    def chunks(self, nodes: Tensor, max_edges: int) -> Iterator[slice]:
        """Parts with less than :obj:`max_edges` plus one node's out-edges."""
        # A node counts as an edge, so that parts end without any.
        size = self.rowptr[nodes + 1] - self.rowptr[nodes] + 1
        part = (size.cumsum(0) - size) // max_edges
        first = 0
        for count in part.unique_consecutive(return_counts=True)[1].tolist():
            yield slice(first, first + count)
            first += count

    def to_scipy(self, reverse: bool = False) -> csr_array:
        """As a sparse matrix of float64 costs, zero costs kept as entries."""
        ends = self.src.cpu().numpy(), self.dst.cpu().numpy()
        cost = self.exact_cost.cpu().numpy()
        size = (self.num_nodes, self.num_nodes)
        return csr_array((cost, ends[::-1] if reverse else ends), shape=size)


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
        label = self._strong  # of few nodes, much quicker than with tensors
        return bool((label[_array(starts)] == label[_array(goals)]).all())

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


def _exact_cost(data: Data) -> Tensor:
    """Costs in float64, those of :func:`~bcm_pyg.graph.simplify_graph` if they
    still belong to the graph.
    """
    cost: Tensor = data.edge_cost
    exact = data.get('edge_cost_exact')
    if isinstance(exact, Tensor) and torch.equal(exact.float(), cost):
        return exact.double()
    return cost.double()


def _array(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()


def cut_loops(nodes: Tensor) -> Tensor:
    """Routes :obj:`[B, L]` that visit no node twice, over the same edges."""
    ordered = np.sort(_array(nodes), axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if not twice.any():
        return nodes
    nodes = nodes.clone()
    for query in np.flatnonzero(twice.any(axis=1)).tolist():
        route: dict[int, None] = {}
        for node in nodes[query][nodes[query] >= 0].tolist():
            while node in route and next(reversed(route)) != node:
                route.popitem()
            route[node] = None
        nodes[query] = -1
        nodes[query, : len(route)] = nodes.new_tensor(list(route))
    return nodes


#: By their :obj:`edge_index`.
_SHARED = WeakTensorKeyDictionary()
_LOCK = threading.Lock()

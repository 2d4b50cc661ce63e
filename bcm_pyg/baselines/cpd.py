from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm.auto import tqdm

from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import Adjacency

from .apsp import looked_up
from .dijkstra import follow_hops, search_trees

#: Per run, by node and then column: its node, its first column, its move.
Runs = tuple[np.ndarray, np.ndarray, np.ndarray]


class CPD(BasePlanner):
    r"""A compressed path database, as in `"Compressing Optimal Paths with Run
    Length Encoding" <https://doi.org/10.1613/jair.4931>`_: exact, and much
    smaller than :class:`APSP`.

    For every node and goal it knows the first move of a shortest route, as the
    position of an edge among the node's out-edges. Goals are put in an order
    where neighbours are close (depth first), and a node's moves are stored as
    runs of equal ones. Of several optimal moves, the one that makes the run
    longest is taken. Each hop is a binary search in the runs of the current
    node and counts as an expansion. It is built by one search per goal, some 20
    seconds at :math:`N = 10^4`, growing with :math:`N^2`.

    Args:
        data (torch_geometric.data.Data): The graph.
        progress (bool, optional): Whether to show a bar while building.
            (default: :obj:`False`)

    Attributes:
        runs: :obj:`[R]` array of all runs, node by node, each of them the
            position of its first goal times :obj:`num_moves` plus its move.
        rowptr: :obj:`[N + 1]` array, where the runs of each node begin.
        rank: :obj:`[N]` array, the position of each node among the goals;
            those that no edge leads to come after the last.
        num_moves: All moves are below this number.
    """

    def __init__(
        self, data: Data | SimplifiedGraph, *, progress: bool = False
    ) -> None:
        super().__init__(data, torch.device('cpu'))
        num_nodes = self.adjacency.num_nodes
        goals = goal_order(self.adjacency)
        node, column, move = first_move_runs(self.adjacency, goals, progress)
        self.num_moves = int(move.max()) + 1
        rank = np.full(num_nodes, goals.size)
        rank[goals] = np.arange(goals.size)
        num_runs = np.bincount(node, minlength=num_nodes)
        self.rank = _compact(rank, goals.size)
        self.rowptr = _compact(np.append(0, num_runs.cumsum()), node.size)
        self.runs = _compact(
            column * self.num_moves + move, goals.size * self.num_moves - 1
        )
        self._search_steps = int(num_runs.max() - 1).bit_length()

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        adjacency, goal = self.adjacency, goals.numpy()
        begin, head = adjacency.rowptr.numpy(), adjacency.dst.numpy()

        def next_hops(query: np.ndarray, node: np.ndarray) -> np.ndarray:
            out = np.full_like(node, -1)
            on = node != goal[query]
            node, query = node[on], query[on]
            out[on] = head[begin[node] + self.first_moves(node, goal[query])]
            return out

        nodes = follow_hops(starts.numpy(), next_hops)
        return looked_up(adjacency.route_costs(nodes), nodes)

    def first_moves(self, nodes: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """The move of each node towards its goal, :obj:`[B]`.

        Nodes must have out-edges, and goals in-edges. A move that equals the
        node's out-degree means that there is no route.
        """
        low = self.rowptr[nodes].astype(np.int64)
        high = self.rowptr[nodes + 1].astype(np.int64)
        bound = (self.rank[goals].astype(np.int64) + 1) * self.num_moves
        for _ in range(self._search_steps):
            middle = (low + high) >> 1
            before = self.runs[middle] < bound
            low = np.where(before, middle, low)
            high = np.where(before, high, middle)
        run: np.ndarray = self.runs[low].astype(np.int64)
        return run % self.num_moves

    def storage_bytes(self) -> int:
        """Bytes of :obj:`runs`, :obj:`rowptr` and :obj:`rank`."""
        return self.runs.nbytes + self.rowptr.nbytes + self.rank.nbytes

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(num_nodes={self.adjacency.num_nodes}, '
            f'num_runs={self.runs.size})'
        )


def goal_order(adjacency: Adjacency) -> np.ndarray:
    """All nodes that edges lead to, neighbours close to each other.

    The order is depth first, whatever the direction of edges. The neighbour
    with the fewest unvisited neighbours comes first: it leaves few stragglers.
    """
    graph = adjacency.to_scipy()
    graph.data = np.ones_like(graph.data)  # a cost of 0 is an edge too
    graph = (graph + graph.T).tocsr()
    graph.sort_indices()
    heads = graph.indices.tolist()
    begins = graph.indptr.tolist()
    unvisited = [heads[begin:end] for begin, end in pairwise(begins)]
    num_unvisited = np.diff(graph.indptr).tolist()
    seen = [False] * adjacency.num_nodes
    order: list[int] = []
    path: list[int] = []

    def visit(node: int) -> None:
        seen[node] = True
        order.append(node)
        path.append(node)
        for neighbor in unvisited[node]:
            num_unvisited[neighbor] -= 1

    for root in range(adjacency.num_nodes):
        if not seen[root]:
            visit(root)
        while path:
            node = path[-1]
            left = [head for head in unvisited[node] if not seen[head]]
            unvisited[node] = left
            if left:
                visit(min(left, key=num_unvisited.__getitem__))
            else:
                path.pop()
    entered = np.zeros(adjacency.num_nodes, dtype=bool)
    entered[adjacency.dst.numpy()] = True
    out = np.array(order, dtype=np.int64)
    return out[entered[out]]


def first_move_runs(
    adjacency: Adjacency, goals: np.ndarray, progress: bool = False
) -> Runs:
    """The fewest runs of first moves, in this order, that answer all pairs.

    Rows are the nodes with out-edges, columns the goals in the given order. A
    run goes on for as long as some move is right for all of its goals: it is
    the next hop of the goal's search tree, or it lies on a shortest route and
    gets strictly nearer. So walks cannot circle, even where edges cost nothing
    or rounding loses something.
    """
    # Each row gets a last edge, from the node to itself, for 'no route'.
    rows = np.flatnonzero(adjacency.degree().numpy() > 0)
    src = np.concatenate([adjacency.src.numpy(), rows])
    dst = np.concatenate([adjacency.dst.numpy(), rows])
    cost = np.concatenate([adjacency.exact_cost.numpy(), 0.0 * rows])
    order = np.argsort(src, kind='stable')
    src, dst, cost = src[order], dst[order], cost[order]
    row_of_edge = np.searchsorted(rows, src)
    first = np.searchsorted(src, rows)
    last = np.append(first[1:], src.size) - 1
    row_of_node = np.full(adjacency.num_nodes, -1)
    row_of_node[rows] = np.arange(rows.size)

    right = np.ones(src.size, dtype=bool)  # for the whole run so far
    begin = np.zeros(rows.size, dtype=np.int64)
    found: list[Runs] = []

    def close(ended: np.ndarray) -> None:
        edge = np.flatnonzero(right & ended[row_of_edge])
        row = row_of_edge[edge]
        lowest = np.diff(row, prepend=-1) > 0
        edge, row = edge[lowest], row[lowest]
        found.append((rows[row], begin[row], edge - first[row]))

    parts = search_trees(adjacency.to_scipy(reverse=True), goals)
    searched = (one for trees in parts for one in zip(*trees, strict=True))
    bar = tqdm(searched, total=goals.size, disable=not progress)
    for column, (goal, distance, next_hop) in enumerate(bar):
        here, there = distance[src], distance[dst]
        fits = (there + cost == here) & (there < here)
        fits |= dst == next_hop[src]
        fits[last] = np.isinf(distance[rows])
        row = row_of_node[goal]
        if row >= 0:  # at the goal, nobody asks
            fits[first[row] : last[row] + 1] = True
        still = right & fits
        ended = ~np.logical_or.reduceat(still, first)
        if ended.any():
            close(ended)
            begin[ended] = column
            still |= fits & ended[row_of_edge]
        right = still
    close(np.ones(rows.size, dtype=bool))

    node, start, move = map(np.concatenate, zip(*found, strict=True))
    by_node = np.lexsort((start, node))
    return node[by_node], start[by_node], move[by_node]


def _compact(values: np.ndarray, most: int) -> np.ndarray:
    """The same in the smallest unsigned type that holds :obj:`most`."""
    return values.astype(np.min_scalar_type(most))

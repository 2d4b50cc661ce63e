"""The tables behind :class:`CPD`: an order of goals, runs of first moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.sparse.csgraph import dijkstra
from tqdm import tqdm

from bcm_pyg.utils import Adjacency

#: Bytes of distances and next hops that one search call makes.
CHUNK_BYTES = 2**26

#: Per run: its node, its first position, its move.
Runs = tuple[np.ndarray, np.ndarray, np.ndarray]


def goal_order(adjacency: Adjacency) -> np.ndarray:
    """All nodes that edges lead to, neighbours close to each other.

    The graph is walked depth first, edge directions aside. Of the unvisited
    neighbours, the one with the fewest unvisited neighbours of its own comes
    first, so that few stragglers are left for later.
    """
    graph = adjacency.to_scipy()
    graph.data = np.ones_like(graph.data)  # a cost of 0 is an edge too
    graph = (graph + graph.T).tocsr()
    graph.sort_indices()
    heads = graph.indices.tolist()
    unvisited = [
        heads[begin:end] for begin, end in pairwise(graph.indptr.tolist())
    ]
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
            ways = [head for head in unvisited[node] if not seen[head]]
            unvisited[node] = ways
            if ways:
                visit(min(ways, key=num_unvisited.__getitem__))
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

    A move is the place of an edge among the out-edges of its node; one place
    beyond the last means that there is no route. Rows are the nodes with
    out-edges, columns the goals in the given order. A run goes on for as long
    as some move is right for all of its goals.

    A move is right if it is the next hop of the goal's search tree, or if it
    lies on a shortest route and gets strictly nearer. Each such move reduces
    the distance, or keeps it and goes down the tree, so that walks cannot
    circle, whatever edges cost nothing and whatever is lost in rounding.

    Args:
        adjacency (Adjacency): The graph, on the CPU.
        goals (numpy.ndarray): Goals in the order of columns.
        progress (bool, optional): Whether to show a bar. (default:
            :obj:`False`)

    Returns:
        Node, first column and move of each run, by node and then column.
    """
    # Each row gets a last edge, from the node to itself, for 'no route'.
    rows = np.flatnonzero(adjacency.degree().numpy() > 0)
    src = np.concatenate([adjacency.src.numpy(), rows])
    dst = np.concatenate([adjacency.dst.numpy(), rows])
    cost = np.concatenate([adjacency.cost.double().numpy(), 0.0 * rows])
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

    searches = _searches(adjacency, goals)
    bar = tqdm(searches, total=goals.size, disable=not progress)
    for column, (distance, next_hop) in enumerate(bar):
        here, there = distance[src], distance[dst]
        fits = (there + cost == here) & (there < here)
        fits |= dst == next_hop[src]
        fits[last] = np.isinf(distance[rows])
        row = row_of_node[goals[column]]
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

    node, start, move = (
        np.concatenate(part) for part in zip(*found, strict=True)
    )
    by_node = np.lexsort((start, node))
    return node[by_node], start[by_node], move[by_node]


def _searches(
    adjacency: Adjacency, goals: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Distances to each goal and next hops, searched in chunks."""
    graph = adjacency.to_scipy(reverse=True)
    chunk = max(1, CHUNK_BYTES // (12 * adjacency.num_nodes))
    for first in range(0, goals.size, chunk):
        part = goals[first : first + chunk]
        yield from zip(
            *dijkstra(graph, indices=part, return_predecessors=True),
            strict=True,
        )

from __future__ import annotations

import numpy as np

from bcm_pyg.utils import Adjacency


class EliminationTree:
    r"""Which nodes a search in a contraction hierarchy looks at.

    Nodes are eliminated in order, each of them leaving its later neighbours
    connected to each other; the parent of a node is the first of these. A
    search goes up from the start and from the goal to the root and relaxes all
    that it passes, whatever edges cost.

    Args:
        adjacency (Adjacency): The graph, on the CPU.
        order (numpy.ndarray): :obj:`[N]` nodes, first eliminated first.
    """

    def __init__(self, adjacency: Adjacency, order: np.ndarray) -> None:
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        ends = rank[adjacency.src.numpy()], rank[adjacency.dst.numpy()]
        parent = _parents(*ends, num_nodes=order.size)
        depth = [0] * len(parent)  # of the node above all roots, the last: 0
        for node in range(order.size - 1, -1, -1):
            depth[node] = depth[parent[node]] + 1
        self._rank = rank
        self._depth = np.array(depth)
        # Where 1, 2, 4, ... steps up lead.
        self._above = [np.array(parent, dtype=np.int32)]
        for _ in range(max(depth).bit_length()):
            self._above.append(self._above[-1][self._above[-1]])

    def search_sizes(self, starts: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Distinct nodes above each start or goal, itself included."""
        one, two = self._rank[starts], self._rank[goals]
        depth = self._depth
        total = depth[one] + depth[two]
        swap = depth[one] < depth[two]
        one, two = np.where(swap, two, one), np.where(swap, one, two)
        lead = depth[one] - depth[two]
        for bit, above in enumerate(self._above):
            one = np.where((lead >> bit) & 1, above[one], one)
        for above in reversed(self._above):
            apart = above[one] != above[two]
            one = np.where(apart, above[one], one)
            two = np.where(apart, above[two], two)
        common = np.where(one == two, one, self._above[0][one])
        return total - depth[common]


def _parents(one: np.ndarray, two: np.ndarray, num_nodes: int) -> list[int]:
    """Parents by rank; a root's is the node above all, :obj:`num_nodes`.

    This is Liu's algorithm: edges in the order of their later end, and paths
    to the top cut short as they are walked.
    """
    early, late = np.minimum(one, two), np.maximum(one, two)
    by_late = np.argsort(late, kind='stable')
    parent = [num_nodes] * (num_nodes + 1)
    top = parent.copy()
    for node, last in zip(
        early[by_late].tolist(), late[by_late].tolist(), strict=True
    ):
        while node < last:
            above, top[node] = top[node], last
            if above == num_nodes:
                parent[node] = last
            node = above
    return parent

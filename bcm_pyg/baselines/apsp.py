import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import check_int

from .dijkstra import follow_hops, search_trees


class APSP(BasePlanner):
    r"""All-pairs shortest paths: every answer is computed in advance.

    The paper's "exact pairwise distance and next-hop tables", with
    :math:`\mathcal{O}(1)` look-up per step. A pair takes 12 bytes (float64
    distance, int32 next hop), blocked cells included: 30.720 MB at
    :math:`N = 1600`, as in the paper. A look-up counts as an expansion.

    Args:
        data (torch_geometric.data.Data): The graph.
        max_bytes (int, optional): Larger tables are refused. (default: 4 GiB)

    Attributes:
        distance: :obj:`[N, N]` float64, from row to column, infinite where
            there is no route.
        next_hop: :obj:`[N, N]` int32, the node after the row's on the way to
            the column's, -1 where there is none.
    """

    def __init__(
        self, data: Data | SimplifiedGraph, *, max_bytes: int = 2**32
    ) -> None:
        check_int('max_bytes', max_bytes, 0)
        self.max_bytes = max_bytes
        super().__init__(data, torch.device('cpu'))
        if self.storage_bytes() > max_bytes:
            raise BCMError(
                f'the tables of {self.adjacency.num_nodes} nodes need '
                f'{self.storage_bytes()} bytes (12 a pair), more than '
                f'max_bytes = {max_bytes}: raise it, or use Dijkstra, which '
                'keeps no table'
            )
        graph = self.adjacency.to_scipy(reverse=True)
        # One search against the edges per goal, so rows are goals here.
        distance = np.empty(graph.shape)
        next_hop = np.empty(graph.shape, dtype=np.int32)
        for trees in search_trees(graph, np.arange(len(distance))):
            distance[trees.goals] = trees.distance
            next_hop[trees.goals] = np.maximum(trees.next_hop, -1)
        self.distance = torch.from_numpy(distance).T
        self.next_hop = torch.from_numpy(next_hop).T

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        goal, table = goals.numpy(), self.next_hop.numpy()
        nodes = follow_hops(
            starts.numpy(), lambda query, node: table[node, goal[query]]
        )
        return looked_up(self.distance[starts, goals], nodes)

    def storage_bytes(self) -> int:
        """Bytes of both tables, the paper's count."""
        return 12 * self.adjacency.num_nodes**2

    def compact_bytes(self) -> int:
        r"""Bytes of the next hops alone, packed: the fair reference.

        Each ordered pair of distinct nodes with edges takes as few bits as tell
        the out-edges of a node apart, :math:`\lceil \log_2 \max_i \deg(i)
        \rceil`: 2 on a grid, 0.589 MB at :math:`N = 1600`. If some pair has no
        route, that is one more code.
        """
        used = torch.cat([self.adjacency.src, self.adjacency.dst]).unique()
        parts = self.reachability.strong[used].unique().numel()
        num_codes = int(self.adjacency.degree().max()) + (parts > 1)
        bits = (num_codes - 1).bit_length()
        return int(bits * used.numel() * (used.numel() - 1) + 7) // 8


def looked_up(cost: Tensor, nodes: Tensor) -> Plan:
    """Exact routes; each hop was a look-up, which counts as an expansion."""
    hops = (nodes >= 0).sum(dim=1) - 1
    return Plan.from_routes(cost, nodes, hops.clamp(min=0), cost.clone())

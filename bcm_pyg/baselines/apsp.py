from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import Adjacency, check_int

from .dijkstra import follow_hops, search_trees


class APSP(BasePlanner):
    r"""All-pairs shortest paths: every answer is computed in advance.

    The paper's "exact pairwise distance and next-hop tables", with
    :math:`\mathcal{O}(1)` look-up per step. A pair takes 12 bytes (float64
    distance, int32 next hop), blocked cells included: 30.720 MB at
    :math:`N = 1600`, as in the paper. A look-up counts as an expansion.

    With :obj:`packed`, only next hops are kept, as positions among the
    out-edges of a node, in as few bits as these take: 2 on a grid, 0.589 MB at
    :math:`N = 1600`. Routes are the same, and cost what their edges sum up to.

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
            self.packed_hops = self._pack()
        else:
            self.distance, self.next_hop = self._tables()

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        start, goal = starts.numpy(), goals.numpy()
        if self.packed:
            moves = partial(self._layout.read, self.packed_hops)
            return follow_moves(self.adjacency, start, goal, moves)
        table = self.next_hop.numpy()
        nodes = follow_hops(start, lambda query, node: table[node, goal[query]])
        return _looked_up(self.distance[starts, goals], nodes)

    def storage_bytes(self) -> int:
        """Bytes of both tables, the paper's count, or of the packed one."""
        if self.packed:
            return self.compact_bytes()
        return 12 * self.adjacency.num_nodes**2

    def compact_bytes(self) -> int:
        r"""Bytes of the next hops alone, packed: the fair reference.

        Each ordered pair of distinct nodes with edges takes :math:`\lceil
        \log_2 \max_i \deg(i) \rceil` bits.
        """
        return self._layout.num_bytes

    def _tables(self) -> tuple[Tensor, Tensor]:
        graph = self.adjacency.to_scipy(reverse=True)
        # One search against the edges per goal, so rows are goals here.
        distance = np.empty(graph.shape)
        next_hop = np.empty(graph.shape, dtype=np.int32)
        for trees in search_trees(graph, np.arange(len(distance))):
            distance[trees.goals] = trees.distance
            next_hop[trees.goals] = np.maximum(trees.next_hop, -1)
        return torch.from_numpy(distance).T, torch.from_numpy(next_hop).T

    def _pack(self) -> np.ndarray:
        graph = self.adjacency.to_scipy(reverse=True)
        trees = search_trees(graph, self._layout.nodes, multiple=8)
        parts = [self._layout.pack(one.goals, one.next_hop) for one in trees]
        return np.concatenate(parts)

    def __repr__(self) -> str:
        mode = ', packed=True' if self.packed else ''
        return f'{type(self).__name__}(num_nodes={self.num_nodes}{mode})'


def follow_moves(
    adjacency: Adjacency,
    start: np.ndarray,
    goal: np.ndarray,
    moves: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Plan:
    """Exact routes by a table of moves; a look-up is an expansion.

    From nodes and goals, :obj:`moves` gives the next edge's position among the
    out-edges of each node. All goals can be reached.
    """
    begin, head = adjacency.rowptr.numpy(), adjacency.dst.numpy()

    def next_hops(query: np.ndarray, node: np.ndarray) -> np.ndarray:
        out = np.full_like(node, -1)
        on = node != goal[query]
        node, query = node[on], query[on]
        out[on] = head[begin[node] + moves(node, goal[query])]
        return out

    nodes = follow_hops(start, next_hops)
    return _looked_up(adjacency.route_costs(nodes), nodes)


def _looked_up(cost: Tensor, nodes: Tensor) -> Plan:
    plan = Plan.from_routes(cost, nodes, torch.zeros_like(nodes[:, 0]))
    return replace(plan, expansions=plan.hops.clone(), lower_bound=cost.clone())


class HopLayout:
    r"""Where a packed table keeps a pair's next hop, and in how many bits.

    A next hop is stored as the position of its edge among the out-edges of the
    node; if some pair has no route, :math:`\max_i \deg(i)` is one more code.
    A node with itself and nodes without edges are left out. Goal follows goal,
    and for each goal start follows start.

    Attributes:
        nodes: :obj:`[n]` array of the nodes with edges, ascending.
        bits: Bits of a pair, as few as tell the codes apart.
        num_bytes: Bytes of a table.
        no_route: The code of pairs without a route.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        used = torch.zeros(adjacency.num_nodes, dtype=torch.bool)
        used[adjacency.src] = used[adjacency.dst] = True
        strong = adjacency.reachability.strong[used]
        self.nodes = used.nonzero().squeeze(1).numpy()
        self.no_route = int(adjacency.degree().max())
        num_codes = self.no_route + int(strong.unique().numel() > 1)
        self.bits = (num_codes - 1).bit_length()
        num_pairs = self.nodes.size * (self.nodes.size - 1)
        self.num_bytes = (self.bits * num_pairs + 7) // 8
        self._adjacency = adjacency
        self._rank = used.numpy().cumsum() - 1

    def pack(self, goals: np.ndarray, next_hop: np.ndarray) -> np.ndarray:
        """The part of a table for consecutive goals of :obj:`nodes`, uint8.

        Parts of 8 end with a whole byte. In :obj:`next_hop`, :obj:`[G, N]`, no
        route is negative.
        """
        nodes = torch.from_numpy(self.nodes)
        head = torch.from_numpy(next_hop[:, self.nodes]).long()
        code = self._adjacency.edge_ids(nodes, head)
        code -= self._adjacency.rowptr[nodes]
        code[head < 0] = self.no_route
        return pack_bits(code.numpy()[self.nodes != goals[:, None]], self.bits)

    def read(
        self, table: np.ndarray, nodes: np.ndarray, goals: np.ndarray
    ) -> np.ndarray:
        """The code of each pair of distinct nodes with edges, :obj:`[B]`."""
        node, goal = self._rank[nodes], self._rank[goals]
        pair = goal * (self.nodes.size - 1) + node - (node > goal)
        return read_bits(table, pair, self.bits)


def pack_bits(values: np.ndarray, bits: int) -> np.ndarray:
    """Integers below :math:`2^{bits}` one after another, low bits first."""
    values = values.astype(np.min_scalar_type((1 << bits) - 1))
    digits = (values[:, None] >> np.arange(bits, dtype=values.dtype)) & 1
    return np.packbits(digits.astype(np.uint8), bitorder='little')


def read_bits(packed: np.ndarray, index: np.ndarray, bits: int) -> np.ndarray:
    """The integers at some positions of what :func:`pack_bits` made, int64."""
    out = np.zeros(index.shape, dtype=np.int64)
    if bits == 0:
        return out
    byte, shift = np.divmod(index * bits, 8)
    for more in range((bits + 14) // 8):  # as many bytes as it may reach into
        # Whatever is read beyond the end is masked below.
        part = packed[np.minimum(byte + more, packed.size - 1)]
        out |= part.astype(np.int64) << (8 * more)
    return (out >> shift) & ((1 << bits) - 1)

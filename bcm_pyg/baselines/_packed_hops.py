"""Next hops of all pairs in a few bits each."""

from __future__ import annotations

import numpy as np
import torch

from bcm_pyg.utils import Adjacency


class HopLayout:
    r"""Where a packed table keeps a pair's next hop, and in how many bits.

    A next hop is stored as the place of its edge among the out-edges of the
    node, :math:`0` to :math:`\max_i \deg(i) - 1`. If some pair has no route,
    :math:`\max_i \deg(i)` says so, one more code. Pairs that the graph itself
    answers are left out: a node with itself, and nodes without edges. Goal
    follows goal, and for each goal start follows start.

    Args:
        adjacency (Adjacency): The graph, on the CPU.

    Attributes:
        nodes: :obj:`[n]` array of the nodes with edges, ascending.
        bits: Bits of a pair, as few as tell the codes apart.
        num_bytes: Bytes of a table.
        no_route: The code of pairs without a route.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        num_nodes = adjacency.num_nodes
        heads = torch.bincount(adjacency.dst, minlength=num_nodes)
        used = adjacency.degree() + heads > 0
        strong = adjacency.reachability.strong[used]
        self.nodes = used.nonzero().squeeze(1).numpy()
        self.no_route = int(adjacency.degree().max())
        num_codes = self.no_route + int(strong.unique().numel() > 1)
        self.bits = (num_codes - 1).bit_length()
        num_pairs = self.nodes.size * (self.nodes.size - 1)
        self.num_bytes = (self.bits * num_pairs + 7) // 8
        self._used = used.numpy()
        self._rank = self._used.cumsum() - 1
        self._begin = adjacency.rowptr.numpy()
        # Ascending, since edges are ordered by tail and head.
        self._edges = (adjacency.src * num_nodes + adjacency.dst).numpy()

    def holds(self, nodes: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Whether a table has an answer for each pair, bool :obj:`[B]`."""
        return self._used[nodes] & self._used[goals] & (nodes != goals)

    def pack(self, goals: np.ndarray, next_hop: np.ndarray) -> np.ndarray:
        """The part of a table that belongs to some goals, uint8.

        Args:
            goals (numpy.ndarray): :obj:`[G]` consecutive ones of
                :obj:`nodes`. Parts of 8 goals each end with a whole byte.
            next_hop (numpy.ndarray): :obj:`[G, N]` the node after each node,
                negative where there is none.
        """
        head = next_hop[:, self.nodes]
        edge = self.nodes * (self._begin.size - 1) + head
        code = np.searchsorted(self._edges, edge) - self._begin[self.nodes]
        code[head < 0] = self.no_route
        return pack_bits(code[self.nodes != goals[:, None]], self.bits)

    def read(
        self, table: np.ndarray, nodes: np.ndarray, goals: np.ndarray
    ) -> np.ndarray:
        """The code of each pair, :obj:`[B]`; the table must hold them."""
        node, goal = self._rank[nodes], self._rank[goals]
        pair = goal * (self.nodes.size - 1) + node - (node > goal)
        return read_bits(table, pair, self.bits)


def pack_bits(values: np.ndarray, bits: int) -> np.ndarray:
    """Integers below :math:`2^{bits}` one after another, low bits first."""
    values = values.astype(np.min_scalar_type((1 << bits) - 1))
    digits = (values[:, None] >> np.arange(bits, dtype=values.dtype)) & 1
    return np.packbits(digits.astype(np.uint8), bitorder='little')


def read_bits(packed: np.ndarray, index: np.ndarray, bits: int) -> np.ndarray:
    """The integers at some places of what :func:`pack_bits` made, int64."""
    out = np.zeros(index.shape, dtype=np.int64)
    if bits == 0:
        return out
    byte, shift = np.divmod(index * bits, 8)
    for more in range((bits + 14) // 8):  # as many bytes as it may touch
        # What is read in place of a byte beyond the end is masked below.
        part = packed[np.minimum(byte + more, packed.size - 1)]
        out |= part.astype(np.int64) << (8 * more)
    return (out >> shift) & ((1 << bits) - 1)

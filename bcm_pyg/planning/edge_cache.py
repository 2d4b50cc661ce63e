from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.nn import Transition
from bcm_pyg.nn.values import MAX_ROWS
from bcm_pyg.utils import Adjacency

from .neighbors import NeighborTable

#: Nodes whose edges are filled in together.
BLOCK = 64


class EdgeCache:
    r"""All that scores need of an edge, whatever the goal.

    With :math:`a_{ig}` what the last layer of the transition encoder sees,
    :math:`z_{i \to g} = W_3 a_{ig} + b_3`, the expanded square is

    .. math::
        D_i(j; g) = \lVert z_{i \to g} \rVert^2
        + \underbrace{\lVert z_{i \to j} \rVert^2
        - 2 \, z_{i \to j} \cdot b_3}_{\mathrm{offset}}
        + \underbrace{(-2 \, W_3^\top z_{i \to j})}_{\mathrm{slope}}
        \cdot \, a_{ig} .

    The first term is the same for all neighbours, so the choice of one needs
    two layers for the pair :math:`(i, g)` and a dot product for each edge, and
    never the last layer.

    Offset and slope are kept as they are for the first edge of a node, and for
    its other edges as the difference from those of the first: what is small
    stays exact, and the first edge of each node need not be read to rank them.

    Edges are filled in when one of their nodes is first asked for, 64 nodes at
    a time. The full cache takes :math:`4 (H + 1)` bytes an edge, that is 1 kB
    at :math:`H = 256`, and about 100 bytes a node.

    Args:
        transition (Transition): The transition encoder.
        hidden (torch.Tensor): The hidden rows of all nodes, :obj:`[N, H]`.
        adjacency (Adjacency): The graph.

    Attributes:
        slope: :obj:`[E + 1, H]`; the last row is 0, for padding.
        offset: :obj:`[E]`.
        table: The edges of each node in a row.
        offsets: :obj:`[N, W]` the offsets in the order of the table, with 0 for
            the first edge of a node, and infinite ones for padding.
    """

    def __init__(
        self, transition: Transition, hidden: Tensor, adjacency: Adjacency
    ) -> None:
        self.transition = transition
        self.hidden = hidden
        self.adjacency = adjacency
        num_edges = adjacency.num_edges
        # Not touched yet, so that pages are taken as edges are filled in.
        self.slope = hidden.new_empty(num_edges + 1, hidden.size(1))
        self.slope[-1] = 0
        self.offset = hidden.new_empty(num_edges)
        self.table = NeighborTable(adjacency)
        self.offsets = hidden.new_full(self.table.head.shape, float('inf'))
        self.offsets[:, 0] = 0
        self._filled = adjacency.degree() == 0
        self._is_full = False

    @staticmethod
    def is_exact_for(transition: Transition) -> bool:
        """Whether the last layer of an encoder is linear, as it must be."""
        return type(transition).rest is Transition.rest

    @staticmethod
    def full_bytes(adjacency: Adjacency, hidden: Tensor) -> int:
        """Bytes that a cache of all edges takes."""
        per_edge = hidden.element_size() * (hidden.size(1) + 1)
        return adjacency.num_edges * per_edge

    def num_bytes(self) -> int:
        """Bytes of the edges filled in so far, and of their table."""
        num_edges = int(self.adjacency.degree()[self._filled].sum())
        per_edge = self.slope.element_size() * (self.slope.size(1) + 1)
        offsets = self.offsets.numel() * self.offsets.element_size()
        return num_edges * per_edge + offsets + self.table.num_bytes()

    @torch.no_grad()
    def fill(self, nodes: Tensor) -> None:
        """Makes sure that the edges of these nodes are there."""
        if self._is_full:
            return
        known = self._filled.index_select(0, nodes)
        if bool(known.all()):
            return
        block = nodes[~known].div(BLOCK, rounding_mode='floor')
        self._fill_blocks(block.unique())
        if 8 * int(self._filled.sum()) > 7 * self._filled.numel():
            # The last few as well, so that nobody needs to ask again.
            block = (~self._filled).nonzero().squeeze(1)
            self._fill_blocks(block.div(BLOCK, rounding_mode='floor').unique())
            self._is_full = True

    def _fill_blocks(self, block: Tensor) -> None:
        # Always by whole blocks: then all comes out the same in any order.
        for first in (BLOCK * block).tolist():
            end = min(first + BLOCK, self._filled.numel())
            begin = self.adjacency.rowptr[first : end + 1]
            nodes = first + begin.diff().nonzero().squeeze(1)
            for part in self.adjacency.chunks(nodes, MAX_ROWS):
                self._fill(nodes[part])
            self._filled[first:end] = True

    @torch.no_grad()
    def scores(
        self, nodes: Tensor, goals: Tensor, edge: Tensor, row: Tensor
    ) -> Tensor:
        """Raw scores :obj:`[M]` of edges, as if nothing were cached.

        Args:
            nodes (torch.Tensor): Nodes to leave, :obj:`[B]`.
            goals (torch.Tensor): The goal of each, :obj:`[B]`.
            edge (torch.Tensor): All edges that leave them, :obj:`[M]`.
            row (torch.Tensor): The position in the nodes that each leaves.
        """
        self.fill(nodes)
        difference = self.hidden.index_select(0, goals)
        difference -= self.hidden.index_select(0, nodes)
        difference += self.transition.lin1.bias
        feature = self.transition.features(difference, inplace=True)
        score = self.slope.index_select(0, edge)
        score = score.mul_(feature.index_select(0, row)).sum(dim=-1)
        score += self.offset.index_select(0, edge)
        is_first = edge == self.adjacency.rowptr[nodes][row]
        base = self.transition.lin3(feature).square().sum(dim=-1)
        base[row[is_first]] += score[is_first]
        score = score.masked_fill_(is_first, 0) + base.index_select(0, row)
        return score.clamp_(min=0)  # rounding may leave less

    def _fill(self, nodes: Tensor) -> None:
        edge, row = self.adjacency.out_edges(nodes)
        source = self.hidden.index_select(0, nodes) - self.transition.lin1.bias
        head = self.adjacency.dst[edge]
        z = self.transition.rest(
            self.hidden.index_select(0, head) - source.index_select(0, row)
        )
        begin = self.adjacency.rowptr[nodes]
        is_first = edge == begin[row]
        base = z[is_first].index_select(0, row)
        base[is_first] = 0
        change = z - base
        last = self.transition.lin3
        self.slope[edge] = change @ (-2 * last.weight)
        offset = (change * (z + base - 2 * last.bias)).sum(-1)
        self.offset[edge] = offset
        place = edge - begin[row]
        in_table = (place > 0) & (place < self.table.width)
        self.offsets[nodes[row][in_table], place[in_table]] = offset[in_table]

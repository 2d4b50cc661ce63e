from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.data import Data


@dataclass(frozen=True)
class Adjacency:
    """The out-edges of every node, in the order of a canonical graph.

    Attributes:
        rowptr: :obj:`[N + 1]` where the out-edges of a node begin.
        src: :obj:`[E]` the tail of each edge, ascending.
        dst: :obj:`[E]` the head of each edge.
        cost: :obj:`[E]` what the edge costs, float32.
        num_nodes: :math:`N`.
    """

    rowptr: Tensor
    src: Tensor
    dst: Tensor
    cost: Tensor
    num_nodes: int

    @classmethod
    def from_data(cls, data: Data) -> Adjacency:
        """From a canonical graph (see :func:`bcm_pyg.planning_graph`)."""
        src = data.edge_index[0].contiguous()
        dst = data.edge_index[1].contiguous()
        num_nodes = int(data.num_nodes)
        degree = torch.bincount(src, minlength=num_nodes)
        rowptr = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
        return cls(rowptr, src, dst, data.edge_cost, num_nodes)

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
            that it leaves :obj:`[M]` (ascending).
        """
        begin = self.rowptr[nodes]
        degree = self.rowptr[nodes + 1] - begin
        position = torch.arange(nodes.numel(), device=nodes.device)
        position = position.repeat_interleave(degree)
        first = degree.cumsum(0) - degree  # where each node's edges start in M
        offset = torch.arange(position.numel(), device=nodes.device)
        return (begin - first)[position] + offset, position

    def chunks(self, nodes: Tensor, max_edges: int) -> Iterator[slice]:
        """Cuts :obj:`nodes` so that a part has few out-edges.

        A part has less than :obj:`max_edges` plus the degree of one node.
        """
        degree = self.rowptr[nodes + 1] - self.rowptr[nodes]
        before = (
            degree.cumsum(0)
            - degree
            + torch.arange(nodes.numel(), device=nodes.device)
        )  # a node counts as an edge, so that parts end without any
        part = before // max_edges
        first = 0
        for count in part.unique_consecutive(return_counts=True)[1].tolist():
            yield slice(first, first + count)
            first += count

    def to_scipy(self, reverse: bool = False) -> csr_array:
        """As a sparse matrix of float64 costs, zero costs kept as entries."""
        src, dst = self.src.cpu().numpy(), self.dst.cpu().numpy()
        cost = self.cost.cpu().numpy().astype(np.float64)
        if reverse:
            src, dst = dst, src
        size = (self.num_nodes, self.num_nodes)
        return csr_array((cost, (src, dst)), shape=size)

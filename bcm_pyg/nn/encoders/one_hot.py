from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from .base import NodeEncoder


class OneHotEncoder(NodeEncoder):
    r"""One code per node, :math:`\psi(x_n) = \mathbf{e}_n`.

    It has no parameters of its own; the first layer of the transition encoder
    grows with :math:`|\mathcal{V}|` instead. Coordinates are not used.

    Args:
        num_nodes (int): Number of nodes.

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, |\mathcal{V}|)`, sparse
    """

    per_node = True

    def __init__(self, num_nodes: int) -> None:
        super().__init__()
        if num_nodes < 1:
            raise BCMError(f'num_nodes must be positive (got {num_nodes})')
        self.num_nodes = num_nodes
        self.out_channels = num_nodes

    @classmethod
    def from_data(cls, data: Data, **kwargs: Any) -> Self:
        """One code per node of the graph."""
        return cls(int(data.num_nodes), **kwargs)

    def _ids(self, data: Data) -> Tensor:
        # A whole graph may carry an n_id of its own, as PyG's loaders set it.
        if data.get('edge_index') is None:
            return data.n_id
        if data.pos.size(0) != self.num_nodes:
            raise BCMError(
                f'the encoder was built for {self.num_nodes} nodes (got a '
                f'graph of {data.pos.size(0)})'
            )
        return torch.arange(self.num_nodes, device=data.pos.device)

    def forward(self, data: Data) -> Tensor:
        """The codes as a sparse matrix :obj:`[N, N]`."""
        ids = self._ids(data)
        rows = torch.arange(ids.numel(), device=ids.device)
        return torch.sparse_coo_tensor(
            torch.stack([rows, ids]),
            torch.ones(ids.numel(), device=ids.device),
            (ids.numel(), self.num_nodes),
            is_coalesced=True,
            check_invariants=True,
        )

    def project(self, data: Data, weight: Tensor) -> Tensor:
        """A lookup of columns of the weight."""
        return weight.T[self._ids(data)]

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        return {'num_nodes': self.num_nodes}

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_nodes={self.num_nodes}'

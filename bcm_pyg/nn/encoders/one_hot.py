from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.utils import check_int

from .base import NodeEncoder, node_ids


class OneHotEncoder(NodeEncoder):
    r"""One code per node, :math:`\psi(x_n) = \mathbf{e}_n`.

    It has no parameters and ignores coordinates; the first layer of the
    transition encoder grows with :math:`|\mathcal{V}|`.

    Args:
        num_nodes (int): Number of nodes.

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, |\mathcal{V}|)`, sparse
    """

    per_node = True
    needs_pos = False

    def __init__(self, num_nodes: int) -> None:
        super().__init__()
        check_int('num_nodes', num_nodes, 1)
        self.num_nodes = num_nodes
        self.out_channels = num_nodes

    @classmethod
    def from_data(cls, data: Data, **kwargs: Any) -> Self:
        """One code per node of the graph."""
        return cls(int(data.num_nodes), **kwargs)

    def forward(self, data: Data) -> Tensor:
        """The codes as a sparse matrix :obj:`[N, N]`."""
        ids = node_ids(data, self.num_nodes)
        index = torch.arange(ids.numel(), device=ids.device)
        return torch.sparse_coo_tensor(
            torch.stack([index, ids]),
            torch.ones(ids.numel(), device=ids.device),
            (ids.numel(), self.num_nodes),
            is_coalesced=True,
            check_invariants=True,
        )

    def project(self, data: Data, weight: Tensor) -> Tensor:
        """A lookup of columns of the weight."""
        return weight.T[node_ids(data, self.num_nodes)]

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        return {'num_nodes': self.num_nodes}

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_nodes={self.num_nodes}'

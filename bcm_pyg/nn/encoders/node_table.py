from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import Parameter
from torch_geometric.data import Data

from bcm_pyg.utils import check_int

from .base import NodeEncoder, node_ids


class NodeTableEncoder(NodeEncoder):
    r"""One short learned vector per node, :math:`\psi(x_n) = \mathbf{t}_n`.

    It stores :math:`4 C` bytes a node; a one-hot code takes 512 in a first
    layer that is 128 wide. It ignores coordinates, so it works best together
    with an encoder that uses them, as :obj:`"interaction+node_table"`.

    Args:
        num_nodes (int): Number of nodes.
        channels (int, optional): Width of a vector. (default: :obj:`8`)

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, C)`
    """

    per_node = True
    needs_pos = False

    def __init__(self, num_nodes: int, channels: int = 8) -> None:
        super().__init__()
        check_int('num_nodes', num_nodes, 1)
        check_int('channels', channels, 1)
        self.num_nodes = num_nodes
        self.out_channels = channels
        self.table = Parameter(torch.empty(num_nodes, channels))
        self.reset_parameters()

    @classmethod
    def from_data(cls, data: Data, **kwargs: Any) -> Self:
        """One vector per node of the graph."""
        return cls(int(data.num_nodes), **kwargs)

    def reset_parameters(self) -> None:
        """Resets the vectors, small compared with coordinates."""
        torch.nn.init.normal_(self.table, std=0.1)

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, C]`."""
        return self.table[node_ids(data, self.num_nodes)]

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        return {'num_nodes': self.num_nodes, 'channels': self.out_channels}

    def extra_repr(self) -> str:
        """For the representation."""
        return f'num_nodes={self.num_nodes}, channels={self.out_channels}'

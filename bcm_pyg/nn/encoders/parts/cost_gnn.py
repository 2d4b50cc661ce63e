import torch
from torch import Tensor
from torch.nn import Linear
from torch.nn.functional import silu
from torch_geometric.nn import MessagePassing


class CostConv(MessagePassing):  # type: ignore[misc]
    r"""One round of messages along edges and against them,

    .. math::
        \mathbf{x}'_i = W_0 \mathbf{x}_i + b
        + \frac{1}{|\mathcal{N}^+_i|} \sum_{j \in \mathcal{N}^+_i}
        \sigma(W_1 \mathbf{x}_j + W_2 \mathbf{e}_{i \to j})
        + \frac{1}{|\mathcal{N}^-_i|} \sum_{j \in \mathcal{N}^-_i}
        \sigma(W_3 \mathbf{x}_j + W_4 \mathbf{e}_{j \to i}) .

    Each direction has its own weights. The features :math:`\mathbf{e}` of an
    edge are added to the message: a factor could not tell a slow edge to a near
    node from a fast edge to a far one.
    """

    def __init__(
        self, in_channels: int, out_channels: int, edge_channels: int
    ) -> None:
        super().__init__(aggr='mean')
        self.lin_self = Linear(in_channels, out_channels)
        self.lin_next = Linear(in_channels, out_channels, bias=False)
        self.lin_past = Linear(in_channels, out_channels, bias=False)
        self.lin_edge = Linear(edge_channels, 2 * out_channels)

    def reset_parameters(self) -> None:
        """Resets all learnable parameters."""
        for lin in (self.lin_self, self.lin_next, self.lin_past, self.lin_edge):
            lin.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor
    ) -> Tensor:
        """The next features of all nodes."""
        along, against = self.lin_edge(edge_attr).chunk(2, dim=1)
        back = edge_index.flip(0)  # messages over out-edges come from the heads
        following = self.propagate(back, x=self.lin_next(x), edge=along)
        preceding = self.propagate(edge_index, x=self.lin_past(x), edge=against)
        out: Tensor = self.lin_self(x) + following + preceding
        return out

    def message(self, x_j: Tensor, edge: Tensor) -> Tensor:
        """The message along one edge."""
        return silu(x_j + edge)


class CostGNN(torch.nn.Module):
    r"""Rounds of :class:`CostConv`, each added to the features before it.

    Args:
        in_channels (int): Width of the node features.
        hidden_channels (int): Width of all rounds and of the output.
        num_layers (int): Number of rounds.
        edge_channels (int): Width of the edge features.
    """

    supports_edge_weight = False
    supports_edge_attr = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        edge_channels: int,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        widths = [in_channels] + [hidden_channels] * (num_layers - 1)
        self.convs = torch.nn.ModuleList(
            CostConv(width, hidden_channels, edge_channels) for width in widths
        )

    def reset_parameters(self) -> None:
        """Resets all learnable parameters."""
        for conv in self.convs:
            conv.reset_parameters()  # type: ignore[operator]

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor
    ) -> Tensor:
        """Features of all nodes after all rounds."""
        x = self.convs[0](x, edge_index, edge_attr)
        for conv in self.convs[1:]:
            x = x + conv(silu(x), edge_index, edge_attr)
        return x

    def __repr__(self) -> str:
        sizes = f'{self.in_channels}, {self.hidden_channels}'
        return f'{type(self).__name__}({sizes}, num_layers={self.num_layers})'

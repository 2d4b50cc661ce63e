import math

import torch
from torch import Tensor
from torch.nn import Linear
from torch.nn.functional import silu

from bcm_pyg.errors import BCMError

#: Of all layers, for graphs of any size. Half the width of the paper.
WIDTH = 128


class Transition(torch.nn.Module):
    r"""The transition encoder :math:`\phi`, an MLP on embedding differences,

    .. math::
        z_{i \to j} = \phi(o_j - o_i), \qquad
        \phi(x) = W_3 \, \sigma(W_2 \, \sigma(W_1 x + b_1) + b_2) + b_3 .

    Its first layer is linear in the difference, so it is applied once per node,
    :math:`h = W_1 o`, and :meth:`from_hidden` does the rest for a pair:
    :math:`z_{i \to j} = \mathrm{from\_hidden}(h_j - h_i + b_1)`.
    :math:`\sigma` is SiLU. A subclass with other layers overrides
    :meth:`from_hidden` alone.

    Args:
        in_channels (int): Width of a node embedding.
        hidden_channels (int, optional): Width of both hidden layers. (default:
            :obj:`128`)
        out_channels (int, optional): Width of :math:`z`. (default: :obj:`128`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = WIDTH,
        out_channels: int = WIDTH,
    ) -> None:
        super().__init__()
        if min(in_channels, hidden_channels, out_channels) < 1:
            raise BCMError(
                'channels must be positive (got '
                f'{in_channels}, {hidden_channels}, {out_channels})'
            )
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.out_channels = out_channels
        self.lin1 = Linear(in_channels, hidden_channels)
        self.lin2 = Linear(hidden_channels, hidden_channels)
        self.lin3 = Linear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets all learnable parameters.

        The last layer starts small, so that all scores start near 0: large
        random scores take long to unlearn.
        """
        for layer in (self.lin1, self.lin2, self.lin3):
            gain = 0.1 if layer is self.lin3 else math.sqrt(2)
            std = gain / math.sqrt(layer.in_features)
            torch.nn.init.normal_(layer.weight, std=std)
            torch.nn.init.zeros_(layer.bias)

    def forward(self, difference: Tensor) -> Tensor:
        """:math:`z` of embedding differences :obj:`[*, in_channels]`."""
        return self.from_hidden(self.lin1(difference))

    def from_hidden(self, hidden: Tensor) -> Tensor:
        r""":math:`z` of what the first layer gives.

        Args:
            hidden (torch.Tensor): :math:`W_1 (o_j - o_i) + b_1`,
                :obj:`[*, hidden_channels]`.
        """
        out: Tensor = self.lin3(silu(self.lin2(silu(hidden))))
        return out

    def config(self) -> dict[str, int]:
        """The constructor arguments."""
        names = ('in_channels', 'hidden_channels', 'out_channels')
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        width = self.hidden_channels
        widths = f'{self.in_channels}, {width}, {width}, {self.out_channels}'
        return f'{type(self).__name__}({widths})'

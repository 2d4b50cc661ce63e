"""A map whose walks go straight to their goals, without training.

How long a walk takes does not depend on what the weights are, but on how many
hops it makes. So that large graphs can be timed without training a map of them,
these weights are written by hand, in layers of the usual size.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM
from bcm_pyg.nn import NodeEncoder, Transition


class Places(NodeEncoder):
    """Embeds a node by its coordinates in the plane."""

    out_channels = 2
    per_node = True

    def forward(self, data: Data) -> Tensor:
        """The coordinates."""
        return data.pos


@torch.no_grad()
def straight_map(width: int) -> BCM:
    r"""A map with :math:`D_i(j; g) = \lVert x_j - x_g \rVert^2`.

    As :math:`x = \sigma(x) - \sigma(-x)`, four hidden values carry both
    coordinates through a layer. The others are drawn and do not count.

    Walks reach their goals on grids without walls.
    """
    seed_everything(0)
    phi = Transition(2, width, width)
    signs = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    phi.lin1.weight[:4] = signs
    phi.lin2.weight[:4] = 0.0
    phi.lin2.weight[:4, :4] = signs @ signs.T
    phi.lin3.weight.zero_()
    phi.lin3.weight[:2, :4] = signs.T
    return BCM(Places(), phi, terminal='paper')

"""The map as a page computes it, in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.explorer._contents import Arrays, map_arrays, values_of
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.nn import Transition


def page_map(model: BCM, data: Data | SimplifiedGraph) -> BCM:
    """The map as a page computes it: weights rounded to 8 bits.

    It is one of this graph alone, for planners to compare with the page.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data or SimplifiedGraph): Its graph.
    """
    is_simple = isinstance(data, SimplifiedGraph)
    core = data.data if is_simple else planning_graph(data)
    arrays = map_arrays(model, core)
    nodes = PageNodes(projected_nodes(arrays))
    scale = float(model.cost_scale)
    out = BCM(nodes, transition_of(arrays), model.terminal, scale)
    out.info = model.info
    return out


class PageNodes(torch.nn.Module):
    """Projected nodes as an encoder; the first layer behind it is none."""

    hidden: Tensor

    def __init__(self, hidden: Tensor) -> None:
        super().__init__()
        self.out_channels = hidden.size(1)
        self.register_buffer('hidden', hidden)

    def forward(self, data: Data) -> Tensor:
        """All nodes."""
        return self.hidden


def projected_nodes(arrays: Arrays) -> Tensor:
    """Projected nodes :obj:`[N, H]` of :func:`map_arrays`, as on the page."""
    if 'hidden' in arrays:
        nodes = torch.from_numpy(arrays['hidden'] * arrays['hidden_step'])
        mean = torch.from_numpy(arrays['hidden_mean'])
        return nodes.T.float() @ values_of(arrays, 'basis').T + mean
    blocks, axis = [], 0
    while f'table{axis}' in arrays:
        index = torch.from_numpy(arrays[f'axis{axis}']).long()
        blocks.append(values_of(arrays, f'table{axis}')[index])
        axis += 1
    if len(blocks) > 1:
        blocks.append(torch.stack(blocks).prod(dim=0))
    return torch.cat(blocks, dim=1) @ values_of(arrays, 'weight1').T


def transition_of(arrays: Arrays) -> Transition:
    """The transition encoder behind :func:`projected_nodes`."""
    weight2, weight3 = (
        values_of(arrays, 'weight2'),
        values_of(arrays, 'weight3'),
    )
    width = weight2.size(0)
    phi = Transition(width, width, weight3.size(0))
    with torch.no_grad():
        phi.lin1.weight.copy_(torch.eye(width))
        phi.lin1.bias.copy_(torch.from_numpy(arrays['bias1']))
        phi.lin2.weight.copy_(weight2)
        phi.lin2.bias.copy_(torch.from_numpy(arrays['bias2']))
        phi.lin3.weight.copy_(weight3)
        phi.lin3.bias.zero_()
    return phi

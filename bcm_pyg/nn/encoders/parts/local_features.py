"""Features of nodes and edges from the edges around a node."""

import torch
from torch import Tensor
from torch_geometric.data import Data

#: Added to costs, as a share of the mean cost, before their logarithm.
LEAST_COST = 1e-3


def num_local_features(num_axes: int) -> int:
    """Width of :func:`local_features`."""
    return 2 * (4 + num_axes + num_axes * (num_axes + 1) // 2)


def num_edge_features(num_axes: int) -> int:
    """Width of :func:`edge_features`."""
    return 2 + num_axes


def local_features(data: Data, mean_cost: float) -> Tensor:
    r"""Local structure of each node of a canonical graph, :obj:`[N, F]`.

    For the edges that leave a node, and again for those that enter it: the log
    of one plus their number; the logs of the least, the mean and the largest
    cost in units of the mean cost; and the means of :math:`u` and of :math:`u
    u^\top` over the unit vectors :math:`u` along them. Zeros without edges.
    """
    tail, head = data.edge_index
    bearing = _bearing(data)
    num_nodes, num_axes = data.pos.shape
    one, two = torch.triu_indices(num_axes, num_axes, device=bearing.device)
    moments = torch.cat([bearing, bearing[:, one] * bearing[:, two]], dim=1)
    cost = data.edge_cost / mean_cost
    leaving = _summary(tail, cost, moments, num_nodes)
    entering = _summary(head, cost, moments, num_nodes)
    return torch.cat([*leaving, *entering], dim=1)


def edge_features(data: Data, mean_cost: float) -> Tensor:
    r"""Log cost, affinity :math:`1 / (1 + c / \bar{c})` and unit bearing."""
    cost = data.edge_cost / mean_cost
    columns = torch.stack([_logarithm(cost), 1 / (1 + cost)], dim=1)
    return torch.cat([columns, _bearing(data)], dim=1)


def _bearing(data: Data) -> Tensor:
    """Unit vectors along the edges, 0 between nodes at one position."""
    tail, head = data.edge_index
    step = data.pos[head] - data.pos[tail]
    # By the largest part first: squares of tiny steps would be zero.
    size = step.abs().amax(dim=1, keepdim=True)
    step = step / size.clamp(min=torch.finfo(step.dtype).tiny)
    return torch.nn.functional.normalize(step, dim=1)


def _logarithm(cost: Tensor) -> Tensor:
    """About -1 for costs near 0, 0 for the mean cost."""
    return (cost + LEAST_COST).log() / 7


def _summary(
    node: Tensor, cost: Tensor, moments: Tensor, num_nodes: int
) -> tuple[Tensor, ...]:
    ones = torch.ones_like(cost)
    columns = torch.cat([torch.stack([ones, cost], dim=1), moments], dim=1)
    total = columns.new_zeros(num_nodes, columns.size(1))
    total = total.index_add(0, node, columns)
    degree = total[:, :1]
    mean = total[:, 1:] / degree.clamp(min=1)
    least, most = (
        cost.new_zeros(num_nodes).scatter_reduce(
            0, node, cost, reduce, include_self=False
        )
        for reduce in ('amin', 'amax')
    )
    size = torch.stack([least, mean[:, 0], most], dim=1)
    return degree.log1p(), _logarithm(size) * (degree > 0), mean[:, 1:]

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data


def select_rows(data: Data, nodes: Tensor) -> Data:
    """Some nodes of a graph, without edges; :obj:`n_id` tells which."""
    out = Data(num_nodes=nodes.numel(), n_id=nodes)
    for key in data.node_attrs():
        value = data[key]
        if isinstance(value, Tensor):
            out[key] = value[nodes]
    return out

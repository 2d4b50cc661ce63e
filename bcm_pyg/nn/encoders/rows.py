from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data


def select_rows(data: Data, nodes: Tensor) -> Data:
    """Some nodes of a graph, without edges; :obj:`n_id` tells which."""
    out = Data(num_nodes=nodes.numel())
    for key in data.node_attrs():
        value = data[key]
        if isinstance(value, Tensor) and value.layout == torch.strided:
            dim = data.__cat_dim__(key, value)
            if isinstance(dim, int):
                out[key] = value.index_select(dim, nodes)
    out.n_id = nodes  # last: the graph may have an n_id of its own
    return out

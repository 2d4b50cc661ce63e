from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError


def select_rows(data: Data, nodes: Tensor) -> Data:
    """Some nodes of a graph, without edges; :obj:`n_id` tells which.

    :obj:`graph_nodes` is how many nodes the graph has.
    """
    out = Data(num_nodes=nodes.numel())
    for key in data.node_attrs():
        value = data[key]
        if isinstance(value, Tensor) and value.layout == torch.strided:
            dim = data.__cat_dim__(key, value)
            if isinstance(dim, int):
                out[key] = value.index_select(dim, nodes)
    out.n_id = nodes  # last: the graph may have an n_id of its own
    out.graph_nodes = data.num_nodes
    return out


def node_ids(data: Data, num_nodes: int | None = None) -> Tensor:
    """Ids of the nodes of a graph, or of a selection of some of them.

    Args:
        data (torch_geometric.data.Data): The graph, or :func:`select_rows`.
        num_nodes (int, optional): How many nodes the whole graph must have.
    """
    # A whole graph may carry an n_id of its own, as PyG's loaders set it.
    is_whole = data.get('edge_index') is not None
    num = data.pos.size(0) if is_whole else data.get('graph_nodes')
    if num_nodes is not None and num not in (None, num_nodes):
        raise BCMError(
            f'the encoder was built for {num_nodes} nodes (got a graph of '
            f'{num})'
        )
    if not is_whole:
        return data.n_id
    return torch.arange(num, device=data.pos.device)

from __future__ import annotations

import torch
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency

from ._entries import entries, num_entries
from .planning_graph import planning_graph


def largest_component(data: Data) -> Data:
    """The largest part of a graph in which every node can reach every other.

    Street networks that are cut out of a larger one have streets that lead out
    and not back; queries from there have no answer. The rest is dropped only by
    calling this, and the result says what is gone: :obj:`dropped_nodes` is the
    number of nodes left out, and :obj:`node_id` the ids that the others had in
    the source (or in :obj:`data`, if it has no :obj:`node_id`). Of components
    of the same size the one with the first node is taken.

    Args:
        data (torch_geometric.data.Data): The graph. It is left untouched.
    """
    raw, data = data, planning_graph(data)
    strong = Adjacency.from_data(data).reachability.strong
    sizes = strong.bincount()[strong]
    is_kept = strong == strong[sizes.argmax()]
    nodes = is_kept.nonzero().view(-1)
    if nodes.numel() < 2:
        raise BCMError(
            'no two nodes can reach each other there and back: edges are '
            'directed, an undirected graph holds both ways'
        )
    tail, head = data.edge_index
    edges = (is_kept[tail] & is_kept[head]).nonzero().view(-1)
    out = Data(num_nodes=nodes.numel())
    kept = {'node': nodes, 'edge': edges}
    for key in data.keys():
        if key != 'num_nodes':
            ids = kept.get(_owner(raw, data, key))
            out[key] = data[key] if ids is None else entries(data, key, ids)
    place = torch.full_like(strong, -1)
    place[nodes] = torch.arange(nodes.numel(), device=nodes.device)
    out.edge_index = place[out.edge_index]
    if data.get('node_id') is None:
        out.node_id = nodes
    gone = int(data.num_nodes) - nodes.numel()
    out.dropped_nodes = gone + int(data.get('dropped_nodes') or 0)
    return out


def _owner(raw: Data, data: Data, key: str) -> str:
    """Whether an attribute has an entry per 'node', per 'edge' or neither.

    Before edges were dropped: after it there may be as many as nodes.
    """
    if key in ('edge_index', 'edge_cost'):
        return 'edge'
    if key in ('pos', 'coord'):
        return 'node'
    if key == 'pos_origin':
        return 'graph'
    num_nodes, num_edges = int(data.num_nodes), raw.edge_index.size(1)
    size = num_entries(key, raw[key], raw)
    if size == num_edges and (num_nodes != num_edges or 'edge' in key):
        return 'edge'
    return 'node' if size == num_nodes else 'graph'

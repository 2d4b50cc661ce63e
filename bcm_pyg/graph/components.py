import torch
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency

from .planning_graph import owner_of, planning_graph, take

#: Attributes whose owner is known, whatever their length.
OWNERS = dict.fromkeys(('edge_index', 'edge_cost', 'edge_bends'), 'edge')
OWNERS |= dict.fromkeys(('pos', 'coord'), 'node')
OWNERS |= dict.fromkeys(('pos_origin', 'bends'), 'graph')


def largest_component(data: Data) -> Data:
    """The largest part of a graph in which every node can reach every other.

    A street network that is cut out of a larger one has streets that lead out
    of it and not back. :obj:`dropped_nodes` of the result is the number of
    nodes dropped, and :obj:`node_id` holds the labels of the others (their
    numbers in :obj:`data`, if it has no :obj:`node_id`). Of components of the
    same size the one with the first node is taken.

    Args:
        data (torch_geometric.data.Data): The graph. It is not changed.
    """
    raw, data = data, planning_graph(data)
    strong = Adjacency.from_data(data).reachability.strong
    sizes = strong.bincount()[strong]
    is_kept = strong == strong[sizes.argmax()]
    nodes = is_kept.nonzero().view(-1)
    if nodes.numel() < 2:
        raise BCMError(
            'no two nodes can reach each other: edges are directed, an '
            'undirected graph holds both directions'
        )
    tail, head = data.edge_index
    edges = (is_kept[tail] & is_kept[head]).nonzero().view(-1)
    out = Data(num_nodes=nodes.numel())
    kept = {'node': nodes, 'edge': edges}
    # By the raw graph: after edges were dropped there may be as many as nodes.
    num_nodes, num_edges = int(data.num_nodes), raw.edge_index.size(1)
    for key in data.keys():
        if key != 'num_nodes':
            owner = OWNERS.get(key) or owner_of(
                key, raw[key], num_nodes, num_edges, raw
            )
            ids = kept.get(owner)
            out[key] = data[key] if ids is None else take(data, key, ids)
    new_node = torch.full_like(strong, -1)
    new_node[nodes] = torch.arange(nodes.numel(), device=nodes.device)
    out.edge_index = new_node[out.edge_index]
    if data.get('node_id') is None:
        out.node_id = nodes
    dropped = num_nodes - nodes.numel()
    out.dropped_nodes = dropped + int(data.get('dropped_nodes') or 0)
    return out

import hashlib

from torch_geometric.data import Data


def fingerprint(data: Data) -> str:
    """A digest of edges, costs and coordinates of a canonical graph."""
    digest = hashlib.sha256(f'{data.num_nodes} {data.num_edges}'.encode())
    for name in ('edge_index', 'edge_cost', 'pos', 'coord'):
        value = data.get(name)
        if value is not None:
            digest.update(f'{name} {tuple(value.shape)}'.encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()

"""How large every representation is, without building it."""

from __future__ import annotations

from typing import Any

from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.utils import Adjacency


def storage_row(data: Data) -> dict[str, Any]:
    """Megabytes on a connected grid, by the paper's counts.

    BCM: parameters, of which those of the transition encoder are the same for
    every graph. EigenAgent: modes and eigenvalues. APSP: distances and next
    hops, 12 bytes a pair; packed: 2 bits for each pair of free cells. CML: all
    of Q, V and W.
    """
    data = planning_graph(data)
    nodes = int(data.num_nodes)
    degree = Adjacency.from_data(data).degree()
    free, edges = int((degree > 0).sum()), int(data.num_edges)
    bits = (int(degree.max()) - 1).bit_length()
    model = BCM.from_data(data)
    coordinates = 4 * sum(p.numel() for p in model.encoder.parameters())
    sizes = {
        'bcm': model.storage_bytes(),
        'bcm_fixed': model.storage_bytes() - coordinates,
        'bcm_coordinates': coordinates,
        'eigen': 4 * (nodes + 1) * (free - 2),
        'apsp': 12 * nodes**2,
        'apsp_packed': -(-bits * free * (free - 1) // 8),
        'cml': 4 * 1000 * (nodes + 2 * edges),
    }
    return {
        'nodes': nodes,
        'free_nodes': free,
        'directed_edges': edges,
        **{f'{name}_megabytes': size / 1e6 for name, size in sizes.items()},
    }

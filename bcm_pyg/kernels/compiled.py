"""All kernels, and numba: use :func:`bcm_pyg.kernels.load_kernels`."""

import numpy as np

from .arrays import NO_BOUNDS, Graph, blank_map, scratch_for
from .backups import back_up, back_up_changes
from .blocks import block_loss, edge_distances, edge_distances_back
from .near import near
from .searches import expand, inside
from .values import values
from .walks import backtrack, lookahead, walk

__all__ = [
    'back_up',
    'back_up_changes',
    'backtrack',
    'block_loss',
    'compile_all',
    'edge_distances',
    'edge_distances_back',
    'expand',
    'inside',
    'lookahead',
    'near',
    'values',
    'walk',
]


def compile_all() -> None:
    """Compiles every kernel, by two nodes that are each other's neighbour."""
    nodes, cost = np.array([0, 1]), np.ones(2)
    graph = Graph(np.array([0, 1, 2]), nodes, nodes[::-1].copy(), cost, 1)
    net, scratch = blank_map(), scratch_for(2, 2)
    ends = np.array([0]), np.array([1])
    values(graph, net, *ends)
    table = np.zeros((2, 2), np.float32)
    for kernel in (back_up, back_up_changes):
        kernel(graph.rowptr, nodes, cost.astype(np.float32), table, *ends, 1)
    z = edge_distances_back(table, ends[0], edge_distances(table, ends[0], 1))
    flags, weights = (True, True), (1.0,) * 6
    loss = z[:1, :1], z[:1, :1], z[0, :1], *ends, nodes, nodes[:, None]
    block_loss(*loss, *flags, *weights)
    walk(graph, net, scratch, *ends, True)
    backtrack(graph, net, scratch, *ends)
    lookahead(graph, net, scratch, *ends, 1)
    options = 1.0, 0, np.array([np.inf]), False, False
    found = expand(graph, net, NO_BOUNDS, scratch, *ends, *options)
    inside(graph, scratch, *ends, found[0], found[1][:, None], 1)
    one, none = ends[0][:, None], cost[:1, None]
    near(graph, NO_BOUNDS, scratch, one, none, one, none, 1)

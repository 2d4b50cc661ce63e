"""All kernels, and numba: use :func:`bcm_pyg.kernels.load_kernels`."""

import numpy as np

from .arrays import NO_BOUNDS, Graph, blank_map, scratch_for
from .backups import back_up
from .searches import expand, inside
from .values import values
from .walks import backtrack, lookahead, walk

__all__ = [
    'back_up',
    'backtrack',
    'compile_all',
    'expand',
    'inside',
    'lookahead',
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
    back_up(graph.rowptr, nodes, cost.astype(np.float32), table, *ends, 1)
    walk(graph, net, scratch, *ends, True)
    backtrack(graph, net, scratch, *ends)
    lookahead(graph, net, scratch, *ends, 1)
    options = 1.0, 0, np.array([np.inf]), False, False
    found = expand(graph, net, NO_BOUNDS, scratch, *ends, *options)
    inside(graph, scratch, *ends, found[0], found[1][:, None], 1)

"""The lines that edges and routes follow: streets have bends."""

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Adjacency, as_ids, first_true

from ._bends import Bends, carry, ranges
from .planning_graph import planning_graph

#: Coordinates of nodes, :obj:`[N, A]`.
Coordinates = np.ndarray | Tensor


def route_points(
    data: Data, nodes: Ids, coordinates: Coordinates | None = None
) -> np.ndarray:
    """The line that a route follows, with the bends of its edges.

    Args:
        data (torch_geometric.data.Data): The graph. Without :obj:`edge_bends`
            (see :func:`~bcm_pyg.planning_graph`) edges are straight.
        nodes (int, list, numpy.ndarray or torch.Tensor): The nodes of the
            route, :obj:`[L]`; entries of -1 are left out.
        coordinates (array, optional): Where nodes are drawn, :obj:`[N, A]`,
            such as :obj:`data.lonlat`. Bends are carried over from :obj:`pos`.
            (default: :obj:`data.pos`)

    Returns:
        Points from the first node to the last, float64 :obj:`[P, A]`.
    """
    route = nodes.cpu() if isinstance(nodes, Tensor) else nodes
    route = np.asarray(route).reshape(-1)
    ids = as_ids(route[route != -1], int(data.num_nodes), 'nodes')
    return route_lines(data, ids[None], coordinates)[0]


def route_lines(
    data: Data, nodes: Tensor, coordinates: Coordinates | None = None
) -> list[np.ndarray]:
    """The same for many routes at once, :obj:`[B, L]` padded with -1."""
    pos, route = _node_points(data, coordinates), nodes.cpu().numpy()
    used = route >= 0
    route, size = route[used], used.sum(axis=1)
    if data.get('edge_bends') is None:
        return np.split(pos[route], size.cumsum()[:-1])
    data = planning_graph(data).cpu()
    begin, points = lines_along(data, route, size, coordinates)
    return np.split(points, begin[1:-1])


def lines_along(
    data: Data,
    nodes: np.ndarray,
    size: np.ndarray,
    coordinates: Coordinates | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The same for routes one after the other, of :obj:`size` nodes each, on a
    canonical graph. Returns what :func:`edge_lines` does.
    """
    pos, last = _node_points(data, coordinates), size.cumsum()
    goes_on = np.ones(nodes.size, dtype=bool)
    goes_on[last[size > 0] - 1] = False
    step = np.flatnonzero(goes_on)
    ends = nodes[step], nodes[step + 1]
    found = Adjacency.from_data(data).edge_ids(*map(torch.from_numpy, ends))
    edge = found.cpu().numpy()
    if (bad := first_true(edge < 0)) is not None:
        tail, head = ends[0][bad], ends[1][bad]
        raise BCMError(f'there is no edge from node {tail} to node {head}')
    # Every edge up to its head, where the next one begins.
    first, lines = edge_lines(data, edge, coordinates)
    is_head = np.zeros(len(lines), dtype=bool)
    is_head[first[1:] - 1] = True
    count = np.ones(nodes.size, dtype=np.int64)
    count[step] = np.diff(first) - 1
    begin = np.append(0, count.cumsum())
    points = np.empty((begin[-1], pos.shape[1]))
    is_last = np.zeros(len(points), dtype=bool)
    is_last[begin[1:][~goes_on] - 1] = True
    points[is_last] = pos[nodes[~goes_on]]
    points[~is_last] = lines[~is_head]
    return begin[np.append(0, last)], points


def edge_lines(
    data: Data,
    edges: np.ndarray | None = None,
    coordinates: Coordinates | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The lines of edges, each from tail to head.

    Args:
        data (torch_geometric.data.Data): A canonical graph.
        edges (numpy.ndarray, optional): Ids of :math:`n` edges. (default: all)
        coordinates (array, optional): As in :func:`route_points`.

    Returns:
        Where each line begins, :obj:`[n + 1]`, and the points of all of them,
        float64 :obj:`[P, A]`.
    """
    pos, bends = _node_points(data, coordinates), edge_bends(data)
    ids = slice(None) if edges is None else edges
    tail, head = data.edge_index.cpu().numpy()[:, ids]
    span = bends.span[ids]
    begin = np.append(0, (span[:, 1] - span[:, 0] + 2).cumsum())
    line, bend = ranges(*span.T)
    inner = bends.points[bend]
    if coordinates is not None:
        own = _node_points(data)
        inner = carry(inner, tail[line], head[line], own, pos)
    points = np.empty((begin[-1], pos.shape[1]))
    points[begin[:-1]], points[begin[1:] - 1] = pos[tail], pos[head]
    points[ranges(begin[:-1] + 1, begin[1:] - 1)[1]] = inner
    return begin, points


def matrix_axes(data: Data) -> tuple[int, int] | None:
    """Which axes of positions are rows and columns of a matrix, if any."""
    coord = data.get('coord')
    names = ('blocked', 'grid_size')
    is_grid = any(data.get(name) is not None for name in names)
    if not is_grid or coord is None or coord.shape != data.pos.shape:
        return None
    shift = data.pos - coord
    if float((shift - shift[:1]).abs().max()) > 1e-3:
        return None  # as of terrain, whose cells have positions of their own
    order = data.get('matrix_axes')
    row, column = (0, 1) if order is None else order[0].tolist()
    return row, column


def edge_bends(data: Data) -> Bends:
    """The bends of a canonical graph, none if it has none."""
    if data.get('edge_bends') is None:
        span = np.zeros((data.edge_index.size(1), 2), dtype=np.int64)
        return Bends(span, np.empty((0, data.pos.size(1))))
    points = data.bends[0].cpu().double().numpy()
    return Bends(data.edge_bends.cpu().numpy(), points)


def _node_points(
    data: Data, coordinates: Coordinates | None = None
) -> np.ndarray:
    """Where nodes are drawn, float64 [N, A]."""
    pos = data.pos if coordinates is None else coordinates
    if isinstance(pos, Tensor):
        pos = pos.detach().cpu().numpy()
    out = np.asarray(pos, dtype=np.float64)
    if out.ndim != 2 or len(out) != data.num_nodes:
        raise BCMError(
            f'coordinates must have shape [{data.num_nodes}, axes] (got '
            f'{out.shape})'
        )
    return out

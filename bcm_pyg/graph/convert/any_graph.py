"""Planning graphs from objects and files of any known kind."""

from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import are_degrees
from bcm_pyg.utils import as_path, naming

from ..planning_graph import planning_graph
from . import _attributes as source
from ._graphml import as_labels, read_graphml
from .movingai import read_movingai
from .networkx import build, coordinates
from .npz import read_npz
from .occupancy import from_occupancy
from .osm import read_osm


def as_graph(graph: Any, cost: Any = None) -> Data:
    """A planning graph from anything that holds one.

    Args:
        graph (Any): A PyG :obj:`Data`; a networkx graph, also one of OSMnx
            (degrees become metres); a file (see :func:`read_graph`); or an
            occupancy array of two or more dimensions, True or 1 where blocked,
            whose nodes are called by their indices, :obj:`(row, column)`.
        cost (Any, optional): Which edge attribute holds the costs, as in
            :func:`~bcm_pyg.planning_graph`, :func:`from_networkx` or
            :func:`read_graph`. (default: the one that can be meant)
    """
    if isinstance(graph, (str, PathLike)):
        return read_graph(graph, cost)
    if isinstance(graph, (np.ndarray, Tensor)):
        if cost is not None:
            raise BCMError('cells of an occupancy array have no costs to name')
        return _from_array(graph)
    if any(x.__module__.startswith('networkx.') for x in type(graph).__mro__):
        return _from_networkx(graph, cost)
    if not isinstance(graph, (Data, HeteroData)):
        raise BCMError(
            'a graph must be a PyG Data, a networkx graph, a path or an '
            f'occupancy array (got {type(graph).__name__})'
        )
    return planning_graph(graph, cost)


def read_graph(path: str | PathLike[str], cost: str | None = None) -> Data:
    """A planning graph from a file, by its ending.

    Args:
        path (str or os.PathLike): A :obj:`.graphml` file of networkx or OSMnx,
            a :obj:`.npz` file (see :func:`~bcm_pyg.graph.read_npz`), a
            :obj:`.map` or :obj:`.3dmap` of MovingAI, whose nodes are called by
            their cells, :obj:`(x, y)`, or an :obj:`.osm.pbf` or :obj:`.osm`
            file of OpenStreetMap (see :func:`~bcm_pyg.graph.read_osm`).
        cost (str, optional): The edge attribute of a :obj:`.graphml` file that
            holds the costs. (default: the one that can be meant; of OSMnx
            :obj:`"length"`)
    """
    if as_path('path', path).is_dir():
        raise BCMError(
            f'{path!s:.200} is a folder: pass a file, or read what was learned '
            'with CognitiveMap.load'
        )
    name = as_path('path', path).name.lower().removesuffix('.gz')
    if name.endswith('.graphml'):
        nodes, edges, crs, _ = read_graphml(path, lambda *_: True)
        labels = as_labels(nodes.labels)
        with naming(path):
            return _from_parts(nodes, edges, crs, labels, cost)
    if cost is not None:
        raise BCMError(
            f'{path!s:.200} has costs of its own: only edges of a .graphml '
            f'file have attributes to choose from (got cost={cost!r:.80})'
        )
    if name.endswith('.npz'):
        return read_npz(path)
    if name.endswith(('.map', '.3dmap')):
        data = read_movingai(path)
        data.node_id = data.coord
        return data
    if name.endswith(('.osm.pbf', '.osm', '.osm.bz2')):
        return read_osm(path)
    raise BCMError(
        f'{path!s:.200} is not a graph file: pass a .graphml, .npz, .map, '
        '.osm.pbf or .osm file'
    )


def _from_array(occupied: np.ndarray | Tensor) -> Data:
    array = torch.as_tensor(occupied)
    if array.dtype != torch.bool:
        other = array[(array != 0) & (array != 1)]
        if other.numel() > 0:
            raise BCMError(
                'an occupancy array must hold booleans, or 0 for free and 1 '
                f'for blocked (got {other[0].item():g}): pass a mask, such as '
                'array > 0.5'
            )
        array = array == 1
    if array.dim() < 2:
        raise BCMError(
            'an occupancy array must have two or more dimensions (got shape '
            f'{tuple(array.shape)})'
        )
    data = from_occupancy(array)
    data.node_id = data.coord
    return data


def _from_networkx(graph: Any, cost: Any) -> Data:
    nodes, edges = source.nodes_and_edges(graph)
    crs = graph.graph.get('crs')
    return _from_parts(nodes, edges, crs, nodes.labels, cost)


def _from_parts(
    nodes: source.Nodes,
    edges: source.Edges,
    crs: Any,
    labels: list[Any],
    cost: Any = None,
) -> Data:
    """Degrees become metres; streets of OSMnx cost their length."""
    is_osmnx = crs is not None and nodes.have_all(('x', 'y'))
    flat = source.planar(nodes)
    in_degrees = flat is None and source.degrees(nodes) is not None
    if flat is not None and crs is not None and flat.shape[1] == 2:
        in_degrees = are_degrees(crs, flat, guess=is_osmnx)
    try:
        position, lonlat = coordinates(nodes, None, in_degrees, crs)
        if cost is None and is_osmnx:
            cost = 'length'
        return build(nodes, edges, cost, position, lonlat, labels)
    except BCMError as error:
        if 'pos=' not in str(error):
            raise
        raise BCMError(
            f'{error} (bcm_pyg.graph.from_networkx has pos=: call it, and pass '
            'the result)'
        ) from None

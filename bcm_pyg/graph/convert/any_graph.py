"""From whatever holds a graph to a planning graph."""

import re
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import are_degrees
from bcm_pyg.utils import as_path

from ..planning_graph import planning_graph
from . import _attributes as source
from .movingai import read_movingai
from .networkx import from_networkx
from .npz import read_npz
from .occupancy import from_occupancy
from .osmnx import _read_graphml, from_osmnx


def as_graph(graph: Any) -> Data:
    """A planning graph from anything that holds one.

    Args:
        graph (Any): A PyG :obj:`Data`; a networkx graph, also one of OSMnx
            (degrees become metres); a file (see :func:`read_graph`); or an
            occupancy array of two or more dimensions, True or 1 where blocked,
            whose nodes are called by their indices, :obj:`(row, column)`.
    """
    if isinstance(graph, (str, PathLike)):
        return read_graph(graph)
    if isinstance(graph, (np.ndarray, Tensor)):
        return _from_array(graph)
    if any(x.__module__.startswith('networkx.') for x in type(graph).__mro__):
        return _from_networkx(graph)
    return planning_graph(graph)


def read_graph(path: str | PathLike[str]) -> Data:
    """A planning graph from a file, by its ending.

    Args:
        path (str or os.PathLike): A :obj:`.graphml` file of networkx or OSMnx,
            a :obj:`.npz` file (see :func:`~bcm_pyg.graph.read_npz`), or a
            :obj:`.map` or :obj:`.3dmap` of MovingAI, whose nodes are called by
            their cells, :obj:`(x, y)`.
    """
    name = as_path('path', path).name.lower().removesuffix('.gz')
    if name.endswith('.graphml'):
        return _from_networkx(_with_numbers(_read_graphml(path)))
    if name.endswith('.npz'):
        return read_npz(path)
    if name.endswith(('.map', '.3dmap')):
        data = read_movingai(path)
        data.node_id = data.coord
        return data
    raise BCMError(
        f'{path!s:.200} is no graph that can be read: pass a .graphml, .npz '
        'or .map file'
    )


def _from_array(occupied: np.ndarray | Tensor) -> Data:
    array = torch.as_tensor(occupied)
    if array.dtype != torch.bool:
        if not bool(((array == 0) | (array == 1)).all()):
            raise BCMError(
                'an occupancy array must hold booleans, or 0 for free and 1 '
                f'for blocked (got {array.dtype} of other values)'
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


def _from_networkx(graph: Any) -> Data:
    nodes, edges = source.nodes_and_edges(graph)
    crs = graph.graph.get('crs')
    if crs is not None and nodes.have_all(('x', 'y')):
        return from_osmnx(graph, project=True)
    flat = source.planar(nodes)
    in_degrees = flat is None and source.degrees(nodes) is not None
    if flat is not None and crs is not None and flat.shape[1] == 2:
        in_degrees = are_degrees(crs, flat, guess=False)
    try:
        return from_networkx(graph, project=in_degrees)
    except BCMError as error:
        raise BCMError(
            f'{error} (in from_networkx of bcm_pyg.graph, and pass what it '
            'returns)'
        ) from None


def _with_numbers(graph: Any) -> Any:
    """The graph of a file; ids that are numbers to the last are integers."""
    import networkx as nx

    texts = [str(node) for node in graph]
    if all(re.fullmatch('0|-?[1-9][0-9]{0,17}', text) for text in texts):
        return nx.relabel_nodes(graph, {node: int(str(node)) for node in graph})
    return graph

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import are_degrees, local_metres, warn_of_degrees

from ..labels import as_node_id
from ..planning_graph import planning_graph
from . import _attributes as source
from ._numbers import as_numbers, vector_column

#: An attribute, or a function of tail, head and the edge's attributes.
Cost: TypeAlias = str | Callable[[Any, Any, Any], float]
#: An attribute, one attribute per axis, or coordinates by node.
Position: TypeAlias = str | Sequence[str] | Mapping[Hashable, Any]


def from_networkx(
    graph: Any,
    cost: Cost | None = None,
    pos: Position | None = None,
    *,
    project: bool = False,
) -> Data:
    r"""A planning graph from a networkx graph of any kind.

    Only coordinates and costs are read, so that nodes and edges may carry
    whatever else they like. An edge of an undirected graph goes both ways, of
    parallel edges the cheapest is kept, numbers may be strings. The graph is
    left untouched. :obj:`data.node_id` holds the labels of the nodes:
    :func:`~bcm_pyg.graph.find_nodes` and
    :func:`~bcm_pyg.graph.source_routes` translate.

    Args:
        graph (networkx.Graph): Also a :class:`DiGraph`, :class:`MultiGraph` or
            :class:`MultiDiGraph`.
        cost (str or callable, optional): The edge attribute with the costs, or
            a function of tail, head and the attributes of an edge.
            :obj:`"length"` is straight-line length if no edge has an attribute
            of that name. By default the one attribute of edges that is called
            weight, cost, length, distance, travel_time or the like.
        pos (str, list or dict, optional): The node attribute with all
            coordinates, the attributes with one each such as :obj:`("x",
            "y")`, or a dictionary from nodes to coordinates. By default
            attributes called pos, coordinates or the like, x and y (and z if
            every node has it), else lon and lat.
        project (bool, optional): If set to :obj:`True`, coordinates are taken
            for longitudes and latitudes, in this order unless :obj:`pos` names
            them the other way round (lon and lat if nodes have them), and
            become metres east and north of the middle. Otherwise degrees, known
            by their names or the graph's :obj:`crs`, are taken with a warning.
            (default: :obj:`False`)

    Returns:
        The canonical graph, with :obj:`node_id`, with :obj:`lonlat` where
        known, and with :obj:`pos_origin`, which is what to add to :obj:`pos`
        for the source's coordinates (or the metres).
    """
    nodes, edges = source.nodes_and_edges(graph)
    crs = graph.graph.get('crs')
    position, lonlat = _places(nodes, pos, project, crs)
    return build(nodes, edges, cost, position, lonlat)


def build(
    nodes: source.Nodes,
    edges: source.Edges,
    cost: Cost | None,
    position: np.ndarray,
    lonlat: np.ndarray | None,
    labels: Sequence[Any] | None = None,
) -> Data:
    """The planning graph of nodes at known places."""
    place = {label: node for node, label in enumerate(nodes.labels)}
    raw = Data(
        pos=torch.from_numpy(position),
        edge_index=torch.tensor(
            [[place[n] for n in edges.tail], [place[n] for n in edges.head]]
        ),
        node_id=as_node_id(nodes.labels if labels is None else labels),
        num_nodes=len(nodes.labels),
    )
    if lonlat is not None:
        raw.lonlat = torch.from_numpy(lonlat)
    if cost is None:
        cost = source.cost_name(edges)
    if isinstance(cost, str):
        if cost == 'length' and not any(cost in e for e in edges.attributes):
            return planning_graph(raw, cost)
        values = [item.get(cost) for item in edges.attributes]
        name = cost
    elif callable(cost):
        values, name = (
            [cost(*edge) for edge in zip(*edges, strict=True)],
            'cost',
        )
    else:
        raise BCMError(
            'cost must be the name of an edge attribute or a function (got '
            f'{cost!r})'
        )
    numbers = as_numbers(values, name, edges.describe)
    if (numbers < 0).any():
        bad = int((numbers < 0).argmax())
        raise BCMError(
            f'{edges.describe(bad)}: {name!r} must not be negative (got '
            f'{values[bad]!r})'
        )
    raw.edge_cost = torch.from_numpy(numbers)
    return planning_graph(raw)


def _places(
    nodes: source.Nodes, pos: Position | None, project: bool, crs: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Coordinates to plan with; longitudes and latitudes where known."""
    lonlat = None
    if pos is not None:
        chosen = _position(nodes, pos)
        names = _axis_names(pos)
        in_degrees = project or _name_degrees(names)
        if names[::-1] in (*source.DEGREE_NAMES, ('x', 'y')):
            lonlat = np.ascontiguousarray(chosen[:, ::-1])
    elif project and (known := source.degrees(nodes)) is not None:
        chosen, in_degrees = known, True
    elif (flat := source.planar(nodes)) is not None:
        chosen, in_degrees = flat, project
        if not project and _says_degrees(crs, flat, nodes):
            in_degrees, lonlat = True, flat[:, :2].copy()
    elif (known := source.degrees(nodes)) is not None:
        chosen, in_degrees = known, True
    else:
        source.degrees(nodes, partly=True)  # says which node has none
        raise BCMError(
            'no coordinates found: nodes need an attribute such as pos, x and '
            'y, or lon and lat. Name others with pos=..., or pass a '
            'dictionary: pos={node: node for node in graph} if nodes are '
            'called by their places'
        )
    if not in_degrees:
        return chosen, source.known_degrees(nodes)
    if lonlat is None:
        lonlat = chosen
    if project:
        return local_metres(lonlat), lonlat
    warn_of_degrees(3)
    return chosen, lonlat


def _says_degrees(crs: Any, flat: np.ndarray, nodes: source.Nodes) -> bool:
    """Whether x and y are degrees, by the system that OSMnx keeps.

    Not where nodes have longitudes and latitudes beside them.
    """
    return (
        crs is not None
        and flat.shape[1] in (2, 3)
        and are_degrees(crs, flat[:, :2], guess=False)
        and source.known_degrees(nodes) is None
    )


def _position(nodes: source.Nodes, pos: Position) -> np.ndarray:
    if isinstance(pos, str):
        return source.vector_at(nodes, pos)
    if isinstance(pos, Mapping):
        values = [pos.get(label) for label in nodes.labels]
        return vector_column(values, 'pos', nodes.describe)
    try:
        axes = list(pos)
    except TypeError:
        axes = []
    if len(axes) == 0 or not all(isinstance(name, str) for name in axes):
        raise BCMError(
            'pos must be the name of a node attribute, a list of names or a '
            f'dictionary from nodes to coordinates (got {pos!r})'
        )
    return source.axes_at(nodes, axes)


def _axis_names(pos: Position) -> tuple[str, ...]:
    if isinstance(pos, (str, Mapping)):
        return ()
    return tuple(name.lower() for name in pos)


def _name_degrees(names: tuple[str, ...]) -> bool:
    return bool({names, names[::-1]} & set(source.DEGREE_NAMES))

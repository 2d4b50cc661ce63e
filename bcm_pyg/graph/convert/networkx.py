import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import is_undirected

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import are_degrees, local_metres, warn_of_degrees

from .._bends import from_lines
from ..labels import as_node_id
from ..planning_graph import planning_graph
from . import _attributes as source

#: An attribute, or a function of tail, head and the edge's attributes.
Cost: TypeAlias = str | Callable[[Any, Any, Any], float]
#: An attribute, one attribute per axis, or coordinates by node.
Position: TypeAlias = str | Sequence[str] | Mapping[Hashable, Any]

#: What to do where coordinates are needed.
NO_COORDINATES = (
    'no coordinates found: nodes need an attribute such as pos, x and y, or '
    'lon and lat. Name others with pos=..., or pass a dictionary: '
    'pos={node: node for node in graph} if the labels of nodes are coordinates'
)


def from_networkx(
    graph: Any,
    cost: Cost | None = None,
    pos: Position | None = None,
    *,
    project: bool = False,
) -> Data:
    r"""A planning graph from a networkx graph of any kind.

    Only coordinates, costs and bends are read (numbers may be strings), and the
    graph is not changed. An edge of an undirected graph goes both ways; the
    cheapest of parallel edges is kept. :obj:`data.node_id` holds the nodes as
    labels: see :func:`~bcm_pyg.graph.nodes_from_labels`. Bends come from an
    edge attribute :obj:`geometry`, a line of shapely, its text (WKT) or a list
    of points: see :func:`~bcm_pyg.graph.route_points`.

    Args:
        graph (networkx.Graph): Also a :class:`DiGraph`, :class:`MultiGraph` or
            :class:`MultiDiGraph`.
        cost (str or callable, optional): The edge attribute with the costs, or
            a function of tail, head and the attributes of an edge.
            :obj:`"length"` is straight-line length if no edge has such an
            attribute. (default: the one edge attribute that is called weight,
            cost, length, distance, travel_time or the like)
        pos (str, list or dict, optional): The node attribute with all
            coordinates, the attributes with one each such as :obj:`("x",
            "y")`, or a dictionary from nodes to coordinates. (default:
            attributes called pos, coordinates or the like, x and y (and z if
            every node has it), else lon and lat; without any of these the graph
            has no coordinates)
        project (bool, optional): If set to :obj:`True`, coordinates are
            longitudes and latitudes, in this order unless :obj:`pos` names them
            the other way round (lon and lat if nodes have them), and become
            metres east and north of the middle. Otherwise coordinates that are
            degrees by their names or the graph's :obj:`crs` are used with a
            warning. (default: :obj:`False`)

    Returns:
        The canonical graph, with :obj:`node_id`, :obj:`lonlat` where known, and
        :obj:`pos_origin`: add it to :obj:`pos` for the source's coordinates.
        :obj:`undirected` is True where an edge means both directions.
    """
    nodes, edges = source.nodes_and_edges(graph)
    crs = graph.graph.get('crs')
    position, lonlat = coordinates(nodes, pos, project, crs)
    return build(nodes, edges, cost, position, lonlat, nodes.labels)


def build(
    nodes: source.Nodes,
    edges: source.Edges,
    cost: Cost | None,
    position: np.ndarray | None,
    lonlat: np.ndarray | None,
    labels: Sequence[Any],
) -> Data:
    """The planning graph of nodes whose coordinates are known, or missing."""
    node = {name: index for index, name in enumerate(nodes.labels)}
    ends = [[node[n] for n in part] for part in (edges.tail, edges.head)]
    raw = Data(
        edge_index=torch.tensor(ends),
        node_id=as_node_id(labels),
        num_nodes=len(nodes.labels),
    )
    if lonlat is not None:
        raw.lonlat = torch.from_numpy(lonlat)
    if position is not None:
        raw.pos = torch.from_numpy(position)
        systems = [position] if lonlat is None else [position, lonlat]
        _add_bends(raw, edges, systems)
    cost = source.cost_name(edges) if cost is None else cost
    name = cost if isinstance(cost, str) else 'cost'
    if isinstance(cost, str):
        if cost == 'length' and not any(cost in e for e in edges.attributes):
            if position is None:
                raise BCMError(f"cost='length': {NO_COORDINATES}")
            return _finished(raw, cost, edges.undirected)
        if not any(cost in e for e in edges.attributes):
            every = source.edge_names(edges)
            raise BCMError(
                f'the graph has no {cost!r:.80} on its edges: they have '
                f'{every!s:.200}'
            )
        values = [item.get(cost) for item in edges.attributes]
    elif callable(cost):
        values = list(map(cost, *edges[:3]))
    else:
        raise BCMError(
            "cost must be the name of an edge attribute, 'length' or a "
            f'function (got {type(cost).__name__})'
        )
    numbers = source.as_numbers(values, name, edges.describe)
    if (numbers < 0).any():
        bad = int((numbers < 0).argmax())
        raise BCMError(
            f'{edges.describe(bad)}: {name!r} must not be negative (got '
            f'{values[bad]!r})'
        )
    raw.edge_cost = torch.from_numpy(numbers)
    return _finished(raw, None, edges.undirected)


def _finished(raw: Data, cost: str | None, undirected: bool) -> Data:
    """The planning graph, marked if an edge of the source means two of it."""
    data = planning_graph(raw, cost)
    # A function may have given the directions costs of their own.
    if undirected and is_undirected(data.edge_index, data.edge_cost):
        data.undirected = True
    return data


def _add_bends(
    raw: Data, edges: source.Edges, systems: list[np.ndarray]
) -> None:
    """Keeps the bends of edges that have a line as their geometry."""
    found = [values.get('geometry') for values in edges.attributes]
    lines = [None if x is None else source.as_line(x) for x in found]
    tail, head = raw.edge_index.numpy()
    bends, num_bad = from_lines(lines, tail, head, systems)
    num_bad += sum(
        x is not None and line is None
        for x, line in zip(found, lines, strict=True)
    )
    if num_bad:
        warnings.warn(
            f'{num_bad} of {len(lines)} edges have a geometry that is not a '
            'line between their nodes: they are drawn straight',
            UserWarning,
            stacklevel=4,
        )
    if len(bends.points) == 0:
        return
    raw.edge_bends = torch.from_numpy(bends.span)
    raw.bends = torch.from_numpy(bends.points)[None]


def coordinates(
    nodes: source.Nodes, pos: Position | None, project: bool, crs: Any
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Coordinates to plan with, if there are any; longitudes and latitudes
    where known.
    """
    lonlat, in_degrees = None, True
    if pos is not None:
        chosen, names = _chosen(nodes, pos)
        are_named = {names, names[::-1]} & set(source.DEGREE_NAMES)
        in_degrees = project or bool(are_named)
        if names[::-1] in (*source.DEGREE_NAMES, ('x', 'y')):
            lonlat = np.ascontiguousarray(chosen[:, ::-1])
    elif project and (known := source.degrees(nodes)) is not None:
        chosen = known
    elif (flat := source.planar(nodes)) is not None:
        chosen, in_degrees = flat, project
        if (  # x and y are degrees by the system that OSMnx keeps
            not project
            and crs is not None
            and flat.shape[1] in (2, 3)
            and are_degrees(crs, flat[:, :2], guess=False)
            and source.known_degrees(nodes) is None
        ):
            in_degrees, lonlat = True, flat[:, :2].copy()
    elif (known := source.degrees(nodes)) is not None:
        chosen = known
    else:
        source.degrees(nodes, partly=True)  # says which node has none
        if project:
            raise BCMError(f'project=True: {NO_COORDINATES}')
        return None, None
    if not in_degrees:
        return chosen, source.known_degrees(nodes)
    if lonlat is None:
        lonlat = chosen
    if project:
        return local_metres(lonlat), lonlat
    warn_of_degrees(3)
    return chosen, lonlat


def _chosen(
    nodes: source.Nodes, pos: Position
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Coordinates that were asked for, and the names of their axes if given."""
    if isinstance(pos, str):
        return nodes.vectors(pos), ()
    if isinstance(pos, Mapping):
        values = [pos.get(label) for label in nodes.labels]
        return source.as_vectors(values, 'pos', nodes.describe), ()
    axes = list(pos) if isinstance(pos, Iterable) else []
    if not axes or not all(isinstance(name, str) for name in axes):
        raise BCMError(
            'pos must be the name of a node attribute, a list of names or a '
            f'dictionary from nodes to coordinates (got {pos!r})'
        )
    return nodes.axes(axes), tuple(name.lower() for name in axes)

from contextlib import nullcontext
from os import PathLike
from typing import Any

from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import are_degrees, local_metres, warn_of_degrees
from bcm_pyg.utils import naming

from . import _attributes as source
from ._graphml import as_labels, read_graphml
from .networkx import Cost, build

#: Attributes of nodes that may be coordinates.
PLACES = {'x', 'y', *(name for pair in source.DEGREE_NAMES for name in pair)}


def from_osmnx(
    graph: Any,
    cost: Cost = 'length',
    *,
    project: bool = False,
    max_bytes: int | None = None,
) -> Data:
    r"""A planning graph from a street network of OSMnx.

    Only :obj:`x`, :obj:`y`, one cost and the bends of streets, their
    :obj:`geometry`, are read. The cheapest of parallel streets is kept; nothing
    else is dropped (see :func:`~bcm_pyg.graph.largest_component`). Neither
    OSMnx nor shapely need be installed. :obj:`data.node_id` holds the OSM ids
    of the nodes, :obj:`data.lonlat` their longitudes and latitudes where known.

    Args:
        graph (networkx.MultiDiGraph or str or os.PathLike): The network, or a
            :obj:`.graphml` file of :meth:`osmnx.save_graphml`, gzipped or not.
        cost (str or callable, optional): :obj:`"length"` in metres,
            :obj:`"travel_time"` in seconds (after
            :meth:`osmnx.add_edge_speeds` and
            :meth:`osmnx.add_edge_travel_times`), another attribute, or a
            function of tail, head and attributes. (default: :obj:`"length"`)
        project (bool, optional): If set to :obj:`True`, degrees become metres
            about the middle; a graph that is projected stays as it is.
            Otherwise degrees, which OSMnx gives unless its graph was projected,
            are used with a warning. (default: :obj:`False`)
        max_bytes (int, optional): Files are refused whose graph takes more
            memory. (default: 1 GiB, or 100 times the size of the file)
    """

    def wanted(owner: str, name: str) -> bool:
        if owner == 'node':
            return name.lower() in PLACES
        return name in (cost, 'geometry') or not isinstance(cost, str)

    is_file = isinstance(graph, (str, PathLike))
    if is_file:
        nodes, edges, crs, names = read_graphml(graph, wanted, max_bytes)
    else:
        nodes, edges = source.nodes_and_edges(graph)
        crs, names = graph.graph.get('crs'), []
    with naming(graph) if is_file else nullcontext():
        if isinstance(cost, str):
            _check_cost(edges, cost, names)
        xy = nodes.axes(('x', 'y'))
        lonlat = source.known_degrees(nodes)
        if are_degrees(crs, xy):
            lonlat = xy
            if project:
                xy = local_metres(lonlat)
            else:
                warn_of_degrees(2)
        labels = as_labels(nodes.labels) if is_file else nodes.labels
        return build(nodes, edges, cost, xy, lonlat, labels)


def _check_cost(edges: source.Edges, cost: str, known: list[str]) -> None:
    if any(cost in values for values in edges.attributes):
        return
    hint = ''
    if cost == 'travel_time':
        hint = ': call osmnx.add_edge_speeds and osmnx.add_edge_travel_times'
    names = {str(name) for values in edges.attributes for name in values}
    names |= {*known}
    have = f'edges have {sorted(names)!s:.200}'
    raise BCMError(f'no edge has a {cost!r}{hint} ({have})')

from __future__ import annotations

from os import PathLike
from typing import Any

from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import are_degrees, local_metres, warn_of_degrees

from . import _attributes as source
from ._graphml import read_graphml
from .networkx import Cost, build


def from_osmnx(
    graph: Any, cost: Cost = 'length', *, project: bool = False
) -> Data:
    r"""A planning graph from a street network of OSMnx.

    Reads :obj:`x`, :obj:`y` and one cost; of parallel streets the cheapest is
    kept, one-way streets stay one-way, further attributes may be lists, strings
    or missing. OSMnx itself is not needed. :obj:`data.node_id` holds the OSM
    ids of the nodes, :obj:`data.lonlat` their longitudes and latitudes where
    known. Nothing is dropped: see
    :func:`~bcm_pyg.graph.largest_component`.

    Args:
        graph (networkx.MultiDiGraph or str or os.PathLike): The network, or a
            :obj:`.graphml` file of :meth:`osmnx.save_graphml`, gzipped or not.
        cost (str or callable, optional): :obj:`"length"` in metres,
            :obj:`"travel_time"` in seconds (after
            :meth:`osmnx.add_edge_speeds` and
            :meth:`osmnx.add_edge_travel_times`), another attribute, or a
            function of tail, head and attributes. (default: :obj:`"length"`)
        project (bool, optional): OSMnx gives degrees unless its graph was
            projected. If set to :obj:`True`, they become metres about the
            middle, and a graph that was projected stays as it is; otherwise
            degrees are taken with a warning. (default: :obj:`False`)
    """
    is_file = isinstance(graph, (str, PathLike))
    if is_file:
        graph = read_graphml(graph)
    nodes, edges = source.nodes_and_edges(graph)
    if isinstance(cost, str):
        _check_cost(edges, cost)
    xy = source.axes_at(nodes, ('x', 'y'))
    lonlat = source.known_degrees(nodes)
    if are_degrees(graph.graph.get('crs'), xy):
        lonlat = xy
        if project:
            xy = local_metres(lonlat)
        else:
            warn_of_degrees(2)
    labels = nodes.labels
    if is_file and all(str(label).isdecimal() for label in labels):
        numbers = [int(str(label)) for label in labels]
        if len(set(numbers)) == len(numbers):  # '7' and '07' are two nodes
            labels = list(numbers)
    return build(nodes, edges, cost, xy, lonlat, labels)


def _check_cost(edges: source.Edges, cost: str) -> None:
    if any(cost in values for values in edges.attributes):
        return
    how = ''
    if cost == 'travel_time':
        how = ': call osmnx.add_edge_speeds and osmnx.add_edge_travel_times'
    names = {str(name) for values in edges.attributes for name in values}
    raise BCMError(f'no edge has a {cost!r}{how} (edges have {sorted(names)})')

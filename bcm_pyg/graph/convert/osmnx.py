import io
import re
from os import PathLike
from typing import Any
from xml.parsers import expat

from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import are_degrees, local_metres, warn_of_degrees
from bcm_pyg.utils import read_file

from . import _attributes as source
from .networkx import Cost, build

#: Bytes of text that a file may hold.
MAX_BYTES = 2**30


def from_osmnx(
    graph: Any, cost: Cost = 'length', *, project: bool = False
) -> Data:
    r"""A planning graph from a street network of OSMnx.

    Only :obj:`x`, :obj:`y`, one cost and the bends of streets, their
    :obj:`geometry`, are read. The cheapest of parallel streets is kept; nothing
    else is dropped (see :func:`~bcm_pyg.graph.largest_component`). Neither
    OSMnx nor shapely need be installed.
    :obj:`data.node_id` holds the OSM ids of the nodes, :obj:`data.lonlat` their
    longitudes and latitudes where known.

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
    """
    is_file = isinstance(graph, (str, PathLike))
    if is_file:
        graph = _read_graphml(graph)
    nodes, edges = source.nodes_and_edges(graph)
    if isinstance(cost, str):
        _check_cost(edges, cost)
    xy = nodes.axes(('x', 'y'))
    lonlat = source.known_degrees(nodes)
    if are_degrees(graph.graph.get('crs'), xy):
        lonlat = xy
        if project:
            xy = local_metres(lonlat)
        else:
            warn_of_degrees(2)
    labels = nodes.labels
    if is_file and all(re.fullmatch('[0-9]{1,18}', str(n)) for n in labels):
        numbers = [int(str(label)) for label in labels]
        if len(set(numbers)) == len(numbers):  # '7' and '07' are two nodes
            labels = list(numbers)
    return build(nodes, edges, cost, xy, lonlat, labels)


def _check_cost(edges: source.Edges, cost: str) -> None:
    if any(cost in values for values in edges.attributes):
        return
    hint = ''
    if cost == 'travel_time':
        hint = ': call osmnx.add_edge_speeds and osmnx.add_edge_travel_times'
    names = {str(name) for values in edges.attributes for name in values}
    raise BCMError(f'no edge has a {cost!r}{hint} (edges have {sorted(names)})')


class _RootFound(Exception):  # noqa: N818
    """The root element begins: a document type can only come before it."""


def _read_graphml(path: str | PathLike[str]) -> Any:
    """A networkx graph from GraphML, all attributes as they are in the file."""
    import networkx as nx

    content = read_file(path, MAX_BYTES)
    # GraphML has no document type, which can define text without bound.
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = _stop
    try:
        parser.Parse(content, True)
    except _RootFound:
        pass
    except BCMError as error:
        raise BCMError(f'{path}: {error}') from None
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise BCMError(f'{path} is no GraphML: {error}') from None
    try:
        return nx.read_graphml(io.BytesIO(content), force_multigraph=True)
    except Exception as error:  # damaged files break it in many ways
        raise BCMError(f'{path} is no readable GraphML: {error}') from error


def _refuse(*args: object) -> None:
    raise BCMError('the file has a document type, which GraphML has not')


def _stop(*args: object) -> None:
    raise _RootFound

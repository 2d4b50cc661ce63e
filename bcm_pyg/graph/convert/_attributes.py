"""What to read where in a networkx graph."""

import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import first_true

#: Attributes that may hold costs when none is named.
COST_NAMES = (
    'weight cost edge_cost edge_weight length distance travel_time time '
    'duration'
).split()
#: Attributes that may hold all coordinates of a node.
VECTOR_NAMES = ('pos', 'position', 'coord', 'coords', 'coordinates', 'xy')
#: Attributes that may hold one coordinate each: in the plane, and in degrees.
AXIS_NAMES = (('x', 'y'), ('easting', 'northing'))
LATITUDES = {'lon': 'lat', 'lng': 'lat', 'long': 'lat', 'longitude': 'latitude'}
DEGREE_NAMES = tuple(LATITUDES.items())

#: A line as well-known text, as OSMnx writes it.
WKT_LINE = r'LINESTRING\s*(?:(?:Z|M|ZM)\s*)?\(([^()]*)\)'

#: What Python, NumPy and PyTorch raise for values that are not numbers.
NOT_A_NUMBER = (TypeError, ValueError, OverflowError, RuntimeError)

Attributes = Mapping[Any, Any]


class Nodes(NamedTuple):
    """The nodes of a graph, in its own order."""

    labels: list[Hashable]
    attributes: list[Attributes]

    def describe(self, index: int) -> str:
        """A node in an error message."""
        return f'node {self.labels[index]!r:.80}'

    def column(self, name: str) -> list[Any]:
        """An attribute of all nodes, None where it is missing."""
        return [node.get(name) for node in self.attributes]

    def vectors(self, name: str) -> np.ndarray:
        """Coordinates from one attribute, [N, A]; a number is one axis."""
        return as_vectors(self.column(name), name, self.describe)

    def axes(self, names: Iterable[str]) -> np.ndarray:
        """Coordinates from one attribute per axis, [N, A]."""
        columns = [
            as_numbers(self.column(name), name, self.describe) for name in names
        ]
        return np.stack(columns, axis=1)

    def have_all(self, names: Iterable[str]) -> bool:
        """Whether no node lacks one of these attributes."""
        return all(value is not None for n in names for value in self.column(n))


class Edges(NamedTuple):
    """The edges of a graph, both directions of an undirected one."""

    tail: list[Hashable]
    head: list[Hashable]
    attributes: list[Attributes]
    undirected: bool = False

    def describe(self, index: int) -> str:
        """An edge in an error message."""
        return f'edge {self.tail[index]!r:.80} -> {self.head[index]!r:.80}'


def nodes_and_edges(graph: Any) -> tuple[Nodes, Edges]:
    """All nodes and edges of any networkx graph."""
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        got = type(graph).__name__
        raise BCMError(f'expected a networkx graph (got {got})')
    nodes = Nodes(list(graph.nodes), [graph.nodes[n] for n in graph.nodes])
    edges = list(graph.edges(data=True))
    if not edges:
        raise BCMError('the graph has no edges: nothing to plan')
    undirected = not graph.is_directed()
    if undirected:
        edges += [(head, tail, values) for tail, head, values in edges]
    tail, head, values = (list(part) for part in zip(*edges, strict=True))
    return nodes, Edges(tail, head, values, undirected)


def edge_names(edges: Edges) -> list[str]:
    """What attributes of edges are called."""
    groups = _names(edges.attributes).values()
    return sorted(name for group in groups for name in group)


def cost_name(edges: Edges) -> str:
    """The one attribute that can be meant by costs."""
    names = _names(edges.attributes)
    found = [name for wanted in COST_NAMES for name in names.get(wanted, [])]
    if len(found) == 1:
        return found[0]
    if found:
        raise BCMError(
            f'several edge attributes may be costs, {found!s:.200}: name one '
            "with cost='...'"
        )
    every = edge_names(edges)
    raise BCMError(
        f'no edge costs found: edges have {every!s:.200}. Name one with cost='
        "'...', pass cost='length' for straight-line length, or a function "
        'cost=lambda tail, head, attributes: ...'
    )


def planar(nodes: Nodes) -> np.ndarray | None:
    """The coordinates in the plane or in space that nodes have, [N, A]."""
    names = _names(nodes.attributes)
    found: dict[str, np.ndarray] = {}
    errors: list[BCMError] = []
    for name in (n for wanted in VECTOR_NAMES for n in names.get(wanted, [])):
        try:
            found[repr(name)] = nodes.vectors(name)
        except BCMError as error:  # it may be about something else
            errors.append(error)
    for wanted in AXIS_NAMES:
        for axes in _spellings(names, wanted):
            height = names.get('z', [])  # beside x and y, if every node has it
            if wanted == ('x', 'y') and len(height) == 1:
                axes += tuple(height) if nodes.have_all(height) else ()
            found[str(axes)] = nodes.axes(axes)
    if errors and not found and degrees(nodes) is None:
        raise BCMError(f'{errors[0]}. Name other coordinates with pos=...')
    if not found:
        return None
    first, *others = found.values()
    if not all(np.array_equal(first, other) for other in others):
        raise BCMError(
            'several node attributes may be coordinates, and they differ: '
            f'{", ".join(found):.200}. Name those to use with pos=...'
        )
    return first


def degrees(nodes: Nodes, partly: bool = False) -> np.ndarray | None:
    """Longitudes and latitudes, [N, 2], if every node has them.

    With :obj:`partly`, it is an error if only some nodes have them.
    """
    for axes in _degree_axes(nodes):
        if partly or nodes.have_all(axes):
            return nodes.axes(axes)
    return None


def known_degrees(nodes: Nodes) -> np.ndarray | None:
    """The same where they are merely kept: bad ones count as unknown."""
    for axes in _degree_axes(nodes):
        try:
            return nodes.axes(axes)
        except BCMError:
            continue
    return None


def _degree_axes(nodes: Nodes) -> list[tuple[str, ...]]:
    names = _names(nodes.attributes)
    return [axes for pair in DEGREE_NAMES for axes in _spellings(names, pair)]


def _names(items: Iterable[Attributes]) -> dict[str, list[str]]:
    """All names of attributes, by their spelling in lower case."""
    names = {name for item in items for name in item if isinstance(name, str)}
    out: dict[str, list[str]] = {}
    for name in sorted(names):
        out.setdefault(name.lower(), []).append(name)
    return out


def _spellings(
    names: Mapping[str, list[str]], wanted: Sequence[str]
) -> list[tuple[str, ...]]:
    """How these attributes are spelt; several if they differ in case alone."""
    return list(product(*(names.get(name, []) for name in wanted)))


def as_numbers(
    values: Sequence[Any], name: str, describe: Callable[[int], str]
) -> np.ndarray:
    """Finite numbers, float64 [N]; strings are parsed."""
    try:
        out = np.array(values, dtype=np.float64)
        if out.shape != (len(values),):
            raise ValueError
    except NOT_A_NUMBER:
        out = np.array([_number(value) for value in values])
    bad = ~np.isfinite(out)
    if (first := first_true(bad)) is not None:
        if values[first] is None:
            raise BCMError(
                f'{describe(first)} has no {name!r:.80} ({int(bad.sum())} of '
                f'{len(values)} lack a number)'
            )
        raise BCMError(
            f'{describe(first)}: {name!r:.80} must be a finite number (got '
            f'{values[first]!r:.80})'
        )
    return out


def as_vectors(
    values: Sequence[Any], name: str, describe: Callable[[int], str]
) -> np.ndarray:
    """As many finite numbers of each item as of the first, [N, A]."""
    try:
        table = np.array(values, dtype=np.float64).reshape(len(values), -1)
        if table.size and np.isfinite(table).all():
            return table
    except NOT_A_NUMBER:
        pass
    vectors: list[np.ndarray] = []  # find the first that is wrong
    for index, value in enumerate(values):
        if value is None:
            raise BCMError(f'{describe(index)} has no {name!r}')
        try:
            vector = np.asarray(value, dtype=np.float64).reshape(-1)
        except NOT_A_NUMBER:
            vector = np.full(1, np.nan)
        if vector.size == 0 or not np.isfinite(vector).all():
            raise BCMError(
                f'{describe(index)}: {name!r} must hold finite coordinates '
                f'(got {value!r:.80})'
            )
        if vectors and vector.size != vectors[0].size:
            raise BCMError(
                f'{describe(index)}: {name!r} has {vector.size} coordinates, '
                f'others have {vectors[0].size}'
            )
        vectors.append(vector)
    return np.stack(vectors)


def as_line(value: Any) -> np.ndarray | None:
    """Points [P, A] of a line: WKT, shapely, or a list; None if it is none."""
    try:
        if isinstance(value, str):
            found = re.fullmatch(WKT_LINE, value.strip(), re.IGNORECASE)
            line = np.empty(0) if found is None else _points(found[1])
        else:
            line = np.array(getattr(value, 'coords', value), dtype=np.float64)
    except (*NOT_A_NUMBER, NotImplementedError):  # shapely has lines of lines
        return None
    is_line = line.ndim == 2 and len(line) > 1 and line.shape[1] > 1
    return line if is_line and np.isfinite(line).all() else None


def _points(text: str) -> np.ndarray:
    """The points [P, A] of a text, without a list for each of them."""
    numbers, axes = array('d'), 0
    for point in re.finditer('[^,]+', text):
        before = len(numbers)
        numbers.extend(map(float, point[0].split()))
        axes = axes or len(numbers)
        if len(numbers) - before != axes:
            raise ValueError('points of different sizes')
    # Fails if there is nothing between two commas.
    return np.frombuffer(numbers).reshape(text.count(',') + 1, axes)


def _number(value: object) -> float:
    """A number, or nan for what is none."""
    try:
        return float(value) if np.ndim(value) == 0 else np.nan  # type: ignore
    except NOT_A_NUMBER:
        return np.nan

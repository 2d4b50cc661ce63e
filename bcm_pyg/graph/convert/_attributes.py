"""What to read where in a networkx graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bcm_pyg.errors import BCMError

from ._numbers import (
    Attributes,
    attribute_names,
    number_column,
    spellings,
    vector_column,
)

#: Where costs are looked for when none are named.
COST_NAMES = (
    'weight',
    'cost',
    'edge_cost',
    'edge_weight',
    'length',
    'distance',
    'travel_time',
    'time',
    'duration',
)
#: Where all coordinates of a node may stand together.
VECTOR_NAMES = ('pos', 'position', 'coord', 'coords', 'coordinates', 'xy')
#: Where coordinates may stand one by one: in the plane, and in degrees.
AXIS_NAMES = (('x', 'y'), ('easting', 'northing'))
DEGREE_NAMES = (
    ('lon', 'lat'),
    ('lng', 'lat'),
    ('long', 'lat'),
    ('longitude', 'latitude'),
)


class Nodes(NamedTuple):
    """The nodes of a graph, in its own order."""

    labels: list[Hashable]
    attributes: list[Attributes]

    def describe(self, place: int) -> str:
        """A node in an error message."""
        return f'node {self.labels[place]!r}'


class Edges(NamedTuple):
    """The edges of a graph, each way of an undirected one."""

    tail: list[Hashable]
    head: list[Hashable]
    attributes: list[Attributes]

    def describe(self, place: int) -> str:
        """An edge in an error message."""
        return f'edge {self.tail[place]!r} -> {self.head[place]!r}'


def nodes_and_edges(graph: Any) -> tuple[Nodes, Edges]:
    """All nodes and edges of any networkx graph."""
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise BCMError(
            f'expected a networkx graph (got {type(graph).__name__})'
        )
    nodes = Nodes(list(graph.nodes), [graph.nodes[n] for n in graph.nodes])
    edges = list(graph.edges(data=True))
    if len(edges) == 0:
        raise BCMError('the graph has no edges: nothing to plan')
    if not graph.is_directed():
        edges += [(head, tail, values) for tail, head, values in edges]
    tail, head, values = (list(part) for part in zip(*edges, strict=True))
    return nodes, Edges(tail, head, values)


def cost_name(edges: Edges) -> str:
    """The one attribute that can be meant by costs."""
    names = attribute_names(edges.attributes)
    found = [name for wanted in COST_NAMES for name in names.get(wanted, [])]
    if len(found) == 1:
        return found[0]
    every = sorted(name for group in names.values() for name in group)
    if len(found) > 1:
        raise BCMError(
            f'several edge attributes may be costs, {found}: name one with '
            "cost='...'"
        )
    raise BCMError(
        f'no edge costs found: edges have {every}. Name one with cost='
        "'...', pass cost='length' for straight-line length, or a function "
        'cost=lambda tail, head, attributes: ...'
    )


def planar(nodes: Nodes) -> np.ndarray | None:
    """The coordinates in the plane or in space that nodes have, [N, A]."""
    names = attribute_names(nodes.attributes)
    found: dict[str, np.ndarray] = {}
    errors: list[BCMError] = []
    for name in (n for wanted in VECTOR_NAMES for n in names.get(wanted, [])):
        try:
            found[repr(name)] = vector_at(nodes, name)
        except BCMError as error:  # it may be about something else
            errors.append(error)
    for wanted in AXIS_NAMES:
        for axes in spellings(names, wanted):
            axes = (*axes, *_height(nodes, names, wanted))
            found[str(axes)] = axes_at(nodes, axes)
    if errors and not found and degrees(nodes) is None:
        raise BCMError(f'{errors[0]}. Name other coordinates with pos=...')
    if not found:
        return None
    first, *others = found.values()
    if not all(np.array_equal(first, other) for other in others):
        raise BCMError(
            'several node attributes may be coordinates, and they differ: '
            f'{", ".join(found)}. Name those to use with pos=...'
        )
    return first


def degrees(nodes: Nodes, partly: bool = False) -> np.ndarray | None:
    """Longitude and latitude, [N, 2], if every node has them.

    If they may be there :obj:`partly`, a node without is an error.
    """
    for axes in _degree_axes(nodes, partly):
        return axes_at(nodes, axes)
    return None


def known_degrees(nodes: Nodes) -> np.ndarray | None:
    """The same where they are no more than kept: bad ones are unknown."""
    for axes in _degree_axes(nodes):
        try:
            return axes_at(nodes, axes)
        except BCMError:
            continue
    return None


def _degree_axes(
    nodes: Nodes, partly: bool = False
) -> Iterator[tuple[str, ...]]:
    names = attribute_names(nodes.attributes)
    for wanted in DEGREE_NAMES:
        for axes in spellings(names, wanted):
            if partly or all(
                node.get(name) is not None
                for name in axes
                for node in nodes.attributes
            ):
                yield axes


def vector_at(nodes: Nodes, name: str) -> np.ndarray:
    """Coordinates from one attribute, [N, A]; a number is one axis."""
    values = [node.get(name) for node in nodes.attributes]
    return vector_column(values, name, nodes.describe)


def axes_at(nodes: Nodes, axes: Sequence[str]) -> np.ndarray:
    """Coordinates from one attribute per axis, [N, A]."""
    return np.stack(
        [
            number_column(nodes.attributes, name, nodes.describe)
            for name in axes
        ],
        axis=1,
    )


def _height(
    nodes: Nodes, names: Mapping[str, list[str]], wanted: tuple[str, str]
) -> list[str]:
    """A third axis beside x and y, if every node has it."""
    if wanted != ('x', 'y') or len(names.get('z', [])) != 1:
        return []
    (name,) = names['z']
    has = all(node.get(name) is not None for node in nodes.attributes)
    return [name] if has else []

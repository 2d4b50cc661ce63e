"""GraphML, read element by element: what is not asked for takes no memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from typing import Any, NamedTuple
from xml.parsers import expat

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import memory_for, reading, unpacked

from ._attributes import Edges, Nodes

#: Bytes of text that a file may hold, and one name or number in it.
MAX_TEXT, MAX_TOKEN = 2**30, 2**24
#: Elements within each other; GraphML needs five.
MAX_DEPTH = 100
#: Bytes of memory for a node or an edge, and for any element.
ENTRY_BYTES, ELEMENT_BYTES = 800, 60
#: For a character, which may be one of four bytes, in parts and as a whole; for
#: a point of a line, which is copied some times on the way to a graph.
LETTER_BYTES, POINT_BYTES = 8, 500

_TRUTH = {'true': True, '1': True, 'false': False, '0': False}
_TYPES: dict[str, Callable[[str], Any]] = {
    'int': int,
    'integer': int,
    'long': int,
    'float': float,
    'double': float,
    'boolean': lambda text: _TRUTH[text.lower()],
    'string': str,
}


class GraphML(NamedTuple):
    """The content of a file.

    Attributes:
        nodes: All nodes, with the attributes that were asked for.
        edges: The same of edges, both directions of undirected ones.
        crs: The coordinate system, if it is named.
        edge_names: Names of all attributes of edges.
    """

    nodes: Nodes
    edges: Edges
    crs: Any
    edge_names: list[str]


def read_graphml(
    path: str | PathLike[str],
    wanted: Callable[[str, str], bool],
    max_bytes: int | None = None,
) -> GraphML:
    """Nodes and edges of a GraphML file, gzipped or not.

    Args:
        path (str or os.PathLike): The file.
        wanted (Callable): Whether to keep an attribute, by 'node' or 'edge' and
            its name.
        max_bytes (int, optional): Graphs that take more memory are refused.
            (default: 1 GiB, or 100 times the size of the file)
    """
    with reading(path, 'GraphML') as (file, size):
        reader = _Reader(wanted, memory_for(size, max_bytes))
        parser, fed = reader.parser, 0
        for part in unpacked(file, max(MAX_TEXT, size)):
            parser.Parse(part, False)
            fed += len(part)
            if fed - parser.CurrentByteIndex > MAX_TOKEN + len(part):
                raise BCMError(f'a part has more than {MAX_TOKEN:,} bytes')
        parser.Parse(b'', True)
        return reader.result()


def as_labels(ids: list[Any]) -> list[Any]:
    """Labels of the nodes of a file: integers if all ids are numbers."""
    if not all(re.fullmatch('-?[0-9]{1,18}', str(label)) for label in ids):
        return ids
    numbers = [int(str(label)) for label in ids]
    # '7' and '07' are two nodes.
    return numbers if len(set(numbers)) == len(numbers) else ids


class _Key(NamedTuple):
    """What a key of the file stands for."""

    owner: str
    name: str
    parse: Callable[[str], Any]


def _value_bytes(value: Any) -> int:
    """What an attribute takes beside its text, which may be a line."""
    commas = value.count(',') if isinstance(value, str) else 0
    return 2 * ELEMENT_BYTES + POINT_BYTES * commas


class _Reader:
    """Takes the events of an XML parser."""

    def __init__(self, wanted: Callable[[str, str], bool], room: int) -> None:
        self.wanted, self.room, self.max_bytes = wanted, room, room
        self.keys: dict[str, _Key] = {}
        self.defaults: dict[str, dict[str, Any]] = {'node': {}, 'edge': {}}
        self.default_bytes = {'node': 0, 'edge': 0}
        self.graph: dict[str, Any] = {}
        self.node: dict[str, int] = {}
        self.labels: list[str] = []
        self.attributes: list[dict[str, Any]] = []
        self.edges = Edges([], [], [])
        self.num_graphs, self.directed, self.num_directed = 0, True, 0
        # What data belongs to: a graph, a node or an edge.
        self.kind, self.owner = 'graph', self.graph
        self.key: _Key | None = None
        self.text: list[str] | None = None  # if it is wanted
        self.depth = 0
        # Namespaces stay prefixes: a long one would be put before every name.
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype

    def result(self) -> GraphML:
        """All of it, after the end."""
        if self.num_graphs == 0:
            raise BCMError('there is no graph in it')
        if not self.edges.tail:
            raise BCMError('the graph has no edges: nothing to plan')
        every = self.keys.values()
        names = {key.name for key in every if key.owner in ('edge', 'all')}
        crs = self.graph.get('crs')
        nodes = Nodes([*self.labels], [*self.attributes])
        edges = self.edges._replace(undirected=self.num_directed == 0)
        return GraphML(nodes, edges, crs, sorted(names))

    def take(self, size: int) -> None:
        """Counts what is about to be built."""
        self.room -= size
        if self.room < 0:
            raise BCMError(
                f'the graph in it takes more than {self.max_bytes:,} bytes of '
                'memory: raise max_bytes'
            )

    def refuse_doctype(self, *args: object) -> None:
        """It could define text without bound."""
        raise BCMError('the file has a document type, which GraphML has not')

    def start(self, tag: str, fields: dict[str, str]) -> None:
        """An element begins."""
        self.take(ELEMENT_BYTES)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BCMError(f'it has more than {MAX_DEPTH} nested elements')
        tag = tag.rpartition(':')[2]
        try:
            if tag == 'node':
                node = self.add_node(fields['id'])
                self.kind, self.owner = tag, self.attributes[node]
            elif tag == 'edge':
                self.add_edge(fields)
            elif tag == 'data':
                self.begin_text(self.keys[fields['key']])
            elif tag == 'key':
                self.add_key(fields)
            elif tag == 'default' and self.key is not None:
                self.kind = self.key.owner
                self.owner = self.defaults.get(self.kind, {})
                self.begin_text(self.key)
            elif tag == 'graph':
                self.num_graphs += 1
                self.directed = fields.get('edgedefault') == 'directed'
        except KeyError as error:
            raise BCMError(f'a {tag} lacks its {error!s:.80}') from None
        if self.num_graphs > 1 or tag == 'hyperedge':
            raise BCMError('it has hyperedges, or more than one graph')

    def begin_text(self, key: _Key) -> None:
        """Takes what follows as a value, if it is wanted."""
        is_wanted = self.kind == 'graph' or self.wanted(self.kind, key.name)
        self.key, self.text = key, [] if is_wanted else None

    def characters(self, text: str) -> None:
        """Some more of a value."""
        if self.text is not None:
            self.take(LETTER_BYTES * len(text))
            self.text.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        self.depth -= 1
        tag = tag.rpartition(':')[2]
        if tag in ('data', 'default'):
            if self.text is not None and self.key is not None:
                value = self.key.parse(''.join(self.text))
                size = _value_bytes(value)
                self.take(size)
                self.owner[self.key.name] = value
                if tag == 'default' and self.kind in self.default_bytes:
                    self.default_bytes[self.kind] += size
            self.text = None
        elif tag in ('node', 'edge', 'key'):
            self.kind, self.owner, self.key = 'graph', self.graph, None

    def add_key(self, fields: dict[str, str]) -> None:
        """What a key stands for."""
        size = sum(map(len, fields.values()))
        self.take(ENTRY_BYTES + LETTER_BYTES * size)
        parse = _TYPES.get(fields.get('attr.type', 'string'), str)
        name = fields.get('attr.name', fields['id'])
        self.key = _Key(fields.get('for', 'all'), name, parse)
        self.keys[fields['id']] = self.key

    def add_node(self, label: str) -> int:
        """The index of a node, which may be new."""
        index = self.node.setdefault(label, len(self.node))
        if index == len(self.labels):
            self.take(ENTRY_BYTES + LETTER_BYTES * len(label))
            self.labels.append(label)
            self.attributes.append(self.with_defaults('node'))
        return index

    def add_edge(self, fields: dict[str, str]) -> None:
        """An edge, or both directions of one."""
        ends = fields['source'], fields['target']
        tail, head = (self.labels[self.add_node(end)] for end in ends)
        self.kind, self.owner = 'edge', self.with_defaults('edge')
        both = [(tail, head)]
        directed = fields.get('directed', str(self.directed)).lower() == 'true'
        self.num_directed += directed
        if not directed:
            both.append((head, tail))
        for one, two in both:
            self.take(ENTRY_BYTES)
            self.edges.tail.append(one)
            self.edges.head.append(two)
            self.edges.attributes.append(self.owner)

    def with_defaults(self, kind: str) -> dict[str, Any]:
        """The first attributes of a node or an edge: a few bytes of the file,
        but each of them has all.
        """
        self.take(self.default_bytes[kind])
        return dict(self.defaults[kind])

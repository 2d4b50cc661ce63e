"""Our reader of GraphML against that of networkx."""

import gzip
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bcm_pyg import BCMError
from bcm_pyg.graph import from_osmnx, read_graph
from bcm_pyg.graph.convert import _attributes as source
from bcm_pyg.graph.convert import _graphml
from bcm_pyg.graph.convert._graphml import read_graphml

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
texts = st.text(
    st.characters(codec='utf-8', categories=('L', 'N', 'P', 'S')), max_size=4
)
kinds = st.sampled_from(
    [st.integers(-9, 9), st.floats(-9, 9), texts, st.booleans()]
)


@st.composite
def nx_graphs(draw: st.DrawFn) -> nx.Graph:
    graph = draw(st.sampled_from(KINDS))(crs=draw(texts))
    nodes = draw(st.lists(texts, min_size=2, max_size=5, unique=True))
    values = draw(kinds)  # of one type, as GraphML has it
    for node in nodes:
        names = draw(st.lists(st.sampled_from('xyz'), unique=True))
        graph.add_node(node, **{name: draw(values) for name in names})
    ends = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes))
    for tail, head in draw(st.lists(ends, min_size=1, max_size=6)):
        graph.add_edge(tail, head, length=draw(values), name=draw(texts))
    return graph


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(graph=nx_graphs(), named=st.booleans())
def test_as_networkx_reads_it(
    tmp_path: Path, graph: nx.Graph, named: bool
) -> None:
    path = tmp_path / 'a.graphml'
    nx.write_graphml_xml(graph, path, named_key_ids=named)
    wanted = nx.read_graphml(path, force_multigraph=True)
    nodes, edges = source.nodes_and_edges(wanted)
    found = read_graphml(path, lambda owner, name: True)
    assert found.nodes == nodes
    assert found.crs == wanted.graph['crs']
    assert found.edge_names == ['length', 'name']
    numbers = [{k: x for k, x in e.items() if k != 'id'} for e in edges[2]]

    def ordered(tail: list, head: list, attributes: list) -> list[str]:
        return sorted(map(repr, zip(tail, head, attributes, strict=True)))

    assert found.edges.undirected == edges.undirected
    assert ordered(*found.edges[:3]) == ordered(edges.tail, edges.head, numbers)
    few = read_graphml(path, lambda owner, name: name in 'x')
    assert few.edges.attributes == [{} for _ in numbers]
    assert few.nodes.labels == nodes.labels


HEAD = '<graphml><key id="d0" for="node" attr.name="x" attr.type="double">'


def test_defaults_and_directions(tmp_path: Path) -> None:
    path = tmp_path / 'a.graphml'
    path.write_text(
        HEAD + '<default>1.5</default></key><graph edgedefault="undirected">'
        '<node id="a"/><node id="b"><data key="d0">2</data></node>'
        '<edge source="a" target="b"/><edge source="c" target="a" '
        'directed="true"/></graph></graphml>'
    )
    found = read_graphml(path, lambda owner, name: True)
    assert found.nodes.labels == ['a', 'b', 'c']
    assert found.nodes.attributes == [{'x': 1.5}, {'x': 2.0}, {'x': 1.5}]
    assert found.edges.tail == ['a', 'b', 'c']
    assert found.edges.head == ['b', 'a', 'a']


@pytest.mark.parametrize(
    ('inside', 'message'),
    [
        ('<a/>' * 500, 'more than 20,000 bytes of memory'),
        ('<node id="a%d"/>' * 100, 'no edges'),
        (''.join(f'<node id="{n}"/>' for n in range(50)), 'raise max_bytes'),
        ('<edge source="a" target="b"/>' * 50, 'raise max_bytes'),
        (f'<node id="a"><data key="d0">{"1" * 9000}</data></node>', 'raise'),
        ('<node id="a"><data key="d1">1</data></node>', "data lacks its 'd1'"),
        ('<node id="a"><data key="d0">x</data></node>', 'could not convert'),
        ('<hyperedge/>', 'hyperedges'),
    ],
)
def test_what_is_built_is_counted_before(
    tmp_path: Path, inside: str, message: str
) -> None:
    path = tmp_path / 'a.graphml'
    text = HEAD + f'</key><graph>{inside}</graph></graphml>'
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    with pytest.raises(BCMError, match=message):
        read_graphml(path, lambda owner, name: True, max_bytes=20_000)


def test_a_name_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_graphml, 'MAX_TOKEN', 2**21)
    path = tmp_path / 'a.graphml'
    path.write_bytes(b'<graphml><graph><node id="' + b'a' * 2**24)
    with pytest.raises(BCMError, match='a part has more than 2,097,152 bytes'):
        read_graphml(path, lambda owner, name: True)


KEYS = """
<key id="x" for="node" attr.name="x" attr.type="double"/>
<key id="y" for="node" attr.name="y" attr.type="double"/>
<key id="l" for="edge" attr.name="length" attr.type="double"/>
"""
LINE = 'LINESTRING (0 9, ' + '1 2, ' * 1000 + '1 9)'
MANY = ''.join(
    f'<key id="{n}" for="edge" attr.name="{n}"><default/></key>'
    for n in range(1000)
)


def whole(
    keys: str = '', edges: int = 1, cost: str = '1', names: str = ''
) -> str:
    """A file of two nodes."""
    place = '<data key="x">{0}</data><data key="y">9</data>'
    nodes = ''.join(
        f'<node id="{names}{n}">{place.format(n)}</node>' for n in (0, 1)
    )
    edge = f'<edge source="{names}0" target="{names}1">'
    edge += f'<data key="l">{cost}</data></edge>'
    graph = f'<graph edgedefault="undirected">{nodes}{edge * edges}</graph>'
    return f'<graphml>{KEYS}{keys}{graph}</graphml>'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (whole(MANY, 2000), 'takes more than'),
        (
            whole(
                '<key id="c" for="edge" attr.name="geometry">'
                f'<default>{LINE}</default></key>',
                100,
            ),
            'takes more than',
        ),
        (whole(f'<key id="c{"n" * 10**6}"/>' * 9), 'takes more than'),
        ('<graphml>' + '<a>' * 101, 'more than 100 nested elements'),
    ],
)
def test_few_bytes_that_become_many(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / 'a.graphml'
    path.write_text(text)
    with pytest.raises(BCMError, match=message):
        read_graphml(path, lambda *_: True, max_bytes=4 * 10**7)


def test_namespaces(tmp_path: Path) -> None:
    path = tmp_path / 'a.graphml'
    path.write_text(whole())
    plain = read_graphml(path, lambda *_: True)
    text = whole().replace('<', '<g:').replace('<g:/', '</g:')
    long = 'u' * 10**6
    path.write_text(text.replace('graphml>', f'graphml xmlns:g="{long}">', 1))
    began = time.process_time()
    assert read_graphml(path, lambda *_: True) == plain
    assert time.process_time() - began < 1  # names are not put before each


@pytest.mark.filterwarnings('ignore:the coordinates are degrees')
@pytest.mark.parametrize('read', [read_graph, from_osmnx])
@pytest.mark.parametrize('names', ['', 'n' * 10**6])
def test_errors_name_the_file_and_are_short(
    read: Callable[[Path], object], names: str, tmp_path: Path
) -> None:
    path = tmp_path / 'a.graphml'
    for text in [whole(cost='x' * 10**6), whole(names=names, cost='nan')]:
        path.write_text(text.replace('attr.type="double"', ''))
        with pytest.raises(
            BCMError, match=r'a\.graphml: edge .*finite'
        ) as told:
            read(path)
        assert len(str(told.value)) < 800

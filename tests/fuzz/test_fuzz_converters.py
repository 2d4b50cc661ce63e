"""Whatever graph of another library, or arrays: a graph, or one clear error."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hostile import NUMBERS, tensors, things
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fuzz_graphs import assert_canonical

from bcm_pyg import BCMError
from bcm_pyg.graph import (
    from_arrays,
    from_networkx,
    from_occupancy,
    from_osmnx,
    labels_of,
    nodes_from_labels,
)

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
numbers = st.one_of(
    st.floats(0, 9), st.sampled_from(NUMBERS), st.integers(-1, 9)
)
values = st.one_of(
    numbers,
    numbers.map(str),
    st.floats(width=32).map(np.float32),
    numbers.map(np.array),
    st.lists(numbers, max_size=3),
    things,
    tensors(2),
)
labels = st.one_of(
    st.integers(-3, 3), st.text(max_size=2), st.tuples(st.integers(0, 2))
)
NODE_NAMES = ['x', 'y', 'z', 'pos', 'lon', 'lat']
EDGE_NAMES = ['weight', 'length', 'travel_time', 'edge_cost', 'cost']


@st.composite
def nx_graphs(draw: st.DrawFn) -> Any:
    graph = draw(st.sampled_from(KINDS))()
    nodes = draw(st.lists(labels, min_size=1, max_size=5, unique=True))
    axes = draw(st.sampled_from([['x', 'y'], ['pos'], ['lon', 'lat'], []]))
    for place, node in enumerate(nodes):
        usual = [float(place), place * 0.5] if axes == ['pos'] else place / 3
        graph.add_node(node, **dict.fromkeys(axes, usual))
    cost = draw(st.sampled_from(EDGE_NAMES))
    ends = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes))
    for tail, head in draw(st.lists(ends, max_size=6)):
        graph.add_edge(tail, head, **{cost: draw(st.floats(0, 9))})
    # Then something goes wrong, or nothing.
    for node, name, value in draw(
        st.lists(
            st.tuples(
                st.sampled_from(nodes), st.sampled_from(NODE_NAMES), values
            ),
            max_size=2,
        )
    ):
        graph.nodes[node][name] = value
    edges = list(graph.edges)
    if edges:
        for edge, name, value in draw(
            st.lists(
                st.tuples(
                    st.sampled_from(edges), st.sampled_from(EDGE_NAMES), values
                ),
                max_size=2,
            )
        ):
            graph.edges[edge][name] = value
    if draw(st.booleans()):
        graph.graph['crs'] = draw(
            st.one_of(st.sampled_from(['epsg:4326', 'epsg:32631']), values)
        )
    return graph


@pytest.mark.filterwarnings('ignore')
@settings(max_examples=1000, deadline=None)
@given(nx_graphs(), st.booleans())
def test_networkx(graph: Any, as_osmnx: bool) -> None:
    try:
        data = (from_osmnx if as_osmnx else from_networkx)(graph)
    except BCMError as error:
        assert str(error)
        return
    assert_canonical(data)
    assert data.num_nodes == len(graph)
    names = labels_of(data, list(range(len(graph))))
    assert set(names) == set(graph.nodes)
    assert nodes_from_labels(data, names).tolist() == list(range(len(graph)))
    between = {
        (names[tail], names[head]) for tail, head in data.edge_index.T.tolist()
    }
    wanted = {edge[:2] for edge in graph.edges if edge[0] != edge[1]}
    if not graph.is_directed():
        wanted |= {(head, tail) for tail, head in wanted}
    assert between == wanted


@settings(max_examples=500, deadline=None)
@given(
    st.one_of(values, tensors(), tensors().filter(lambda t: t.dim() == 2)),
    st.one_of(values, tensors(), st.just([[0, 1], [1, 0]])),
    st.one_of(values, tensors(), st.just([1.0, 2.0])),
)
def test_arrays(pos: Any, edge_index: Any, edge_cost: Any) -> None:
    try:
        data = from_arrays(pos, edge_index, edge_cost)
    except BCMError as error:
        assert str(error)
        return
    assert_canonical(data)


@settings(max_examples=500, deadline=None)
@given(st.one_of(values, tensors(), tensors(3).map(lambda t: t.bool())))
def test_occupancy(occupied: Any) -> None:
    try:
        data = from_occupancy(occupied)
    except BCMError as error:
        assert str(error)
        return
    assert_canonical(data)

import copy
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import assert_same_data
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx_rings import ring, with_nodes

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import from_networkx, nodes_from_labels

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@st.composite
def labelled_graphs(draw: st.DrawFn) -> nx.Graph:
    """Any kind of graph, any labels, loops and parallel edges."""
    labels = draw(
        st.lists(
            st.one_of(
                st.integers(-(2**70), 2**70),
                st.text(max_size=3),
                st.tuples(st.integers(0, 9), st.integers(0, 9)),
                st.floats(allow_nan=False),
                st.frozensets(st.integers(0, 3)),
            ),
            min_size=2,
            max_size=8,
            unique=True,
        )
    )
    graph = draw(st.sampled_from(KINDS))()
    number = st.one_of(
        st.integers(0, 9), st.sampled_from(['1.5', ' 2 ', np.float32(0.25)])
    )
    for label in labels:
        graph.add_node(label, pos=draw(st.tuples(number, number, number)))
    node = st.integers(0, len(labels) - 1)
    ends = draw(st.lists(st.tuples(node, node), max_size=20))
    for tail, head in [(0, 1), *ends]:
        graph.add_edge(labels[tail], labels[head], weight=draw(number))
    return graph


def cheapest(graph: nx.Graph, tail: object, head: object) -> float:
    values = graph.get_edge_data(tail, head)
    every = values.values() if graph.is_multigraph() else [values]
    return min(float(one['weight']) for one in every)


@settings(max_examples=40, deadline=None)
@given(graph=labelled_graphs())
def test_agrees_with_networkx(graph):
    before = copy.deepcopy(graph)
    data = from_networkx(graph)
    assert nx.utils.graphs_equal(graph, before)
    labels = list(graph)
    starts = nodes_from_labels(data, labels).repeat_interleave(len(labels))
    goals = nodes_from_labels(data, labels).repeat(len(labels))
    plan = Dijkstra(data)(starts, goals)
    routes = plan.to_labels(data)
    for query, (i, j) in enumerate(zip(starts, goals, strict=True)):
        try:
            want = nx.dijkstra_path_length(
                graph,
                labels[i],
                labels[j],
                weight=lambda u, v, _: cheapest(graph, u, v),
            )
        except nx.NetworkXNoPath:
            assert routes[query] == []
            continue
        assert float(plan.cost[query]) == want
        assert routes[query][0] == labels[i]
        assert routes[query][-1] == labels[j]
        steps = [cheapest(graph, *step) for step in pairwise(routes[query])]
        assert sum(steps) == want


@settings(max_examples=20, deadline=None)
@given(graph=labelled_graphs(), seed=st.integers(0, 99))
def test_order_of_edges_does_not_matter(graph, seed):
    edges = list(graph.edges(data=True))
    shuffled = type(graph)()
    shuffled.add_nodes_from(graph.nodes(data=True))
    for place in np.random.default_rng(seed).permutation(len(edges)):
        tail, head, values = edges[place]
        shuffled.add_edge(tail, head, **values)
    assert_same_data(from_networkx(shuffled), from_networkx(graph))


@settings(max_examples=20, deadline=None)
@given(graph=labelled_graphs())
def test_labels_survive(graph):
    data = from_networkx(graph)
    for other in (
        planning_graph(data),
        data.to('cpu'),
        data.clone(),
        copy.deepcopy(data),
    ):
        assert nodes_from_labels(other, list(graph)).tolist() == list(
            range(len(graph))
        )
        assert_same_data(planning_graph(other), data)


def test_small():
    data = from_networkx(ring())
    assert data.edge_index.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert data.edge_cost.tolist() == [1.0, 2.0, 3.0]
    assert (data.pos + data.pos_origin).tolist() == [[0, 0], [1, 1], [2, 4]]
    assert data.node_id.tolist() == ['a', 'b', 'c']
    assert data.num_nodes == 3
    both = from_networkx(ring(nx.Graph))
    assert both.num_edges == 6
    assert both.edge_cost.tolist() == [1, 3, 1, 2, 3, 2]


def test_integer_labels_are_a_tensor():
    graph = nx.relabel_nodes(ring(), {'a': 7, 'b': -3, 'c': 2**62})
    data = from_networkx(graph)
    assert data.node_id.dtype == torch.long
    assert data.node_id.tolist() == [7, -3, 2**62]
    graph = nx.relabel_nodes(ring(), {'a': True, 'b': 0, 'c': 5})
    assert from_networkx(graph).node_id.tolist() == [True, 0, 5]


# Costs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    'name',
    ['weight', 'cost', 'length', 'travel_time', 'distance', 'time', 'Weight'],
)
def test_names_of_costs(name):
    graph = ring()
    for *_, values in graph.edges(data=True):
        values[name] = values.pop('weight')
    assert from_networkx(graph).edge_cost.tolist() == [1, 2, 3]


def test_named_cost_wins():
    graph = ring()
    for *_, values in graph.edges(data=True):
        values['minutes'] = str(2 * values['weight'])
        values['length'] = 9
    assert from_networkx(graph, 'minutes').edge_cost.tolist() == [2, 4, 6]
    assert from_networkx(graph, 'length').edge_cost.tolist() == [9, 9, 9]
    with pytest.raises(BCMError, match=r"\['weight', 'length'\]: name one"):
        from_networkx(graph)


def test_cost_as_a_function_of_both_ways():
    data = from_networkx(
        ring(nx.Graph), lambda tail, head, values: ord(tail) - ord('a')
    )
    assert data.edge_cost.tolist() == [0, 0, 1, 1, 2, 2]


def test_straight_line_length():
    data = from_networkx(ring(), 'length')
    want = [2**0.5, 10**0.5, 20**0.5]
    assert data.edge_cost.tolist() == pytest.approx(want, rel=1e-6)


def test_no_cost():
    graph = ring()
    for *_, values in graph.edges(data=True):
        del values['weight']
    with pytest.raises(BCMError, match=r"no edge costs.*have \['tags'\]"):
        from_networkx(graph)
    with pytest.raises(
        BCMError,
        match=r"has no 'minutes' .* have \['tags'\]",
    ):
        from_networkx(graph, 'minutes')


@pytest.mark.parametrize(
    ('value', 'message'),
    [
        (None, "edge 'b' -> 'c' has no 'weight' .1 of 3"),
        ('fast', "edge 'b' -> 'c': 'weight' must be .* .got 'fast'"),
        (float('nan'), 'finite number .got nan'),
        ('inf', "finite number .got 'inf'"),
        ([1, 2], r'finite number .got \[1, 2\]'),
        ([1], r'finite number .got \[1\]'),
        (1j, 'finite number'),
        (10**400, 'finite number'),
        (-1, "edge 'b' -> 'c': 'weight' must not be negative .got -1"),
    ],
)
def test_bad_costs(value, message):
    graph = ring()
    graph.edges['b', 'c']['weight'] = value
    with pytest.raises(BCMError, match=message):
        from_networkx(graph)
    del graph.edges['b', 'c']['weight']
    with pytest.raises(BCMError, match="'b' -> 'c' has no 'weight'"):
        from_networkx(graph)


def test_cost_of_a_wrong_type():
    with pytest.raises(BCMError, match="edge attribute, 'length' or a func"):
        from_networkx(ring(), 3)
    with pytest.raises(BCMError, match="edge attribute, 'length' or a func"):
        from_networkx(ring(), np.ones(3))


# Positions -------------------------------------------------------------------


@pytest.mark.parametrize('graph', [None, [(0, 1)], 'roads.graphml'])
def test_no_graph(graph):
    with pytest.raises(BCMError, match='expected a networkx graph'):
        from_networkx(graph)


@pytest.mark.parametrize('kind', KINDS)
def test_nothing_to_plan(kind):
    with pytest.raises(BCMError, match='no edges'):
        from_networkx(kind())
    graph = kind()
    graph.add_node('a', pos=(0, 0))
    with pytest.raises(BCMError, match='no edges'):
        from_networkx(graph)
    graph.add_edge('a', 'a', weight=1)
    with pytest.raises(BCMError, match='no edges'):
        from_networkx(graph)


def test_ragged_attributes_do_not_matter():
    graph = ring(nx.MultiDiGraph)
    graph.add_edge('a', 'b', weight=0.5, shape=object(), oneway=None)
    graph.nodes['a']['highway'] = ['a', {}]
    graph.nodes['b'][('a', 'tuple')] = 1
    graph.edges['a', 'b', 0][5] = 1
    data = from_networkx(graph)
    assert data.edge_cost.tolist() == [0.5, 2, 3]
    assert sorted(data.keys()) == [
        'coord',
        'edge_cost',
        'edge_index',
        'node_id',
        'num_nodes',
        'pos',
        'pos_origin',
    ]


def test_float32_is_good_to_a_centimetre_far_from_the_origin():
    graph = ring()
    for node in graph:
        graph.nodes[node]['y'] += 4_705_000.25
    data = from_networkx(graph)
    want = [[0, 4705000.25], [1, 4705001.25], [2, 4705004.25]]
    assert (data.pos + data.pos_origin).tolist() == want


@pytest.mark.parametrize('make', [np.array, torch.tensor, list])
def test_numbers_of_any_make(make):
    graph = with_nodes('pos')
    for _, values in graph.nodes(data=True):
        values['pos'] = make(values['pos'])
    if make is not list:
        for *_, values in graph.edges(data=True):
            values['weight'] = make(values['weight'])
    assert_same_data(from_networkx(graph), from_networkx(ring()))

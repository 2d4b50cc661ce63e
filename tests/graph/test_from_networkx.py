import copy
import warnings
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import assert_same_data
from hypothesis import given, settings
from hypothesis import strategies as st

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import find_nodes, from_networkx, source_routes

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
    starts = find_nodes(data, labels).repeat_interleave(len(labels))
    goals = find_nodes(data, labels).repeat(len(labels))
    plan = Dijkstra(data)(starts, goals)
    routes = source_routes(plan, data)
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
        assert find_nodes(other, list(graph)).tolist() == list(
            range(len(graph))
        )
        assert_same_data(planning_graph(other), data)


def ring(kind: type = nx.DiGraph) -> nx.Graph:
    """a -> b -> c -> a, with costs 1, 2, 3."""
    graph = kind()
    for place, node in enumerate('abc'):
        graph.add_node(node, x=float(place), y=place**2, name=node)
    for cost, (tail, head) in enumerate(['ab', 'bc', 'ca'], start=1):
        graph.add_edge(tail, head, weight=cost, tags=['x'] * cost)
    return graph


def with_nodes(*names: str) -> nx.Graph:
    """The ring, its positions under other names."""
    graph = ring()
    for _, values in graph.nodes(data=True):
        place = values.pop('x'), values.pop('y')
        places = [place] if len(names) == 1 else place
        values.update(zip(names, places, strict=True))
    return graph


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
    with pytest.raises(BCMError, match=r"'a' -> 'b' has no 'minutes' \(3 of 3"):
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
    with pytest.raises(BCMError, match='name of an edge attribute or a func'):
        from_networkx(ring(), 3)
    with pytest.raises(BCMError, match='name of an edge attribute or a func'):
        from_networkx(ring(), np.ones(3))


# Positions -------------------------------------------------------------------


@pytest.mark.parametrize(
    'names',
    [
        ('pos',),
        ('coordinates',),
        ('Position',),
        ('x', 'y'),
        ('X', 'Y'),
        ('easting', 'northing'),
    ],
)
def test_names_of_positions(names):
    assert_same_data(from_networkx(with_nodes(*names)), from_networkx(ring()))


@pytest.mark.parametrize(
    'names',
    [('lon', 'lat'), ('lng', 'lat'), ('Longitude', 'Latitude')],
)
def test_degrees_are_warned_of(names):
    graph = with_nodes(*names)
    with pytest.warns(UserWarning, match='degrees.*project=True') as caught:
        data = from_networkx(graph)
    assert caught[0].filename == __file__
    assert data.lonlat.tolist() == [[0, 0], [1, 1], [2, 4]]
    assert data.lonlat.dtype == torch.double
    assert (data.pos + data.pos_origin).tolist() == data.lonlat.tolist()
    with pytest.warns(UserWarning, match='degrees'):
        assert_same_data(from_networkx(graph, pos=names), data)
    metres = from_networkx(graph, project=True)
    assert metres.lonlat.tolist() == data.lonlat.tolist()
    north = metres.pos[:, 1] - metres.pos[0, 1]
    assert north.tolist() == pytest.approx([0, 111195, 444780], rel=1e-4)
    assert_same_data(from_networkx(graph, pos=names, project=True), metres)


@pytest.mark.parametrize(
    'names',
    [('lat', 'lon'), ('lat', 'lng'), ('Latitude', 'Longitude'), ('y', 'x')],
)
def test_latitudes_may_be_named_first(names):
    graph = with_nodes(*names[::-1])
    want = from_networkx(graph, pos=names[::-1], project=True)
    assert_same_data(from_networkx(graph, pos=names, project=True), want)
    if names == ('y', 'x'):  # may be anything, unless they are projected
        assert 'lonlat' not in from_networkx(graph, pos=names)
        return
    with pytest.warns(UserWarning, match='degrees'):
        data = from_networkx(graph, pos=names)
    assert data.lonlat.tolist() == [[0, 0], [1, 1], [2, 4]]
    assert (data.pos + data.pos_origin).tolist() == [[0, 0], [1, 1], [4, 2]]


def test_planar_coordinates_come_before_degrees():
    graph = ring()
    for node in graph:
        graph.nodes[node].update(lon=5.0, lat='6')
    data = from_networkx(graph)
    assert torch.equal(data.pos, from_networkx(ring()).pos)
    assert data.lonlat.tolist() == [[5, 6]] * 3
    projected = from_networkx(graph, project=True)
    assert projected.pos.tolist() == [[0, 0]] * 3
    assert projected.lonlat.tolist() == [[5, 6]] * 3


@pytest.mark.parametrize(
    'bad',
    [
        {'lon': float('nan'), 'lat': 1.0},
        {'lon': '', 'lat': ''},
        {'long': 'a long description', 'lat': 'x'},
    ],
)
def test_bad_degrees_do_not_matter_beside_positions(bad):
    graph = ring()
    for node in graph:
        graph.nodes[node].update(bad)
    want = from_networkx(ring())
    assert_same_data(from_networkx(graph), want)
    assert_same_data(from_networkx(graph, pos=('x', 'y')), want)
    with pytest.raises(BCMError, match="'a': 'lon.*must be a finite number"):
        from_networkx(graph, project=True)
    for node in graph:
        graph.nodes[node].update(longitude=5.0, latitude=6.0)
    assert from_networkx(graph).lonlat.tolist() == [[5, 6]] * 3


def test_plain_coordinates_can_be_projected():
    by_name = from_networkx(with_nodes('lon', 'lat'), project=True)
    assert_same_data(from_networkx(ring(), project=True), by_name)
    far = {node: (0, 91) for node in 'abc'}
    with pytest.raises(BCMError, match='degrees of longitude and latitude'):
        from_networkx(ring(), pos=far, project=True)


def test_a_third_axis():
    graph = ring()
    for node in 'ab':
        graph.nodes[node]['z'] = 5
    assert from_networkx(graph).pos.shape == (3, 2)
    graph.nodes['c']['z'] = 6
    assert from_networkx(graph).pos[:, 2].tolist() == [-0.5, -0.5, 0.5]
    assert from_networkx(graph, pos=['z', 'x']).pos.shape == (3, 2)
    assert from_networkx(graph, pos='z').pos.shape == (3, 1)


def test_positions_from_a_dictionary():
    graph = nx.grid_2d_graph(3, 4)
    data = from_networkx(graph, lambda *edge: 1, {n: n for n in graph})
    assert data.coord.tolist() == [list(node) for node in graph]
    assert data.num_edges == 2 * graph.number_of_edges()
    layout = nx.circular_layout(graph)
    assert from_networkx(graph, lambda *edge: 1, layout).num_nodes == 12
    with pytest.raises(BCMError, match=r"node \(0, 0\) has no 'pos'"):
        from_networkx(graph, lambda *edge: 1, {})
    with pytest.raises(BCMError, match='no coordinates.*pos={node: node'):
        from_networkx(graph, lambda *edge: 1)


def test_two_candidates_must_agree():
    graph = ring()
    for _, values in graph.nodes(data=True):
        values['pos'] = [values['x'], values['y']]
    assert_same_data(from_networkx(graph), from_networkx(ring()))
    graph.nodes['b']['pos'] = [0, 0]
    with pytest.raises(BCMError, match=r"differ: 'pos', \('x', 'y'\)"):
        from_networkx(graph)
    assert from_networkx(graph, pos=('x', 'y')).num_nodes == 3


@pytest.mark.parametrize(
    ('value', 'message'),
    [
        (None, "node 'b' has no 'pos'"),
        ('(1, 2)', "node 'b': 'pos' must hold finite coordinates"),
        ([1, float('inf')], 'finite coordinates'),
        ([], 'finite coordinates'),
        ([1, 2, 3], "node 'b': 'pos' has 3 coordinates, others have 2"),
        ([1, None], 'finite coordinates'),
    ],
)
def test_bad_positions(value, message):
    graph = with_nodes('pos')
    graph.nodes['b']['pos'] = value
    with pytest.raises(BCMError, match=message):
        from_networkx(graph)


@pytest.mark.parametrize(
    'other',
    [{'position': 'stop 1'}, {'coords': None}, {'pos': (1, float('nan'))}],
)
def test_attributes_of_other_meaning_do_not_matter(other):
    graph = nx.Graph()
    graph.add_node('a', x=0, y=1, **other)
    graph.add_node('b', x=3, y=5)
    graph.add_edge('a', 'b')
    data = from_networkx(graph, 'length')
    assert data.edge_cost.tolist() == [5, 5]
    for node in graph:
        del graph.nodes[node]['x']
    with pytest.raises(BCMError, match=r'Name other coordinates with pos=\.'):
        from_networkx(graph, 'length')
    for node in graph:
        graph.nodes[node].update({'lon': 24.0, 'lat': 60.0})
    with pytest.warns(UserWarning, match='the coordinates are degrees'):
        assert from_networkx(graph, 'length').edge_cost.tolist() == [0, 0]


@pytest.mark.parametrize('bad', [None, 'oops'])
def test_a_bad_axis_is_not_made_up_for_by_another_name(bad):
    graph = nx.Graph()
    graph.add_node(0, x=0, y=0, coord=0)
    graph.add_node(1, x=bad, y=4, coord=1)
    graph.add_edge(0, 1)
    with pytest.raises(BCMError, match="node 1.*'x'"):
        from_networkx(graph, 'length')


def test_degrees_by_the_reference_system():
    graph = nx.MultiDiGraph(crs='epsg:4326')
    graph.add_node(0, x=24.9412, y=60.17)
    graph.add_node(1, x=24.9416, y=60.17)
    graph.add_edge(0, 1, length=22.0)
    with pytest.warns(UserWarning, match='the coordinates are degrees'):
        data = from_networkx(graph)
    assert data.lonlat.tolist() == [[24.9412, 60.17], [24.9416, 60.17]]
    for node in graph:
        graph.nodes[node]['z'] = 5.0 + node
    with pytest.warns(UserWarning, match='the coordinates are degrees'):
        assert from_networkx(graph).lonlat.tolist() == data.lonlat.tolist()
    graph.graph['crs'] = '+proj=utm +zone=35'
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert 'lonlat' not in from_networkx(graph)
        graph.graph['crs'] = 'epsg:3857'  # a number tells nothing
        assert 'lonlat' not in from_networkx(graph)
        graph.graph['crs'] = 'epsg:4326'
        for node in graph:
            graph.nodes[node].update({'lon': 24.0 + node, 'lat': 60.0})
        data = from_networkx(graph)
        assert data.lonlat.tolist() == [[24, 60], [25, 60]]


def test_missing_positions():
    graph = ring()
    del graph.nodes['c']['y']
    with pytest.raises(BCMError, match="node 'c' has no 'y'"):
        from_networkx(graph)
    graph = with_nodes('lon', 'lat')
    del graph.nodes['c']['lat']
    with pytest.raises(BCMError, match="node 'c' has no 'lat'"):
        from_networkx(graph)
    with pytest.raises(BCMError, match='pos must be the name'):
        from_networkx(graph, pos=3)
    with pytest.raises(BCMError, match='pos must be the name'):
        from_networkx(graph, pos=())


# Graphs ----------------------------------------------------------------------


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
    graph.add_edge('a', 'b', weight=0.5, geometry=object(), oneway=None)
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

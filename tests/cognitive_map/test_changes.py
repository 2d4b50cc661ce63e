import copy
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_atlas import learn, streets, trained
from small_fits import tiny

from bcm_pyg import BCMError, CognitiveMap
from bcm_pyg.cognitive_map.changes import edge_ids, with_costs
from bcm_pyg.planning import Corridor, VisitedGreedy, choose_corridor

EDGES = list(streets().edges)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(EDGES), unique=True, max_size=30), st.data())
def test_closed_edges_are_never_used(closed: list, data: st.DataObject) -> None:
    """Whatever is still reachable is reached, and bounds are bounds."""
    graph, atlas = streets(), trained()
    before = atlas.routes(atlas.names, atlas.names[::-1])
    view = atlas.close(closed)
    graph.remove_edges_from(closed)
    names = st.sampled_from(atlas.names)
    starts = data.draw(st.lists(names, min_size=8, max_size=8))
    goals = data.draw(st.lists(names, min_size=8, max_size=8))
    for start, goal, route in zip(
        starts, goals, view.routes(starts, goals), strict=True
    ):
        assert (route.start, route.goal) == (start, goal)
        assert route.success == nx.has_path(graph, start, goal)
        if not route.success:
            assert route.cost == route.lower_bound == float('inf')
            continue
        best = nx.shortest_path_length(graph, start, goal, 'cost')
        assert route.lower_bound <= best * (1 + 1e-5) + 1e-5
        assert route.cost >= best * (1 - 1e-5)
        cost = nx.path_weight(graph, route.nodes, 'cost')  # by open edges only
        assert route.cost == pytest.approx(cost, rel=1e-5)
    after = atlas.routes(atlas.names, atlas.names[::-1])
    assert list(after) == list(before)


def test_a_view_of_a_view() -> None:
    atlas = trained()
    view, closed = atlas, []
    for _ in range(3):
        closed.append(tuple(view.route('a0', 'e4').nodes[:2]))
        view = view.close(closed[-1:])
    route = view.route('a0', 'e4')
    assert not set(closed) & set(
        zip(route.nodes, route.nodes[1:], strict=False)
    )
    assert view.evaluate(20).success_rate == 1
    # Landmarks are found once, also of the simplified graph.
    assert view.planner.bounds.arrays is atlas.planner.bounds.arrays
    assert atlas.data.num_edges == view.data.num_edges + len(set(closed))


def test_close_of_a_map_that_is_not_simplified() -> None:
    atlas = learn(streets(), simplify=False, encoder='gnn')
    edge = tuple(atlas.route('a0', 'e4').nodes[:2])
    view = atlas.close([edge])
    assert view.planner.scorer.hidden is atlas.planner.scorer.hidden
    assert view.route('a0', 'e4').nodes[1] != edge[1]


def test_close_until_exact_search_is_left() -> None:
    atlas = trained()
    core = {atlas.names[node] for node in atlas.simplified.node.tolist()}
    closed = [edge for edge in EDGES if core & set(edge)]
    view = atlas.close(closed)
    assert view.route('chain0', 'chain2').hops == 2
    assert not view.route('a0', 'e4').success
    with pytest.raises(BCMError, match='no edges'):
        atlas.close(EDGES)


def test_update_chooses_a_corridor_anew_but_no_other_readout() -> None:
    atlas = learn(streets())
    atlas.update({}, config=tiny(steps=1), readout=Corridor(30))
    assert atlas.planner.readout == Corridor(30)
    atlas.update({}, config=tiny(steps=1))
    assert atlas.planner.readout == choose_corridor(
        atlas.planner, seed=tiny().seed
    )
    for kept in (Corridor(2, VisitedGreedy()), VisitedGreedy()):
        atlas = atlas.with_readout(kept)
        atlas.update({}, config=tiny(steps=1))
        assert atlas.planner.readout == kept
    with pytest.raises(BCMError, match='readout must be'):
        atlas.update({}, config=tiny(steps=1), readout=5)
    assert atlas.planner.readout == VisitedGreedy()


@pytest.mark.parametrize(
    ('edges', 'match'),
    [
        ([('a0', 'e4')], "no edge from 'a0' to 'e4'"),
        ([('a0', 'nowhere')], 'is not a node'),
        (['a0'], 'pair of names'),
        ([5], 'pair of names'),
        (1, r'edges must be a list of pairs of names, .*got 1\)'),
        ([('a0', 'a1', 0)], 'pair of names'),
    ],
)
def test_bad_edges(edges: object, match: str) -> None:
    with pytest.raises(BCMError, match=match):
        trained().close(edges)


def test_update_by_names_and_in_order() -> None:
    atlas = learn(streets())
    nodes = atlas.route('a0', 'e4').nodes
    history = atlas.update({tuple(nodes[:2]): 50.0}, config=tiny(steps=2))
    assert history.steps == 2 and atlas.history is history
    assert atlas.route(*nodes[:2]).cost < 50
    cost = 2 * atlas.data.edge_cost
    before = atlas.route('b2', 'e4').cost
    atlas.update(cost.numpy(), config=tiny(steps=2))
    assert torch.equal(atlas.data.edge_cost, cost)
    assert atlas.route('b2', 'e4').cost == pytest.approx(2 * before, rel=0.5)
    assert atlas.evaluate(20).success_rate == 1


@pytest.mark.parametrize(
    ('costs', 'match'),
    [
        ({('a0', 'e4'): 1.0}, "no edge from 'a0' to 'e4'"),
        ({('a0', 'b0'): 1.0, ('b0', 'a0'): -1.0}, "got -1.0 from 'b0' to 'a0'"),
        ({('a0', 'b0'): float('nan')}, "got nan from 'a0' to 'b0'"),
        ({('a0', 'b0'): 1e300}, r"got 1e\+300 from 'a0' to 'b0'"),
        ({('a0', 'b0'): 10**999}, "got 10+ from 'a0' to 'b0'"),
        ({('a0', 'b0'): 'x'}, "a number.*got 'x' from 'a0' to 'b0'"),
        ({('a0', 'b0'): '3'}, "a number.*got '3' from 'a0' to 'b0'"),
        ({('a0', 'b0'): [1]}, r"a number.*got \[1\] from 'a0' to 'b0'"),
        ({('a0', 'b0'): [1, 2]}, r"got \[1, 2\] from 'a0' to 'b0'"),
        ({('a0', 'b0'): torch.ones(1)}, r"got tensor.* from 'a0' to 'b0'"),
        ({('a0', 'b0'): 1j}, "got 1j from 'a0' to 'b0'"),
        ({('a0', 'b0'): None}, "got None from 'a0' to 'b0'"),
        ({('a0', 'b0'): True}, "got True from 'a0' to 'b0'"),
        ({'a0': 1.0}, 'pair of names'),
        ([1.0], rf'vector of {len(EDGES)} numbers.*got shape \(1,\)'),
        ([-1.0] * len(EDGES), "got -1.0 from 'a0' to 'a1'"),
        ([1e300] * len(EDGES), r"got 1e\+300 from 'a0' to 'a1'"),
        (3.0, r'vector of .* numbers, .*got shape \(\) of float64'),
        ([1j] * len(EDGES), 'vector of .* numbers, .*of complex'),
        (['x'] * len(EDGES), 'vector of .* numbers, .*got list'),
        ([[1.0], [1.0, 2.0]], 'vector of .* numbers, .*got list'),
        (torch.ones(len(EDGES)).bool(), 'vector of .* numbers, .*of bool'),
        (
            torch.ones(len(EDGES), 1),
            rf'vector of .*got shape \({len(EDGES)}, 1\)',
        ),
        (torch.ones(len(EDGES)).to_sparse(), 'vector of .*got Tensor'),
        (None, 'vector of .* numbers, .*got NoneType'),
    ],
)
def test_bad_costs_change_nothing(costs: object, match: str) -> None:
    atlas = trained()
    before = copy.copy(vars(atlas))
    with pytest.raises(BCMError, match=match):
        atlas.update(costs, budget=1)
    assert all(vars(atlas)[key] is value for key, value in before.items())


@pytest.mark.parametrize(
    'value',
    [2, np.float32(2), np.int64(2), torch.tensor(2.0), np.array(2), 2.0],
)
def test_numbers_of_all_kinds_are_costs(value: object) -> None:
    atlas = learn(streets())
    atlas.update({('a0', 'b0'): value}, config=tiny(steps=1))
    costs = atlas.data.edge_cost
    edge = int(edge_ids([('a0', 'b0')], atlas.data, atlas._names)[0])
    assert costs[edge] == 2
    for same in (costs.tolist(), costs.half(), pd.Series(costs.numpy())[::-1]):
        with_costs(same, atlas.data, atlas._names)
    data = with_costs(costs.double(), atlas.data, atlas._names)
    assert data.edge_cost.dtype == torch.float32


@pytest.mark.parametrize('config', ['x', {'steps': 1}])
def test_update_checks_its_config(config: object) -> None:
    with pytest.raises(BCMError, match='^config must be a FitConfig'):
        trained().update({}, config=config)


def test_a_view_can_be_trained_and_saved(tmp_path) -> None:
    atlas = learn(streets())
    view = atlas.close([tuple(atlas.route('a0', 'e4').nodes[:2])])
    view.update({}, config=tiny(steps=2))
    view.save(tmp_path)
    other = type(view).load(tmp_path)
    assert other.route('a0', 'e4') == view.route('a0', 'e4')
    assert other.data.num_edges == atlas.data.num_edges - 1


def test_costs_that_were_given_may_change_later(tmp_path: Path) -> None:
    atlas = learn(streets())
    costs = atlas.data.edge_cost.numpy().copy()
    atlas.update(costs, config=tiny(steps=1))
    before = atlas.route('a0', 'e4').cost
    costs *= 2
    assert atlas.isochrone('a0', 1e9, exact=True)['e4'] <= before * (1 + 1e-6)
    atlas.save(tmp_path / 'map')
    again = type(atlas).load(tmp_path / 'map')
    assert again.route('a0', 'e4').cost == before


def town(side: int = 4) -> nx.Graph:
    """Two-way streets that networkx holds once, a self-loop, an island."""
    out = nx.grid_2d_graph(side, side)
    for node in out:
        out.nodes[node]['pos'] = node
    nx.set_edge_attributes(out, 1.0, 'minutes')
    out.add_edge((0, 0), (0, 0), minutes=1.0)
    out.add_node('isle', pos=(9, 9))
    out.add_node('reef', pos=(9, 8))
    out.add_edge('isle', 'reef', minutes=1.0)
    return out


@pytest.mark.parametrize('source', ['networkx', 'graphml', 'a folder'])
def test_an_undirected_edge_is_both_directions(
    source: str, tmp_path: Path
) -> None:
    graph = nx.relabel_nodes(town(), str)
    for _, values in graph.nodes(data=True):
        values['x'], values['y'] = map(float, values.pop('pos'))
    if source == 'graphml':
        nx.write_graphml(graph, tmp_path / 'town.graphml')
    atlas = learn(
        tmp_path / 'town.graphml' if source == 'graphml' else graph,
        cost='minutes',
    )
    if source == 'a folder':
        atlas.save(tmp_path / 'map')
        atlas = CognitiveMap.load(tmp_path / 'map')
    one, two = '(0, 1)', '(0, 2)'
    for ends in ((one, two), (two, one)):
        assert atlas.close([(one, two)]).route(*ends).hops == 3
    view = atlas.close([(one, two)]).close([(two, '(0, 3)')])
    assert view.data.num_edges == atlas.data.num_edges - 4
    atlas.update({(one, two): 2.0}, config=tiny(steps=1))
    assert (cost(atlas, one, two), cost(atlas, two, one)) == (2, 2)
    assert atlas.data.edge_cost.sum() == atlas.data.num_edges + 2
    atlas.update({(one, two): 3.0, (two, one): 4.0}, config=tiny(steps=1))
    assert (cost(atlas, one, two), cost(atlas, two, one)) == (3, 4)


def cost(atlas: CognitiveMap, tail: object, head: object) -> float:
    ends = atlas.names.index(tail), atlas.names.index(head)
    found = atlas.data.edge_index.T.tolist().index([*ends])
    return float(atlas.data.edge_cost[found])


def test_costs_of_directions_stay_apart() -> None:
    """Where a function has told directions apart, so do changes."""
    graph = town()
    graph.remove_nodes_from(['isle', 'reef'])
    for by, both in ((lambda u, v, _: 1 + (u < v), False), ('minutes', True)):
        atlas = learn(graph, cost=by)
        assert bool(atlas.data.get('undirected')) == both
        view = atlas.close([((0, 0), (0, 1))])
        assert atlas.data.num_edges - view.data.num_edges == 1 + both


def test_all_edges_of_networkx_may_be_named() -> None:
    graph = town()
    atlas = learn(graph, cost='minutes')
    changed = nx.get_edge_attributes(graph, 'minutes')
    with pytest.raises(BCMError, match='2 nodes outside .* and edges between'):
        atlas.update(changed, config=tiny(steps=1))
    with pytest.raises(BCMError, match=r'those in .names of a CognitiveMap'):
        atlas.close(graph.edges('isle'))
    known = set(atlas.names)
    changed = {ends: 5.0 for ends in changed if known.issuperset(ends)}
    assert ((0, 0), (0, 0)) in changed
    atlas.update(changed, config=tiny(steps=1))
    assert set(atlas.data.edge_cost.tolist()) == {5.0}
    view = atlas.close(graph.edges((0, 0)))
    assert not view.route((0, 0), (3, 3)).success

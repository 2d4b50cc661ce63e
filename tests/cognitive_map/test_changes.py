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

from bcm_pyg import BCMError

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
        ({('a0', 'a0'): 1.0}, "no edge from 'a0' to 'a0'"),
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
    edge = int(atlas._edges([('a0', 'b0')]))
    assert costs[edge] == 2
    for same in (costs.tolist(), costs.half(), pd.Series(costs.numpy())[::-1]):
        atlas._with_costs(same)
    assert atlas._with_costs(costs.double()).edge_cost.dtype == torch.float32


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

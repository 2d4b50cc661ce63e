import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from small_atlas import learn, streets, trained
from small_fits import tiny
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, CognitiveMap, FitConfig, Planner, Route
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.planning import (
    BestFirst,
    Corridor,
    VisitedGreedy,
    choose_corridor,
)
from bcm_pyg.training import History


def cost_of(graph: nx.DiGraph, nodes: list[str]) -> float:
    return nx.path_weight(graph, nodes, 'cost')


def test_route_in_names() -> None:
    graph, atlas = streets(), trained()
    route = atlas.route('end1', 'e4')
    assert isinstance(route, Route)
    assert (route.start, route.goal) == ('end1', 'e4')
    assert route.nodes[:3] == ['end1', 'end0', 'b2'] and route.success
    assert route.cost == pytest.approx(cost_of(graph, route.nodes))
    assert route.hops == len(route.nodes) - 1
    best = nx.shortest_path_length(graph, 'end1', 'e4', 'cost')
    assert 0 < route.lower_bound <= best * (1 + 1e-6)
    assert best <= route.cost * (1 + 1e-6)


def test_parts_and_repr() -> None:
    atlas = trained()
    assert isinstance(atlas.planner, Planner)
    assert atlas.simplified is not None and atlas.model is not None
    assert atlas.data.num_nodes == 30 and atlas.history.steps == 6
    assert set(atlas.names) == set(streets())
    kept = atlas.simplified.node.numel()
    assert str(atlas).startswith(f'CognitiveMap(30 nodes, of which {kept} stay')


def test_many_routes() -> None:
    atlas = trained()
    starts = ['a0', 'chain1', 'b2']
    plan = atlas.routes(starts, 'e4')
    assert [route.start for route in plan] == starts
    assert [route.nodes[-1] for route in plan] == 3 * ['e4']
    for start, route in zip(starts, plan, strict=True):
        assert atlas.route(start, 'e4') == route
    assert atlas.routes('e4', np.array(starts)).success.all()
    assert plan.to_labels() == [route.nodes for route in plan]
    assert len(atlas.routes([], [])) == 0
    with pytest.raises(BCMError, match='same length'):
        atlas.routes(starts, ['a0', 'b0'])


def test_distances_are_those_of_the_planner() -> None:
    atlas = trained()
    names = atlas.names
    matrix = atlas.distance_matrix(names[:3], names)
    pairs = atlas.distance(3 * [names[0]], names[:3])
    assert matrix.shape == (3, 30)
    assert torch.allclose(matrix[0, :3], pairs, rtol=1e-4)
    assert atlas.distance(names[0], names[2]) == pytest.approx(float(pairs[2]))
    assert atlas.distance(names[1], names[1]) == 0


def test_isochrone_and_nearest() -> None:
    graph, atlas = streets(), trained()
    best = nx.single_source_dijkstra_path_length(graph, 'c2', weight='cost')
    near = atlas.isochrone('c2', 4.0, exact=True)
    assert near.keys() == {node for node, cost in best.items() if cost <= 4}
    assert list(near.values()) == sorted(near.values())
    assert near == pytest.approx({node: best[node] for node in near})
    among = ['a0', 'e4', 'end1', 'c3']
    found = atlas.nearest('c2', among, k=2, exact=True)
    assert [name for name, _ in found] == sorted(among, key=best.get)[:2]
    guess = atlas.nearest('c2', among, k=9)
    matrix = atlas.distance_matrix('c2', among)[0]
    assert dict(guess) == pytest.approx(
        dict(zip(among, matrix.tolist(), strict=True)), rel=1e-4
    )
    assert 'c2' in atlas.isochrone('c2', 0)


def test_which_cost() -> None:
    graph = streets()
    for _, _, values in graph.edges(data=True):
        values['toll'] = 2 * values['cost']
    with pytest.raises(BCMError, match=r"has no 'tolls'.*'cost', 'toll'"):
        CognitiveMap.learn(graph, cost='tolls')
    with pytest.raises(BCMError, match=r'or a function \(got ndarray\)'):
        CognitiveMap.learn(graph, cost=np.ones(9))
    best = nx.dijkstra_path_length(graph, 'a0', 'e4', weight='toll')
    atlas = learn(graph, cost='toll')
    assert best <= atlas.route('a0', 'e4').cost * (1 + 1e-6) < 2 * best


def test_two_nodes_that_are_left() -> None:
    """Two towns with three roads between them: nothing to learn."""
    graph = nx.Graph()
    for name in range(2):
        graph.add_node(name, x=float(name), y=0.0)
    for inn in range(2, 5):
        graph.add_node(inn, x=0.5, y=float(inn))
        graph.add_edge(0, inn, cost=float(inn))
        graph.add_edge(inn, 1, cost=1.0)
    atlas = CognitiveMap.learn(graph, budget=1e6)
    assert atlas.model is None
    assert atlas.route(0, 1).nodes == [0, 2, 1]


def test_evaluate() -> None:
    atlas = trained()
    assert atlas.evaluate(20).success_rate == 1
    with pytest.raises(BCMError, match=r'evaluate\(starts, goals\)'):
        atlas.evaluate(goals=['a0'])
    report = atlas.evaluate(['a0', 'b2'], ['e4', 'end1'])
    assert report.num_queries == 2 and report.gap >= 0


def test_plot() -> None:
    pytest.importorskip('matplotlib').use('Agg')
    atlas = trained()
    for routes in (
        atlas.route('a0', 'e4'),
        atlas.routes('a0', ['e4', 'b2']),
        atlas.alternatives('a0', 'e4'),
    ):
        assert len(atlas.plot(routes).lines) > 0
    alone = atlas.plot()
    assert alone.get_legend() is None and len(alone.collections) > 0
    other = learn(np.zeros((3, 3), dtype=bool)).route((0, 0), (2, 2))
    for bad in ([5], 3, 'a0', other):
        with pytest.raises(BCMError, match='routes must be'):
            atlas.plot(bad)
    with pytest.raises(BCMError, match='no routes'):
        atlas.plot([])


def test_geojson_of_routes(tmp_path: Path) -> None:
    atlas = trained()
    route, file = atlas.route('end1', 'e4'), tmp_path / 'route.geojson'
    (feature,) = atlas.to_geojson(route, file)['features']
    assert json.loads(file.read_text())['features'] == [feature]
    assert feature['properties']['start'] == 'end1'
    assert feature['properties']['cost'] == route.cost
    points = [streets().nodes[name] for name in route.nodes]
    assert feature['geometry']['coordinates'] == [
        pytest.approx([point['x'], point['y']], abs=1e-5) for point in points
    ]
    plan = atlas.routes(['a0', 'end1'], ['e4', 'e4'])
    assert atlas.to_geojson(list(plan)) == atlas.to_geojson(plan)
    lost = atlas.close([('b2', 'end0')]).route('e4', 'end1')
    both = atlas.to_geojson([lost, route])['features']
    assert both[0]['geometry'] is None and both[1]['geometry'] is not None
    for bad in (5, [5], []):
        with pytest.raises(BCMError, match='routes'):
            atlas.to_geojson(bad)
    with pytest.raises(BCMError, match='is a folder'):
        atlas.to_geojson(route, tmp_path)


def test_a_page_needs_a_file(tmp_path: Path) -> None:
    for path in (tmp_path, '.', tmp_path / 'none' / 'page.html'):
        with pytest.raises(BCMError, match='cannot write'):
            trained().explore(path)
    assert list(tmp_path.iterdir()) == []


def test_a_graph_without_coordinates(tmp_path: Path) -> None:
    graph = streets()
    for node in graph:
        graph.nodes[node].clear()
    with pytest.warns(UserWarning, match='no coordinates'):
        atlas = learn(graph)
    assert learn(graph, encoder='node_table').route('a0', 'e4').success
    atlas.save(tmp_path / 'map')
    atlas = CognitiveMap.load(tmp_path / 'map')
    best = nx.shortest_path_length(graph, 'end1', 'e4', 'cost')
    route = atlas.route('end1', 'e4')
    assert route.success and route.cost >= best * (1 - 1e-6)
    assert atlas.evaluate(20).success_rate == 1
    assert atlas.close([('a0', 'b0')]).route('a0', 'e4').success
    for draw in (atlas.plot, atlas.to_geojson):
        with pytest.raises(BCMError, match='no coordinates found, but'):
            draw(route)
    with pytest.raises(BCMError, match='no coordinates'):
        atlas.explore(tmp_path / 'page.html')


@pytest.mark.parametrize('length', [1, 4])
def test_trees_and_rings_are_searched(length: int) -> None:
    make = nx.path_graph if length == 1 else nx.cycle_graph
    graph = make(5)
    for node in graph:
        graph.nodes[node]['pos'] = (float(node), float(node % 2))
    nx.set_edge_attributes(graph, 1.5, 'cost')
    atlas = CognitiveMap.learn(graph, budget=0)
    assert isinstance(atlas.planner, Dijkstra) and atlas.model is None
    assert atlas.route(0, 4).cost == (6 if length == 1 else 1.5)
    assert atlas.distance(0, 4) == atlas.distance_matrix(0, 4).item()
    assert atlas.close([(0, 4)] if length > 1 else []).route(0, 4).cost == 6
    assert atlas.nearest(0, [3, 1], k=1) == [(1, 1.5)]
    assert atlas.update({(0, 1): 0.5}).steps == 0
    assert atlas.route(0, 1).cost == 0.5
    assert atlas.evaluate(10).gap == 0


def test_integers_are_names() -> None:
    """Labels 1 to 16 are also positions, but of other nodes."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4), 1)
    for node in graph:
        graph.nodes[node]['pos'] = divmod(node - 1, 4)
    nx.set_edge_attributes(graph, 1.0, 'cost')
    atlas = learn(graph)
    assert atlas.route(1, 4).nodes == [1, 2, 3, 4]
    assert atlas.route(np.int64(1), torch.tensor(4)).hops == 3
    plan = atlas.routes(np.array([1, 13]), torch.tensor([4, 16]))
    assert [route.nodes[0] for route in plan] == [1, 13]
    assert dict(atlas.isochrone(1, 1, exact=True)) == {1: 0, 2: 1, 5: 1}
    assert atlas.nearest(1, [16, 2], exact=True) == [(2, 1.0), (16, 6.0)]
    assert atlas.close([(1, 2)]).route(1, 2).hops == 3
    with pytest.raises(BCMError, match='0 is not a node'):
        atlas.route(0, 1)


def test_positions_where_there_are_no_names() -> None:
    data = weighted_grid('ushape', side=10, costs='mild', seed=1)
    atlas = learn(data)
    free = (~data.blocked).nonzero().squeeze(1)
    assert atlas.names == free.tolist()  # blocked cells are dropped
    assert atlas.data.dropped_nodes == int(data.blocked.sum())
    assert atlas.route(0, 99).nodes[-1] == 99


def test_what_would_not_pay_is_not_simplified() -> None:
    data = weighted_grid('open', side=10, costs='mild', seed=1)
    assert learn(data).simplified is None  # all but four corners would stay


def test_occupancy_is_called_by_cells() -> None:
    wall = np.zeros((5, 5), dtype=np.uint8)
    wall[1:, 2] = 1
    atlas = learn(wall)
    route = atlas.route((4, 0), (4, 4))
    assert (0, 2) in route.nodes and route.nodes[0] == (4, 0)
    assert len(atlas.routes([(4, 0), (0, 0)], (4, 4))) == 2
    assert len(atlas.routes(((4, 0), (0, 0)), np.array([[4, 4], [1, 0]]))) == 2
    assert atlas.distance((4, 0), (4, 0)) == 0


def test_settings_are_passed_on() -> None:
    atlas = learn(
        streets(), encoder='one_hot', readout='best_first', simplify=False
    )
    assert type(atlas.model.encoder).__name__ == 'OneHotEncoder'
    assert str(atlas.planner.readout).startswith('BestFirst')
    assert atlas.simplified is None


@pytest.mark.parametrize(
    ('settings', 'match'),
    [
        ({'readout': 'zigzag'}, "readout 'zigzag' is not one of"),
        ({'readout': 5}, 'readout'),
        ({'config': 5}, r'config must be a FitConfig \(got 5\)'),
        ({'budget': 'long'}, 'budget must be'),
        ({'snapshots': -1}, 'snapshots must be'),
        ({'encoder': 'no'}, "unknown encoder 'no'"),
    ],
)
def test_bad_settings_are_found_before_training(
    settings: dict, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*args: object, **kwargs: object) -> None:
        pytest.fail('it was trained')

    monkeypatch.setattr('bcm_pyg.cognitive_map.cognitive_map.fit', fit)
    with pytest.raises(BCMError, match=match):
        CognitiveMap.learn(streets(), **settings)


def test_how_to_train(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def fit(model: BCM, data: Data, config: FitConfig, **_: object) -> History:
        used.append(config)
        return History()

    monkeypatch.setattr('bcm_pyg.cognitive_map.cognitive_map.fit', fit)
    learn = CognitiveMap.learn
    with pytest.warns(UserWarning, match='untrained, .* budget above 0'):
        atlas = learn(streets(), readout='corridor')
        learn(streets(), 10, seed=7, readout='greedy')
        learn(streets(), steps=3, readout='corridor')
        learn(streets(), config=tiny(steps=3), lr=1.0, readout='corridor')
        atlas.update({})
        atlas.update({}, 5, steps=4)
    assert [(x.time_budget, x.steps, x.seed) for x in used] == [
        (300, None, 0),
        (10, None, 7),
        (None, 3, 0),
        (None, 3, 0),
        (60, None, 0),
        (5, 4, 0),
    ]
    assert [x.regret for x in used] == [0, None, 0, None, 0, 0]
    assert used[3].lr == 1


@pytest.mark.parametrize(
    ('settings', 'match'),
    [
        ({'snapshots': -1}, 'snapshots must be'),
        ({'snapshots': 1.5}, 'snapshots must be'),
        ({'budget': -1}, r'^budget must be finite and non-neg.*got -1'),
        ({'budget': 9, 'config': FitConfig()}, 'not used beside a config'),
        ({'seed': 0, 'config': FitConfig()}, 'not used beside a config'),
        ({'budget': 9, 'time_budget': 9}, 'time_budget is given twice'),
        ({'stepps': 9}, "a keyword must be one of .*got 'stepps'"),
        ({'encoder': 'no'}, "unknown encoder 'no'"),
        ({'encoder': 'landmark+no'}, "unknown encoder 'no'"),
    ],
)
def test_bad_settings_are_found_where_there_is_nothing_to_learn(
    settings: dict, match: str, tmp_path: Path
) -> None:
    towns = nx.path_graph(5)
    for node in towns:
        towns.nodes[node]['pos'] = (float(node), 0.0)
    nx.set_edge_attributes(towns, 1.5, 'cost')
    with pytest.raises(BCMError, match=match):
        CognitiveMap.learn(towns, **settings)
    atlas = CognitiveMap.learn(towns, encoder='landmark+one_hot', snapshots=2)
    with pytest.raises(BCMError, match='^config must be a FitConfig'):
        atlas.update({}, config='x')
    with pytest.raises(BCMError, match='nothing to learn: exact search ans'):
        atlas.explore(tmp_path / 'page.html')


def test_same_seed_same_map_and_random_numbers_stay() -> None:
    before = torch.get_rng_state()
    first, again = learn(streets()), learn(streets())
    assert torch.equal(before, torch.get_rng_state())
    ends = first.names, first.names[::-1]
    assert torch.equal(first.distance(*ends), again.distance(*ends))


def test_labels_of_a_pyg_graph_are_names() -> None:
    data = weighted_grid('open', side=4, costs='mild', seed=1)
    data.node_id = [f'corner {number}' for number in range(16)]
    atlas = CognitiveMap.learn(data, steps=2, readout='corridor')
    route = atlas.route('corner 0', 'corner 15')
    assert route.success and route.nodes[0] == 'corner 0'


@pytest.mark.parametrize(
    ('graph', 'match'),
    [
        (Data(), 'no edge_index'),
        (nx.Graph(), 'no edges'),
        (np.full((3, 3), 2), 'occupancy array must hold'),
        (np.full((3, 3), 0.5), r'got 0.5\): pass a mask, such as array > 0.5'),
        (np.zeros(4, dtype=bool), 'two or more dimensions'),
        ('missing.npz', 'there is no file'),
        ('streets.txt', 'is not a graph file'),
        (None, 'a PyG Data, a networkx graph'),
        (nx.DiGraph([(0, 1)]), 'no edge costs'),
    ],
)
def test_bad_graphs(graph: object, match: str) -> None:
    with pytest.raises(BCMError, match=match):
        CognitiveMap.learn(graph, budget=1)


@pytest.mark.parametrize('readout', [None, 'corridor', 'greedy'])
def test_training_suits_the_readout(readout: str | None) -> None:
    """A corridor needs right distances, a walk right choices."""
    atlas = CognitiveMap.learn(streets(), 0.01, readout=readout, progress=False)
    for _ in range(2):
        regret = atlas.model.info.training['config']['regret']
        assert (regret > 0) == (readout == 'greedy')
        atlas.update({('a0', 'a1'): 9.0}, 0.01, progress=False)


def test_another_readout() -> None:
    graph, atlas = streets(), learn(streets())
    walks = atlas.with_readout('visited_greedy')
    assert walks.planner.readout == VisitedGreedy()
    assert isinstance(atlas.planner.readout, Corridor)
    assert walks.model is atlas.model and walks.data is atlas.data
    assert walks.planner.scorer is atlas.planner.scorer
    proven = walks.with_readout(Corridor(0), epsilon=0)
    for _ in range(2):
        for route in proven.routes(proven.names, 'e4'):
            best = nx.shortest_path_length(graph, route.start, 'e4', 'cost')
            assert route.cost == pytest.approx(best)
        changed = {edge: 2 + len(edge[1]) for edge in graph.edges}
        nx.set_edge_attributes(graph, changed, 'cost')
        proven.update(changed, config=tiny(steps=1))
    assert proven.close([('a0', 'a1')]).planner.epsilon == 0
    with pytest.raises(BCMError, match='readout'):
        atlas.with_readout('sideways')
    tree = CognitiveMap(atlas.data)
    assert tree.with_readout('greedy').route('a0', 'e4').success


def test_a_map_of_the_simplified_graph_is_missing_it() -> None:
    atlas = trained()
    hint = 'simplified= of CognitiveMap'
    with (
        pytest.warns(UserWarning, match=hint),
        pytest.raises(BCMError, match=f'nodes .got a graph of .*{hint}'),
    ):
        CognitiveMap(atlas.data, atlas.model)
    atlas = learn(streets(), encoder='interaction')  # it fits any graph
    with pytest.warns(UserWarning, match=hint):
        CognitiveMap(atlas.data, atlas.model)


def test_the_corridor_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    atlas = learn(streets())
    chosen = choose_corridor(Planner(atlas.model, atlas.simplified))
    assert atlas.planner.readout == chosen
    assert learn(streets(), readout='best_first').planner.readout == BestFirst()

    def impatient(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    module = 'bcm_pyg.cognitive_map.cognitive_map'
    monkeypatch.setattr(f'{module}.choose_corridor', impatient)
    assert learn(streets()).planner.readout == Corridor()  # the map is not lost

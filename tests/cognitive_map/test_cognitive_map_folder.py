import json
from dataclasses import asdict, replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import tiny_map
from small_atlas import learn, streets, trained
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, CognitiveMap
from bcm_pyg.graph import from_networkx, simplify_graph
from bcm_pyg.planning import Corridor, VisitedGreedy
from bcm_pyg.training import History


def test_round_trip(tmp_path: Path) -> None:
    atlas = trained()
    atlas.save(tmp_path)
    other = CognitiveMap.load(tmp_path)
    assert str(other) == str(atlas) and other.names == atlas.names
    assert str(asdict(other.history)) == str(asdict(atlas.history))
    ends = atlas.names, atlas.names[::-1]
    assert list(other.routes(*ends)) == list(atlas.routes(*ends))
    assert torch.equal(other.distance(*ends), atlas.distance(*ends))
    assert [str(x) for x in other.snapshots] == [
        str(x) for x in atlas.snapshots
    ]
    for one, two in zip(atlas.snapshots, other.snapshots, strict=True):
        assert one.weights.keys() == two.weights.keys()
        assert all(
            torch.equal(value, two.weights[key])
            for key, value in one.weights.items()
        )
    config = json.loads((tmp_path / 'config.json').read_text())
    assert config['format'] == 'bcm_pyg.cognitive_map'


def test_a_tree(tmp_path: Path) -> None:
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, {node: (node, 0) for node in graph}, 'pos')
    nx.set_edge_attributes(graph, 1.0, 'cost')
    CognitiveMap.learn(graph).save(tmp_path)
    other = CognitiveMap.load(tmp_path)
    assert other.model is None and other.route(3, 0).nodes == [3, 2, 1, 0]


@pytest.mark.parametrize(
    'names',
    [
        ['a', 'ä', '\ud800', ''],
        [1, 2**70, -3, 4],
        [0.5, 1.0, -1e300, 7],
        [(0, 'a'), (0, ('b', 1.5)), 'x', 2],
        [np.int64(4), np.float64(0.25), np.str_('s'), 0],
    ],
)
def test_names_round_trip(names: list, tmp_path: Path) -> None:
    graph = nx.Graph()
    for at, name in enumerate(names):
        graph.add_node(name, pos=(at, 0))
    graph.add_edges_from(zip(names, names[1:], strict=False), cost=1.0)
    atlas = CognitiveMap.learn(graph)
    atlas.save(tmp_path)
    other = CognitiveMap.load(tmp_path)
    assert other.names == atlas.names == names
    assert [type(x) for x in other.names] == [
        type(x.item()) if isinstance(x, (np.generic)) else type(x)
        for x in names
    ]
    assert other.route(names[0], names[3]).nodes == names


@pytest.mark.parametrize(
    'name', [True, 10**200, frozenset('a'), float('inf'), b'']
)
def test_names_that_cannot_be_saved(name: object, tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_node('a', pos=(0, 0))
    graph.add_node(name, pos=(1, 0))
    graph.add_edge('a', name, cost=1.0)
    atlas = CognitiveMap.learn(graph)
    with pytest.raises(BCMError, match='must be strings, finite numbers'):
        atlas.save(tmp_path / 'map')
    assert not (tmp_path / 'map').exists()


def test_other_attributes_and_readout(tmp_path: Path) -> None:
    atlas = learn(streets(), readout=Corridor(2, VisitedGreedy()))
    atlas.data.title = 'a city'
    atlas.data.edge_lanes = torch.arange(atlas.data.num_edges)
    atlas.data.owner = object()  # is left out
    atlas.save(tmp_path, dtype='float16')
    other = CognitiveMap.load(tmp_path)
    assert other.planner.readout == Corridor(2, VisitedGreedy())
    assert other.data.title == 'a city' and 'owner' not in other.data
    assert torch.equal(other.data.edge_lanes, atlas.data.edge_lanes)
    assert other.data.pos_origin is not None
    assert other.model.info.dtype == 'float16'


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        *((name, torch.zeros(3)) for name in ('batch', '_a', 'a b', 'to_dict')),
        *((name, torch.zeros(3)) for name in ('names', 'simplified_nodes')),
        *((name, 'x') for name in ('blocked', 'lonlat', 'dropped_nodes')),
        ('undirected', 'x'),
        *((name, torch.zeros(3)) for name in ('grid_size', 'matrix_axes')),
        ('a', torch.zeros(3, dtype=torch.complex64)),
        ('a', torch.zeros(3, dtype=torch.uint16)),
        ('a', torch.eye(3).to_sparse()),
        *(('a', value) for value in (float('nan'), 10**400, 'a' * 10**6)),
    ],
)
def test_attributes_that_are_left_out(
    name: str, value: object, tmp_path: Path
) -> None:
    data = from_networkx(streets())
    data[name] = value
    atlas = CognitiveMap(data, tiny_map(data))
    atlas.save(tmp_path)
    other = CognitiveMap.load(tmp_path)
    assert name not in other.data and other.simplified is None
    assert other.route('a0', 'e4') == atlas.route('a0', 'e4')


@pytest.mark.parametrize('dtype', ['>f4', 'u4', 'f2', 'longdouble'])
def test_arrays_of_numbers(dtype: str, tmp_path: Path) -> None:
    data = from_networkx(streets())
    data.heights = np.arange(int(data.num_nodes)).astype(dtype)[::-1]
    data.lonlat = np.stack([data.heights, data.heights], axis=1)
    CognitiveMap(data, tiny_map(data)).save(tmp_path)
    found = CognitiveMap.load(tmp_path).data
    assert found.heights.tolist() == data.heights.tolist()
    assert found.lonlat.tolist() == data.lonlat.tolist()


def test_history_without_validation(tmp_path: Path) -> None:
    atlas = trained()
    history = History([3], [0.5], [float('nan')], [float('nan')], [1.0], 3)
    parts = {'simplified': atlas.simplified, 'history': history}
    CognitiveMap(atlas.data, atlas.model, **parts).save(tmp_path)
    found = CognitiveMap.load(tmp_path).history
    assert str(asdict(found)) == str(asdict(history))


def test_readouts_of_users_are_refused(tmp_path: Path) -> None:
    class Mine(Corridor):
        pass

    atlas = trained()
    mine = CognitiveMap(
        atlas.data, atlas.model, simplified=atlas.simplified, readout=Mine()
    )
    with pytest.raises(BCMError, match='only built-in readouts'):
        mine.save(tmp_path)


@pytest.mark.parametrize('simplify', [False, True])
def test_maps_that_were_put_together_by_hand(
    simplify: bool, tmp_path: Path
) -> None:
    data = trained().data
    simplified = simplify_graph(data) if simplify else None
    model = tiny_map(simplified.data if simplified else data)
    assert model.info.fingerprint is None
    atlas = CognitiveMap(data, model, simplified=simplified)
    atlas.save(tmp_path)
    assert model.info.fingerprint is None
    other = CognitiveMap.load(tmp_path)
    ends = atlas.names, atlas.names[::-1]
    assert list(other.routes(*ends)) == list(atlas.routes(*ends))


def test_views_are_not_saved(tmp_path: Path) -> None:
    atlas = trained()
    edge = tuple(atlas.route('a0', 'e4').nodes[:2])
    with pytest.raises(BCMError, match='closed edges'):
        atlas.close([edge]).save(tmp_path)


def _resigned(folder: Path, change) -> None:
    """Changes a config and gives it the digest that it then must have."""
    from bcm_pyg.io.format import config_digest

    path = folder / 'config.json'
    config = json.loads(path.read_text())
    del config['sha256']
    change(config)
    config['sha256'] = config_digest(config)
    path.write_text(json.dumps(config))


@pytest.mark.parametrize(
    'change',
    [
        lambda c: c['graph'].update(num_nodes=5),
        lambda c: c['graph'].update(_store=5),
        lambda c: c['graph'].update(to=5),
        lambda c: c['graph'].update(x=[1]),
        lambda c: c['map'].update(fingerprint='0'),
        lambda c: c['map'].pop('encoder'),
        lambda c: c.update(map=None),
        lambda c: c['history'].update(steps='many'),
        lambda c: c['history'].update(step=[1]),
        lambda c: c['history'].update(loss=5),
        lambda c: c['history'].update(loss=['a', 'b']),
        lambda c: c['readout'].update(name='open'),
        lambda c: c['readout']['settings'].update(radius='wide'),
        lambda c: c['readout']['settings'].update(guide=None),
        lambda c: c['snapshots'].append(5),
        lambda c: c['snapshots'].pop(),
        lambda c: c['snapshots'][0].update(step=-1),
        lambda c: c['snapshots'][0].update(gap='low'),
        lambda c: c.update(more=1),
        lambda c: c['files'].pop('graph'),
    ],
)
def test_changed_configs(change, tmp_path: Path) -> None:
    trained().save(tmp_path)
    _resigned(tmp_path, change)
    try:
        CognitiveMap.load(tmp_path).route('a0', 'e4')
    except BCMError:
        return
    pytest.fail('the folder was accepted')


@pytest.mark.parametrize(
    ('name', 'change'),
    [
        ('names', lambda x: x[:-1]),
        ('names', lambda x: x.flip(0)),
        ('names', lambda x: torch.tensor([*b'{}'], dtype=torch.uint8)),
        ('names', lambda x: torch.tensor([*b'["a"]'], dtype=torch.uint8)),
        ('edge_index', lambda x: x + 1),
        ('edge_index', lambda x: x.float()),
        ('edge_cost', lambda x: -x),
        ('edge_cost', lambda x: x * float('nan')),
        ('pos', lambda x: x[:-1]),
        ('simplified_nodes', lambda x: x + 10**6),
        ('simplified_nodes', lambda x: x[:3]),
        ('simplified_nodes', lambda x: x.float()),
        ('simplified_nodes', lambda x: x.new_zeros(3, 3)),
        ('blocked', lambda x: torch.zeros(3, dtype=torch.bool)),
        ('lonlat', lambda x: torch.zeros(3)),
        ('grid_size', lambda x: torch.zeros(1, 2)),
        ('dropped_nodes', lambda x: torch.zeros(3)),
        ('undirected', lambda x: torch.zeros(3)),
        ('batch', lambda x: torch.zeros(3)),
    ],
)
def test_changed_graphs(name: str, change, tmp_path: Path) -> None:
    from bcm_pyg.cognitive_map.folder import FORMAT
    from bcm_pyg.io import open_folder, pack, write_folder

    trained().save(tmp_path)
    fields = dict.fromkeys(
        ('graph', 'map', 'readout', 'history', 'snapshots'), object
    )
    files = ('graph', 'map', 'snapshots')
    with open_folder(tmp_path, FORMAT, fields, files) as (config, opened):
        tensors = {key: file.read() for key, file in opened.items()}
    tensors['graph'][name] = change(tensors['graph'].get(name))
    contents = {key: pack(value) for key, value in tensors.items()}
    write_folder(tmp_path, FORMAT, config, contents)
    with pytest.raises(BCMError, match='does not hold a readable'):
        CognitiveMap.load(tmp_path)


def test_neither_names_nor_coordinates(tmp_path: Path) -> None:
    """The last node is isolated: no edge tells that it is there."""
    ring = torch.tensor([[0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1]])
    data = Data(edge_index=ring, edge_cost=torch.ones(6), num_nodes=4)
    CognitiveMap(data).save(tmp_path)
    atlas = CognitiveMap.load(tmp_path)
    assert atlas.names == [0, 1, 2, 3]
    assert atlas.route(0, 2).cost == 1 and not atlas.route(0, 3).success


def test_a_folder_without_its_graph(tmp_path: Path) -> None:
    with pytest.raises(BCMError, match='does not hold'):
        CognitiveMap.load(tmp_path / 'nothing')
    trained().model.save(tmp_path / 'map')
    with pytest.raises(BCMError, match='not of format .* use BCM.load$'):
        CognitiveMap.load(tmp_path / 'map')
    trained().save(tmp_path / 'atlas')
    with pytest.raises(BCMError, match='a CognitiveMap: use CognitiveMap.load'):
        BCM.load(tmp_path / 'atlas', trained().simplified.data)
    for path in (tmp_path / 'atlas').glob('graph-*'):
        path.unlink()
    with pytest.raises(BCMError, match='does not hold'):
        CognitiveMap.load(tmp_path / 'atlas')


def test_snapshots_are_maps() -> None:
    atlas = trained()
    assert len(atlas.snapshots) == 2
    assert [x.step for x in atlas.snapshots][-1] == 6
    last = atlas.snapshots[-1].model(atlas.model)
    for name, value in atlas.model.state_dict().items():
        assert torch.allclose(last.state_dict()[name], value, atol=1e-3)
    assert replace(atlas.snapshots[0], step=1).step == 1

import networkx as nx
import numpy as np
import pytest
import torch

from bcm_pyg import BCM, BCMError, FitConfig, Planner, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import (
    from_arrays,
    from_networkx,
    labels_of,
    largest_component,
    nodes_from_labels,
)

POS = [[0.0, 0.5], [1, 0], [2, 0], [3, 0]]
EDGES = [[0, 1, 2], [1, 2, 0]]


def graph(**more: object):
    return from_arrays(POS, EDGES, [1, 2, 3], **more)


@pytest.mark.parametrize(
    'ids',
    [
        [10, 20, 30, 40],
        np.array([10, 20, 30, 40]),
        torch.tensor([10, 20, 30, 40]),
        ['a', 'b', 'c', 'd'],
        np.array(['a', 'b', 'c', 'd']),
        [(0, 0), (0, 1), 'x', None],
    ],
)
def test_there_and_back(ids):
    data = graph(node_id=ids)
    names = ids if isinstance(ids, list) else ids.tolist()
    assert nodes_from_labels(data, names[::-1]).tolist() == [3, 2, 1, 0]
    assert labels_of(data, [3, 0]) == [names[3], names[0]]
    assert labels_of(data, 2) == names[2]
    assert [nodes_from_labels(data, name) for name in names] == [0, 1, 2, 3]
    plan = Dijkstra(data)([0, 1, 0, 3], [2, 0, 3, 3])
    want = [names[:3], [names[1], names[2], names[0]], [], [names[3]]]
    assert plan.to_labels(data) == want


def test_nodes_are_their_own_ids():
    data = graph()
    assert nodes_from_labels(data, [2, 0]).tolist() == [2, 0]
    assert labels_of(data, torch.tensor([3])) == [3]
    assert Dijkstra(data)(0, 2).to_labels(data) == [[0, 1, 2]]
    assert nodes_from_labels(data, []).tolist() == []
    assert nodes_from_labels(data, np.array([1])).tolist() == [1]


def test_after_dropping_nodes():
    data = largest_component(graph(node_id=['a', 'b', 'c', 'd']))
    assert nodes_from_labels(data, ['c']).tolist() == [2]
    with pytest.raises(BCMError, match=r"names\[1\] = 'd' is not a node"):
        nodes_from_labels(data, ['a', 'd'])


def test_networkx_paths():
    maze = nx.grid_2d_graph(4, 4)
    data = from_networkx(maze, lambda *edge: 1, {n: n for n in maze})
    starts, goals = (
        nodes_from_labels(data, [(0, 0)]),
        nodes_from_labels(data, [(3, 2)]),
    )
    (route,) = Dijkstra(data)(starts, goals).to_labels(data)
    assert nx.is_path(maze, route)
    assert len(route) == nx.shortest_path_length(maze, (0, 0), (3, 2)) + 1


@pytest.mark.parametrize(
    ('ids', 'message'),
    [
        ([1, 99], r'^names\[1\] = 99 is not a node'),
        ([[1]], r'^\[1\] is not a node'),
        ('ab', "^'ab' is not a node"),
        (7, '^7 is not a node'),
        (torch.tensor(7), '^7 is not a node'),
        (np.int64(7), '^7 is not a node'),
        ((1, 7), r'names\[1\] = 7 is not a node'),
    ],
)
def test_unknown_ids(ids, message):
    with pytest.raises(BCMError, match=message):
        nodes_from_labels(graph(), ids)


def test_other_errors():
    data = graph(node_id=['a', 'x', 'b', 'c'])
    data.node_id = np.array(['a', 'a', 'b', 'c'], dtype=object)
    with pytest.raises(BCMError, match='same label for several nodes'):
        nodes_from_labels(data, ['b'])
    with pytest.raises(BCMError, match='ids lie in'):
        labels_of(data, [4])
    data.node_id = torch.arange(3)
    with pytest.raises(BCMError, match='one label for each of 4 nodes'):
        labels_of(data, [0])
    data.node_id = 'abcd'
    with pytest.raises(BCMError, match='one label for each of 4 nodes'):
        labels_of(data, [0])
    small = from_arrays(POS[:2], [[0], [1]], [1])
    with pytest.raises(BCMError, match='visits node 2, but data has 2 nodes'):
        Dijkstra(graph())(0, 2).to_labels(small)


@pytest.mark.parametrize('encoder', ['interaction', 'one_hot', 'gnn'])
def test_ids_do_not_disturb_a_map(tmp_path, encoder):
    """Training, planning and saving carry ids of any kind along."""
    maze = nx.grid_2d_graph(4, 4)
    names = {n: (n, 'a') for n in maze}
    maze = nx.relabel_nodes(maze, names)
    data = from_networkx(maze, lambda *edge: 1, {n: n[0] for n in maze})
    model = BCM.from_data(data, encoder)
    fit(model, data, FitConfig(steps=3))
    model.save(tmp_path)
    planner = Planner(BCM.load(tmp_path, data), data)
    plan = planner(nodes_from_labels(data, [((0, 0), 'a')]), [15])
    for route in plan.to_labels(data):
        assert not route or nx.is_path(maze, route)
        assert not route or route[0] == ((0, 0), 'a')
    bare = data.clone()
    del bare.node_id
    want = Planner(model, bare)(0, 15)
    assert plan.nodes.tolist() == want.nodes.tolist()


def test_ids_of_several_numbers():
    ids = np.array([[1, 2], [3, 4], [5, 6]])
    for node_id in (ids, torch.from_numpy(ids), ids.tolist()):
        data = from_arrays(
            np.eye(3), [[0, 1, 2], [1, 2, 0]], [1, 1, 1], node_id=node_id
        )
        assert nodes_from_labels(data, [(3, 4)]).tolist() == [1]
        assert nodes_from_labels(data, (3, 4)) == 1
        assert nodes_from_labels(data, ids[1:]).tolist() == [1, 2]
        assert labels_of(data, [0]) == [(1, 2)]
    with pytest.raises(BCMError, match='node_id must hold labels'):
        nodes_from_labels(graph(node_id=[{}, {}, {}, {}]), [3])


def test_one_label():
    data = graph()
    for label in (2, np.int64(2), torch.tensor(2)):
        node = nodes_from_labels(data, label)
        assert type(node) is int and node == 2
    assert labels_of(data, np.int64(2)) == 2
    assert nodes_from_labels(data, (2, 0)).tolist() == [2, 0]
    plan = Dijkstra(data)(nodes_from_labels(data, 0), [2])
    assert plan.path(0) == [0, 1, 2]

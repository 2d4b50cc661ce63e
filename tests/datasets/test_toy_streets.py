import hashlib

import numpy as np
import torch
import torch_geometric.transforms as T

from bcm_pyg import planning_graph
from bcm_pyg.datasets import ToyStreets
from bcm_pyg.graph import (
    fingerprint,
    labels_of,
    largest_component,
    route_points,
)
from bcm_pyg.transforms import SimplifyGraph, ToPlanningGraph


def test_a_town():
    dataset = ToyStreets()
    assert str(dataset) == 'ToyStreets()' and len(dataset) == 1
    data = dataset[0]
    assert data.validate()
    assert 300 <= data.num_nodes <= 800
    assert fingerprint(planning_graph(data)) == fingerprint(data)
    assert largest_component(data).dropped_nodes == 0
    names = labels_of(data)
    assert len(set(names)) == data.num_nodes
    assert {'Castle Street 5', 'Queen Street 20'} <= set(names)
    pairs = {tuple(edge) for edge in data.edge_index.T.tolist()}
    one_way = [edge for edge in pairs if edge[::-1] not in pairs]
    assert 0.05 < len(one_way) / len(pairs) < 0.3
    degree = data.edge_index[0].bincount(minlength=data.num_nodes)
    ends = [names[node] for node in (degree == 1).nonzero().view(-1).tolist()]
    assert sum(name.endswith('a') for name in ends) > 40


def test_it_is_the_same_every_time():
    first, second = ToyStreets()[0], ToyStreets()[0]
    assert fingerprint(first) == fingerprint(second)
    assert torch.equal(first.bends, second.bends)
    # By metres: processors may differ in the last digits of a sine.
    pos = (first.pos + first.pos_origin).round().long().numpy()
    digest = hashlib.sha256(pos.tobytes()).hexdigest()
    assert digest.startswith('885c68f6c8fa')


def test_costs_are_those_of_the_lines():
    data = ToyStreets()[0]
    for edge in range(0, data.num_edges, 97):
        line = route_points(data, data.edge_index[:, edge])
        length = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
        assert abs(length - data.edge_length[edge]) < 0.01
        speed = 3.6 * length / float(data.edge_cost[edge])
        assert min(abs(speed - limit) for limit in (15, 30, 50)) < 0.01
        assert len(line) == 6
    metres = torch.deg2rad(data.lonlat) * 6_371_008.8
    torch.testing.assert_close(
        metres, data.pos + data.pos_origin, rtol=1e-6, atol=0.01
    )


def test_transforms():
    chain = T.Compose([ToPlanningGraph(cost='edge_length'), SimplifyGraph()])
    data = ToyStreets(transform=chain)[0]
    full = ToyStreets()[0]
    assert data.num_nodes < 0.8 * full.num_nodes
    assert data.simplified.full.num_nodes == full.num_nodes
    assert torch.equal(data.simplified.full.edge_cost, full.edge_length.float())

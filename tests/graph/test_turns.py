import math

import numpy as np
import pytest
import torch
from turn_twins import cross

from bcm_pyg import BCMError
from bcm_pyg.graph import turn_graph


def test_angles():
    seen = {}

    def cost(angle, u, v, w):
        assert angle.shape == u.shape == v.shape == w.shape
        turns = zip(angle, u, v, w, strict=True)
        seen.update({tuple(map(int, t[1:])): float(t[0]) for t in turns})
        return angle.abs()

    turns = turn_graph(cross(), cost)
    assert str(turns) == 'TurnGraph(8 edges, 20 turns)'
    assert len(seen) == 20
    assert seen[3, 0, 1] == pytest.approx(0)  # from west to east
    assert seen[3, 0, 2] == pytest.approx(math.pi / 2)  # to the left
    assert seen[3, 0, 4] == pytest.approx(-math.pi / 2)
    assert abs(seen[3, 0, 3]) == pytest.approx(math.pi)
    assert abs(seen[0, 3, 0]) == pytest.approx(math.pi)
    edge = {tuple(e): n for n, e in enumerate(turns.full.edge_index.T.tolist())}
    found = dict(
        zip(
            map(tuple, turns.data.edge_index.T.tolist()),
            turns.data.edge_cost.tolist(),
            strict=True,
        )
    )
    for (u, v, w), angle in seen.items():
        got = found[edge[u, v], edge[v, w]]
        assert got == pytest.approx(1 + abs(angle), rel=1e-6)


def test_angles_follow_bends():
    """A street from the west that comes into the crossing from the south."""
    raw = cross()
    edge = raw.edge_index.T.tolist().index([3, 0])
    span = torch.zeros(8, 2).long()
    span[edge] = torch.tensor([0, 1])
    raw.edge_bends, raw.bends = span, torch.tensor([[[0.0, -0.5]]])
    seen = {}

    def cost(angle, u, v, w):
        for turn in zip(angle, u, v, w, strict=True):
            seen[tuple(map(int, turn[1:]))] = float(turn[0])
        return 0 * angle

    turn_graph(raw, cost)
    assert seen[3, 0, 2] == pytest.approx(0)
    assert seen[3, 0, 1] == pytest.approx(-math.pi / 2)


def test_names_and_places():
    labels = ['m', 'e', 'n', 'w', 's']
    data = cross(node_id=labels, lonlat=np.full((5, 2), 7.0))
    turns = turn_graph(data, {('w', 'm', 'n'): math.inf, ('w', 'm', 'e'): 2.5})
    assert turns.data.num_nodes == 8 and turns.data.num_edges == 19
    names = turns.data.node_id.tolist()
    assert names[:4] == [('m', 'e'), ('m', 'n'), ('m', 'w'), ('m', 's')]
    place = turns.data.pos + turns.data.pos_origin
    assert place[0].tolist() == pytest.approx([0.75, 0])
    assert turns.data.lonlat[0].tolist() == [7, 7]
    ends = names.index(('w', 'm')), names.index(('m', 'e'))
    pairs = turns.data.edge_index.T.tolist()
    assert float(turns.data.edge_cost[pairs.index([*ends])]) == 3.5
    assert [ends[0], names.index(('m', 'n'))] not in pairs
    assert turn_graph(data, {}).data.num_edges == 20


def test_one_cost_per_turn():
    cost = torch.arange(20.0)
    turns = turn_graph(cross(), cost.numpy())
    torch.testing.assert_close(turns.data.edge_cost, cost + 1)


def test_routes_back_to_nodes():
    turns = turn_graph(cross(), torch.zeros(20))
    edges = turns.full.edge_index.T.tolist()
    one, two = edges.index([3, 0]), edges.index([0, 2])
    routes = torch.tensor([[one, two], [two, -1], [-1, -1]])
    want = [[3, 0, 2], [0, 2, -1], [-1, -1, -1]]
    assert turns.to_nodes(routes).tolist() == want


def test_queries():
    turns = turn_graph(cross(), torch.zeros(20))
    found = turns.queries(torch.tensor([0, 1, 2]), torch.tensor([3, 0, 2]))
    edges = turns.full.edge_index.T.tolist()
    rows = zip(*(x.tolist() for x in found), strict=True)
    got = [(q, edges[a], edges[b], cost) for q, a, b, cost in rows]
    want = [(0, [0, x], [0, 3], 1.0) for x in (1, 2, 3, 4)]
    want += [(1, [1, 0], [x, 0], 1.0) for x in (1, 2, 3, 4)]
    assert got == want


@pytest.mark.parametrize(
    ('cost', 'message'),
    [
        (torch.zeros(19), r'each of 20 turns \(got shape \(19,\)\)'),
        (-torch.ones(20), r'over nodes \[0, 1, 0\] costs -1.0'),
        (torch.full((20,), torch.nan), 'must not be negative or NaN'),
        (lambda *turn: 'x', 'turn_cost must hold numbers'),
        ({(1, 0): 2.0}, 'keys of three labels'),
        ({(1, 2, 3): 2.0}, r'there is no turn \(1, 2, 3\)'),
        ({(1, 0, 9): 2.0}, 'is not a node'),
    ],
)
def test_errors(cost, message):
    with pytest.raises(BCMError, match=message):
        turn_graph(cross(), cost)

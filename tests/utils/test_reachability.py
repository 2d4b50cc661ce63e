import networkx as nx
import torch
from helpers import random_graphs, raw_to_nx
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.utils import Adjacency, Reachability


def reachability(data: Data) -> Reachability:
    return Reachability(Adjacency.from_data(planning_graph(data)))


def test_directed(diamond):
    reach = reachability(diamond)  # a cycle through 0, and node 4 alone
    assert reach.symmetric
    mask = reach.to_goals(torch.tensor([3, 4]))
    assert mask.dtype == torch.bool
    assert mask.T.tolist() == [
        [True, True, True, True, False],
        [False, False, False, False, True],
    ]


def test_one_way_street():
    reach = reachability(
        Data(
            pos=torch.rand(4, 2),
            edge_index=torch.tensor([[0, 1, 1], [1, 0, 2]]),
            edge_cost=torch.tensor([1.0, 0.0, 0.0]),
        )
    )
    assert not reach.symmetric
    assert reach.to_goals(torch.tensor([0, 2, 3])).int().T.tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 0, 0, 1],
    ]
    starts, goals = torch.tensor([0, 2, 2, 1]), torch.tensor([2, 0, 2, 0])
    assert reach.pairs(starts, goals).tolist() == [True, False, True, True]
    empty = torch.empty(0, dtype=torch.long)
    assert reach.pairs(empty, empty).shape == (0,)
    assert reach.to_goals(empty).shape == (4, 0)
    assert reach.strong[0] == reach.strong[1] != reach.strong[2]
    assert reach.weak[0] == reach.weak[2] != reach.weak[3]


def test_undirected_is_symmetric(grid):
    reach = reachability(grid)
    assert reach.symmetric
    free = (~grid.blocked).nonzero().flatten()
    assert bool(reach.to_goals(free)[free].all())
    assert reach.weak.unique().numel() == 1 + int(grid.blocked.sum())


def test_pairs_in_parts(monkeypatch):
    """More goals than fit into one mask give the same answers."""
    data = Data(
        pos=torch.rand(9, 2),
        edge_index=torch.stack([torch.arange(8), torch.arange(1, 9)]),
        edge_cost=torch.ones(8),
    )  # a chain
    reach = reachability(data)
    calls = searches(reach, monkeypatch)
    monkeypatch.setattr(
        'bcm_pyg.utils.adjacency.max', lambda *_: 2, raising=False
    )
    pairs = torch.cartesian_prod(torch.arange(9), torch.arange(9))
    starts, goals = pairs[torch.randperm(81)].T
    assert reach.pairs(starts, goals).tolist() == (starts <= goals).tolist()
    assert calls == [2, 2, 2, 2, 1]


def searches(reach, monkeypatch):
    """The number of goals of each round of searches from now on."""
    calls = []
    search = reach._search

    def spy(goals):
        calls.append(goals.numel())
        return search(goals)

    monkeypatch.setattr(reach, '_search', spy)
    return calls


def test_a_dead_end_costs_the_others_nothing(monkeypatch):
    """A large ring and one way out of it: a search for that way alone."""
    ring = torch.arange(50)
    edge_index = torch.stack([ring, (ring + 1) % 50])
    edge_index = torch.cat([edge_index, torch.tensor([[7], [50]])], 1)
    data = Data(
        pos=torch.rand(51, 2), edge_index=edge_index, edge_cost=torch.ones(51)
    )
    reach = reachability(data)
    calls = searches(reach, monkeypatch)
    assert reach.pairs(ring, ring.flip(0)).all()
    assert sum(calls) == 0
    out = reach.pairs(torch.tensor([3, 50, 4]), torch.tensor([50, 3, 5]))
    assert out.tolist() == [True, False, True]
    assert sum(calls) == 2
    calls.clear()
    mask = reach.to_goals(torch.arange(51))
    assert mask[:50].all() and mask[50].tolist() == [False] * 50 + [True]
    assert calls == [2]


@settings(max_examples=60, deadline=None)
@given(raw=random_graphs())
def test_agrees_with_networkx(raw):
    graph = raw_to_nx(raw)
    reach = reachability(raw)
    nodes = torch.arange(raw.num_nodes)
    want = [
        [int(i == g or nx.has_path(graph, i, g)) for g in graph] for i in graph
    ]
    assert reach.to_goals(nodes).int().tolist() == want
    starts, goals = torch.cartesian_prod(nodes, nodes).T
    pairs = reach.pairs(starts, goals).int().reshape(len(want), -1)
    assert pairs.tolist() == want
    assert reach.symmetric == all(
        want[i][j] == want[j][i] for i in graph for j in graph
    )
    for label, components in (
        (reach.strong, nx.strongly_connected_components(graph)),
        (reach.weak, nx.weakly_connected_components(graph)),
    ):
        got = {
            frozenset((label == one).nonzero().flatten().tolist())
            for one in label.unique()
        }
        assert got == {frozenset(component) for component in components}

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import random_graphs, raw_to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.datasets import sample_queries, weighted_grid


def from_edges(num_nodes: int, edges: list[tuple[int, int]]) -> Data:
    return Data(
        pos=torch.rand(num_nodes, 2),
        edge_index=torch.tensor(edges).T,
        edge_cost=torch.ones(len(edges)),
    )


def as_pairs(starts: torch.Tensor, goals: torch.Tensor) -> list:
    return list(zip(starts.tolist(), goals.tolist(), strict=True))


def mutual_pairs(graph: nx.DiGraph) -> set[tuple[int, int]]:
    return {
        (i, j)
        for i, j in itertools.permutations(graph, 2)
        if nx.has_path(graph, i, j) and nx.has_path(graph, j, i)
    }


def test_on_a_grid(grid):
    starts, goals = sample_queries(grid, 100, seed=1)
    assert starts.shape == goals.shape == (100,)
    assert starts.dtype == goals.dtype == torch.long
    assert not grid.blocked[starts].any() and not grid.blocked[goals].any()
    assert (starts != goals).all()
    graph = nx.from_edgelist(grid.edge_index.T.tolist())
    assert all(nx.has_path(graph, s, g) for s, g in as_pairs(starts, goals))
    assert len(set(as_pairs(starts, goals))) == 100


def test_seeds(grid):
    one, same, other = (sample_queries(grid, 30, seed=s) for s in (1, 1, 2))
    assert as_pairs(*one) == as_pairs(*same)
    assert as_pairs(*one) != as_pairs(*other)
    default = as_pairs(*sample_queries(grid, 30))
    assert default == as_pairs(*sample_queries(grid, 30, seed=42))


def test_same_pairs_in_every_cost_regime():
    pairs = [
        as_pairs(
            *sample_queries(weighted_grid('ushape', 20, costs, seed=seed), 50)
        )
        for costs in ('uniform', 'mild', 'wide', (0, 0))
        for seed in (1, 2)
    ]
    assert len(set(pairs[0])) == 50
    assert all(other == pairs[0] for other in pairs)


def test_every_pair_comes_once():
    edges = [(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3), (2, 5)]
    data = from_edges(7, edges)  # {0, 1, 2}, {3, 4}, a sink and an island
    want = {*itertools.permutations((0, 1, 2), 2), (3, 4), (4, 3)}
    for seed in range(5):
        pairs = as_pairs(*sample_queries(data, 8, seed))
        assert len(pairs) == 8
        assert set(pairs) == want


def test_more_than_there_are():
    data = from_edges(2, [(0, 1), (1, 0)])
    pairs = as_pairs(*sample_queries(data, 64))
    assert len(pairs) == 64
    assert set(pairs) == {(0, 1), (1, 0)}


def test_pairs_are_uniform():
    """Each of six pairs of a triangle, 1,000 times of 6,000 or nearly."""
    data = from_edges(5, [(4, 0), (0, 2), (2, 4), (4, 1)])
    starts, goals = sample_queries(data, 6000)
    pair, count = np.unique(as_pairs(starts, goals), axis=0, return_counts=True)
    assert len(pair) == 6
    assert abs(count - 1000).max() < 150  # five standard deviations


def test_none(grid):
    starts, goals = sample_queries(grid, 0)
    assert starts.shape == goals.shape == (0,)
    assert starts.dtype == torch.long


def test_directed_cycle():
    data = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])
    pairs = set(as_pairs(*sample_queries(data, 12)))
    assert pairs == set(itertools.permutations(range(4), 2))


@settings(max_examples=40, deadline=None)
@given(raw=random_graphs(), seed=st.integers(0, 99))
def test_agrees_with_networkx(raw, seed):
    want = mutual_pairs(raw_to_nx(raw))
    if not want:
        with pytest.raises(BCMError, match='no two nodes'):
            sample_queries(raw, 1, seed)
        return
    some = as_pairs(*sample_queries(raw, len(want) // 2, seed))
    assert len(set(some)) == len(some) and set(some) <= want
    assert set(as_pairs(*sample_queries(raw, len(want), seed))) == want


def test_raw_and_canonical_graphs_share_queries(andorra):
    raw = as_pairs(*sample_queries(andorra, 50))
    assert raw == as_pairs(*sample_queries(planning_graph(andorra), 50))
    graph = nx.DiGraph(andorra.edge_index.T.tolist())
    for start, goal in raw:
        assert nx.has_path(graph, start, goal)
        assert nx.has_path(graph, goal, start)


def test_global_generators_are_left_alone(grid):
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1]
    sample_queries(grid, 10)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)


def test_dag():
    data = from_edges(3, [(0, 1), (1, 2), (0, 2)])
    with pytest.raises(BCMError, match='each other in both directions'):
        sample_queries(data, 1)


@pytest.mark.parametrize(
    ('num', 'message'),
    [
        (-1, 'num must be an int of at least 0 .got -1'),
        (1.0, 'num must be an int of at least 0 .got 1.0'),
        ('3', "num must be an int of at least 0 .got '3'"),
        (None, 'num must be an int'),
        (True, 'num must be an int'),
    ],
)
def test_bad_num(grid, num, message):
    with pytest.raises(BCMError, match=message):
        sample_queries(grid, num)


@pytest.mark.parametrize('seed', [-1, 'x', 1.5])
def test_bad_seed(grid, seed):
    with pytest.raises(BCMError, match=f'seed must be an int .*got {seed!r}'):
        sample_queries(grid, 3, seed)

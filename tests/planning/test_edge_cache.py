from __future__ import annotations

import pytest
import torch
from helpers import integer_map, random_graphs, tiny_map
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.nn import Transition
from bcm_pyg.nn.scoring import pair_scores
from bcm_pyg.planning.edge_cache import BLOCK, EdgeCache
from bcm_pyg.utils import Adjacency

TERMINALS = ['calibrated', 'paper']


def make_cache(model: BCM, data: Data) -> EdgeCache:
    with torch.no_grad():
        hidden = model.hidden(data)
    return EdgeCache(model.transition, hidden, Adjacency.from_data(data))


@torch.no_grad()
def plain_scores(
    cache: EdgeCache, nodes: Tensor, goals: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Edges, rows and scores from the definition, all layers for each edge."""
    edge, row = cache.adjacency.out_edges(nodes)
    head = cache.adjacency.dst[edge]
    hidden = cache.hidden
    score = pair_scores(
        cache.transition, hidden[nodes], hidden[head], hidden[goals], row
    )
    return edge, row, score


@settings(deadline=None, max_examples=30)
@given(graph=random_graphs(), seed=st.integers(0, 999), whole=st.booleans())
def test_scores_are_the_plain_ones(graph: Data, seed: int, whole: bool) -> None:
    data = planning_graph(graph)
    torch.manual_seed(seed)
    model = integer_map(data, 'one_hot', 'paper', seed)
    if not whole:
        model = tiny_map(data)
    cache = make_cache(model, data)
    nodes, goals = torch.randint(data.num_nodes, (2, 25))
    for _ in range(2):  # as they are filled in, and as they are then there
        edge, row, expected = plain_scores(cache, nodes, goals)
        found = cache.scores(nodes, goals, edge, row)
        assert not found.requires_grad
        if whole:  # no rounding
            assert found.tolist() == expected.tolist()
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_scores_are_never_negative(grid: Data) -> None:
    # At the goal they are 0 by construction, up to rounding.
    model = BCM.from_data(grid)
    torch.nn.init.normal_(model.transition.lin3.weight, std=10)
    cache = make_cache(model, grid)
    edge = torch.arange(grid.num_edges)
    nodes, goals = grid.edge_index
    every, row = cache.adjacency.out_edges(nodes)
    score = cache.scores(nodes, goals, every, row)
    assert float(score.min()) >= 0
    at_goal = cache.adjacency.dst[every] == goals[row]
    assert int(at_goal.sum()) == edge.numel()
    scale = float(score.mean())
    assert float(score[at_goal].max()) < 1e-4 * scale


def test_nothing_to_score(diamond: Data) -> None:
    cache = make_cache(BCM.from_data(diamond), diamond)
    none = torch.empty(0, dtype=torch.long)
    assert cache.scores(none, none, none, none).shape == (0,)
    alone = torch.tensor([4])  # isolated
    assert cache.scores(alone, alone, none, none).shape == (0,)


def test_edges_are_filled_in_by_blocks() -> None:
    num_nodes = 5 * BLOCK + 3
    node = torch.arange(num_nodes - 1)
    data = planning_graph(
        Data(
            pos=torch.randn(num_nodes, 2),
            edge_index=torch.stack([node, node + 1]),
            edge_cost=torch.ones(num_nodes - 1),
        )
    )
    model = tiny_map(data)
    cache = make_cache(model, data)
    per_edge = 4 * (model.transition.hidden_channels + 1)
    table = cache.num_bytes()
    assert table == num_nodes * (8 + 4 + 4)  # one column: head, cost, offset
    cache.fill(torch.tensor([BLOCK, BLOCK + 1]))
    assert cache.num_bytes() == table + BLOCK * per_edge
    cache.fill(torch.tensor([2 * BLOCK - 1]))  # is there already
    assert cache.num_bytes() == table + BLOCK * per_edge
    cache.fill(torch.tensor([num_nodes - 2, 0]))
    assert cache.num_bytes() == table + (2 * BLOCK + 2) * per_edge
    cache.fill(torch.arange(num_nodes))
    full = EdgeCache.full_bytes(cache.adjacency, cache.hidden)
    assert full == (num_nodes - 1) * per_edge
    assert cache.num_bytes() == table + full
    cache.fill(torch.arange(num_nodes))
    assert cache.num_bytes() == table + full


def test_the_order_of_filling_changes_nothing(grid: Data) -> None:
    model = BCM.from_data(grid)
    one, two = make_cache(model, grid), make_cache(model, grid)
    one.fill(torch.arange(100))
    for node in torch.randperm(100).split(3):
        two.fill(node)
    assert torch.equal(one.slope, two.slope)
    assert torch.equal(one.offset, two.offset)
    assert torch.equal(one.offsets, two.offsets)


def test_only_for_linear_last_layers() -> None:
    class Rounded(Transition):
        def rest(self, hidden: Tensor) -> Tensor:
            return super().rest(hidden).round()

    class Other(Transition):
        def features(self, hidden: Tensor, inplace: bool = False) -> Tensor:
            return torch.tanh(self.lin2(torch.tanh(hidden)))

    assert EdgeCache.is_exact_for(Transition(4))
    assert EdgeCache.is_exact_for(Other(4))
    assert not EdgeCache.is_exact_for(Rounded(4))


@pytest.mark.parametrize('inplace', [False, True])
def test_features(inplace: bool) -> None:
    transition = Transition(4, 8, 6)
    hidden = torch.randn(5, 8)
    with torch.no_grad():
        expected = transition.rest(hidden)
        feature = transition.features(hidden.clone(), inplace=inplace)
        torch.testing.assert_close(transition.lin3(feature), expected)

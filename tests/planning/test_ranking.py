from __future__ import annotations

import pytest
import torch
from helpers import integer_map, random_graphs, tiny_map
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.planning import MapScorer, ranking
from bcm_pyg.utils import Adjacency

TERMINALS = ['calibrated', 'paper']


def every_query(num_nodes: int) -> tuple[Tensor, Tensor]:
    nodes = torch.arange(num_nodes)
    return nodes.repeat_interleave(num_nodes), nodes.repeat(num_nodes)


def ranks(scorer: MapScorer, nodes: Tensor, goals: Tensor) -> Tensor:
    rank = scorer.ranking
    assert rank is not None
    heads = rank.table.head[nodes]
    return rank(nodes, goals, rank.goal_rows(goals), heads)


def assert_ranks_are_scores(
    model: BCM, data: Data, tolerance: float | None
) -> None:
    """But for a constant for each node and goal, against the plain scores."""
    adjacency = Adjacency.from_data(data)
    scorer = MapScorer(model, data, adjacency, cache=True)
    plain = MapScorer(model, data, adjacency, cache=False)
    assert plain.ranking is None
    nodes, goals = every_query(data.num_nodes)
    found = ranks(scorer, nodes, goals)
    ways = plain(nodes, goals)
    degree = adjacency.degree()
    for query, (node, goal) in enumerate(
        zip(nodes.tolist(), goals.tolist(), strict=True)
    ):
        if node == goal or degree[node] == 0:
            continue  # nobody asks
        score = ways.score[ways.row == query]
        mine = found[query, : score.numel()]
        assert found[query, score.numel() :].eq(float('inf')).all()
        change, expected = mine - mine[0], score - score[0]
        if tolerance is None:
            assert change.tolist() == expected.tolist()
        else:
            torch.testing.assert_close(
                change, expected, rtol=tolerance, atol=tolerance
            )


@pytest.mark.parametrize('terminal', TERMINALS)
@settings(deadline=None, max_examples=15)
@given(graph=random_graphs(8), seed=st.integers(0, 999))
def test_ranks_of_whole_numbers(terminal: str, graph: Data, seed: int) -> None:
    data = planning_graph(graph)
    model = integer_map(data, 'one_hot', terminal, seed)
    assert_ranks_are_scores(model, data, None)


@pytest.mark.parametrize('terminal', TERMINALS)
@settings(deadline=None, max_examples=15)
@given(graph=random_graphs(8), seed=st.integers(0, 999))
def test_ranks(terminal: str, graph: Data, seed: int) -> None:
    torch.manual_seed(seed)
    data = planning_graph(graph)
    model = tiny_map(data, terminal=terminal)
    assert_ranks_are_scores(model, data, 1e-4)


@pytest.mark.parametrize('max_slopes', [1, 7, 50])
def test_chunks(
    grid: Data, max_slopes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = integer_map(grid, 'interaction', 'calibrated', seed=0)
    scorer = MapScorer(model, grid, Adjacency.from_data(grid))
    nodes, goals = torch.randint(100, (2, 40))
    whole = ranks(scorer, nodes, goals)
    monkeypatch.setattr(ranking, 'MAX_SLOPES', max_slopes)
    assert ranks(scorer, nodes, goals).tolist() == whole.tolist()


def test_nobody_asks(grid: Data) -> None:
    scorer = MapScorer(BCM.from_data(grid), grid, Adjacency.from_data(grid))
    none = torch.empty(0, dtype=torch.long)
    assert ranks(scorer, none, none).shape == (0, 4)


def test_chains_have_one_column() -> None:
    data = planning_graph(
        Data(
            pos=torch.randn(4, 2),
            edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]),
            edge_cost=torch.ones(3),
        )
    )
    scorer = MapScorer(tiny_map(data), data, Adjacency.from_data(data))
    rank = ranks(scorer, torch.tensor([0, 1]), torch.tensor([3, 3]))
    assert rank.tolist() == [[0.0], [0.0]]

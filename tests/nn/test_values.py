from __future__ import annotations

import pytest
import torch
from helpers import random_graphs, tiny_map
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.nn import values
from bcm_pyg.nn.values import block_values, pair_values
from bcm_pyg.utils import Adjacency


@torch.no_grad()
def slow_value(model: BCM, data: Data, node: int, goal: int) -> float:
    """The minimum over the neighbours, one at a time."""
    if node == goal:
        return 0.0
    o, best = model.encode(data), float('inf')
    edges = zip(
        data.edge_index.T.tolist(), data.edge_cost.tolist(), strict=True
    )
    for (tail, head), cost in edges:
        if tail != node:
            continue
        score = float(model.score(o, node, head, goal))
        if head == goal:
            paper = model.terminal == 'paper'
            score = 0.0 if paper else cost / float(model.cost_scale)
        best = min(best, score)
    return best


@settings(deadline=None, max_examples=25)
@given(random_graphs(8), st.sampled_from(['paper', 'calibrated']))
def test_values_against_a_loop(raw: Data, terminal: str) -> None:
    data = planning_graph(raw)
    model = tiny_map(data, terminal=terminal)
    adjacency, hidden = Adjacency.from_data(data), model.hidden(data)
    nodes = torch.arange(data.num_nodes)
    block = block_values(model, hidden, adjacency, nodes, nodes)
    expected = torch.tensor(
        [
            [slow_value(model, data, node, goal) for goal in nodes.tolist()]
            for node in nodes.tolist()
        ]
    )
    torch.testing.assert_close(block, expected, rtol=1e-4, atol=1e-5)
    starts = nodes.repeat_interleave(nodes.numel())
    goals = nodes.repeat(nodes.numel())
    pairs = pair_values(model, hidden, adjacency, starts, goals)
    torch.testing.assert_close(
        pairs.view_as(expected), expected, rtol=1e-4, atol=1e-5
    )


def test_exact_values(diamond: Data) -> None:
    """At the goal, one step before it, and where nothing leaves."""
    adjacency, nodes = Adjacency.from_data(diamond), torch.arange(5)
    inf = float('inf')
    for terminal, last in (('calibrated', 10 / 3.4), ('paper', 0.0)):
        model = tiny_map(diamond, terminal=terminal)
        out = block_values(
            model, model.hidden(diamond), adjacency, nodes, nodes[[0, 4]]
        )
        assert out[0, 0] == 0
        assert float(out[3, 0]) == pytest.approx(last)
        assert out[4].tolist() == [inf, 0.0]
        assert not out.requires_grad


@pytest.mark.parametrize('max_rows', [1, 7, 50])
def test_chunks_give_the_same(
    grid: Data, monkeypatch: pytest.MonkeyPatch, max_rows: int
) -> None:
    model = tiny_map(grid)
    adjacency, hidden = Adjacency.from_data(grid), model.hidden(grid)
    nodes = torch.randperm(100)
    goals = torch.tensor([3, 55, 3])
    many = goals[torch.arange(100) % 3]
    block = block_values(model, hidden, adjacency, nodes, goals)
    pairs = pair_values(model, hidden, adjacency, nodes, many)
    assert torch.isinf(block).any() and torch.isfinite(block).any()

    calls = []
    for name in ('block_scores', 'pair_scores'):
        function = getattr(values, name)

        def counted(*args, name=name, function=function):
            calls.append(name)
            return function(*args)

        monkeypatch.setattr(values, name, counted)
    monkeypatch.setattr(values, 'MAX_ROWS', max_rows)
    torch.testing.assert_close(
        block_values(model, hidden, adjacency, nodes, goals), block
    )
    torch.testing.assert_close(
        pair_values(model, hidden, adjacency, nodes, many), pairs
    )
    assert calls.count('block_scores') > 5
    assert calls.count('pair_scores') > 5


def test_repeated_nodes_and_none(grid: Data) -> None:
    model = tiny_map(grid)
    adjacency, hidden = Adjacency.from_data(grid), model.hidden(grid)
    goals = torch.tensor([7, 80])
    twice = block_values(model, hidden, adjacency, torch.tensor([5, 5]), goals)
    assert torch.isfinite(twice).all()
    torch.testing.assert_close(twice[0], twice[1])
    none = torch.empty(0, dtype=torch.long)
    assert block_values(model, hidden, adjacency, none, goals).shape == (0, 2)
    assert block_values(model, hidden, adjacency, goals, none).shape == (2, 0)
    assert pair_values(model, hidden, adjacency, none, none).shape == (0,)

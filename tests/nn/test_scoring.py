from __future__ import annotations

import pytest
import torch
from helpers import (
    ALL_ENCODERS,
    dense_embeddings,
    loud,
    random_graphs,
    slow_score,
    tiny_map,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.nn import Transition, scoring
from bcm_pyg.nn.scoring import (
    block_scores,
    block_values,
    pair_scores,
    pair_values,
    plain_scores,
    with_terminal,
)
from bcm_pyg.utils import Adjacency

# Out-degrees of some sources.
DEGREES = [
    [2, 0, 3],
    [0, 0],
    [1],
    [32],
    [33],
    [70, 0, 1, 32, 64, 33, 3, 0],
]


def slow_block(
    transition: Transition,
    source: Tensor,
    head: Tensor,
    goal: Tensor,
    row: Tensor,
) -> Tensor:
    """Edge by edge and goal by goal."""
    out = []
    for edge, i in enumerate(row.tolist()):
        for g in range(goal.size(0)):
            bias = transition.lin1.bias
            z_j = transition.from_hidden(head[edge] - source[i] + bias)
            z_g = transition.from_hidden(goal[g] - source[i] + bias)
            out.append((z_j - z_g).square().sum())
    if not out:
        return source.new_zeros(0, goal.size(0))
    return torch.stack(out).view(row.numel(), goal.size(0))


def inputs(degree: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    row = torch.arange(len(degree)).repeat_interleave(torch.tensor(degree))
    return (
        torch.randn(len(degree), 5, requires_grad=True),
        torch.randn(row.numel(), 5, requires_grad=True),
        torch.randn(3, 5, requires_grad=True),
        row,
    )


@pytest.mark.parametrize('degree', DEGREES, ids=str)
def test_block_scores_against_a_loop(degree: list[int]) -> None:
    transition = loud(Transition(4, 5, 6))
    source, head, goal, row = inputs(degree)
    out = block_scores(transition, source, head, goal, row)
    assert out.shape == (sum(degree), 3)
    expected = slow_block(transition, source, head, goal, row)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('degree', [[2, 0, 3], [70, 0, 33, 1]], ids=str)
def test_gradients_of_block_scores_against_a_loop(degree: list[int]) -> None:
    transition = loud(Transition(4, 5, 6))
    source, head, goal, row = inputs(degree)
    weight = torch.randn(sum(degree), 3)
    leaves = [source, head, goal, *list(transition.parameters())[1:]]
    grads = [
        torch.autograd.grad(
            (function(transition, source, head, goal, row) * weight).sum(),
            leaves,
        )
        for function in (block_scores, slow_block)
    ]
    assert any(bool(grad.abs().sum() > 0) for grad in grads[1])
    torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize('degree', DEGREES, ids=str)
def test_pair_scores_against_block_scores(degree: list[int]) -> None:
    transition = loud(Transition(4, 5, 6))
    source, head, _, row = inputs(degree)
    goal = torch.randn(len(degree), 5)
    out = pair_scores(transition, source, head, goal, row)
    assert out.shape == (sum(degree),)
    block = block_scores(transition, source, head, goal, row)
    expected = block[torch.arange(row.numel()), row]
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)


def test_pair_scores_take_edges_in_any_order() -> None:
    transition = loud(Transition(4, 5, 6))
    source, head, goal, row = inputs([2, 3, 1])
    out = pair_scores(transition, source, head, goal, row)
    order = torch.tensor([4, 0, 5, 2, 1, 3])
    again = pair_scores(transition, source, head[order], goal, row[order])
    torch.testing.assert_close(again, out[order])


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_scores_of_a_map(grid: Data, encoder: str) -> None:
    model = tiny_map(grid, encoder)
    adjacency = Adjacency.from_data(grid)
    nodes, goals = torch.tensor([5, 0, 99, 17]), torch.tensor([0, 63, 5, 1])
    edge, row = adjacency.out_edges(nodes)
    head = adjacency.dst[edge]
    hidden = model.project_nodes(grid)
    block = block_scores(
        model.transition, hidden[nodes], hidden[head], hidden[goals], row
    )
    pairs = pair_scores(
        model.transition, hidden[nodes], hidden[head], hidden[goals], row
    )
    o = dense_embeddings(model, grid)
    expected = plain_scores(
        model.transition, o, nodes[row][:, None], head[:, None], goals
    )
    torch.testing.assert_close(block, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        pairs, expected[torch.arange(row.numel()), row], rtol=1e-4, atol=1e-5
    )
    slow = slow_score(model, grid, 5, int(head[0]), 63)
    assert float(block[0, 1].detach()) == pytest.approx(
        slow, rel=1e-3, abs=1e-5
    )


@pytest.mark.parametrize('terminal', ['paper', 'calibrated'])
def test_with_terminal(terminal: str) -> None:
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    at_goal = torch.tensor([[True, False], [False, True]])
    cost = torch.tensor([[7.0], [8.0]])
    out = with_terminal(scores, at_goal, cost, terminal)
    last = [7.0, 8.0] if terminal == 'calibrated' else [0.0, 0.0]
    assert out.tolist() == [[last[0], 2.0], [3.0, last[1]]]
    out.sum().backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_hub_in_a_graph() -> None:
    """A star of 80 leaves: the middle has more edges than one product takes."""
    leaves = torch.arange(1, 81)
    middle = torch.zeros_like(leaves)
    data = Data(
        pos=torch.cat([torch.zeros(1, 2), torch.randn(80, 2)]),
        edge_index=torch.stack([middle, leaves]),
        edge_cost=torch.ones(80),
        num_nodes=81,
    )
    model: BCM = tiny_map(data)
    hidden = model.project_nodes(data)
    out = block_scores(
        model.transition,
        hidden[:2],  # the middle, and a leaf without edges
        hidden[leaves],
        hidden[[3, 60]],
        torch.zeros(80, dtype=torch.long),
    )
    o = model.encode(data)
    expected = model.score(o, 0, leaves[:, None], torch.tensor([3, 60]))
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)
    assert float(out[2, 0].detach()) == pytest.approx(0, abs=1e-5)


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
    adjacency, hidden = Adjacency.from_data(data), model.project_nodes(data)
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
            model, model.project_nodes(diamond), adjacency, nodes, nodes[[0, 4]]
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
    adjacency, hidden = Adjacency.from_data(grid), model.project_nodes(grid)
    nodes = torch.randperm(100)
    goals = torch.tensor([3, 55, 3])
    many = goals[torch.arange(100) % 3]
    block = block_values(model, hidden, adjacency, nodes, goals)
    pairs = pair_values(model, hidden, adjacency, nodes, many)
    assert torch.isinf(block).any() and torch.isfinite(block).any()

    calls = []
    for name in ('block_scores', 'pair_scores'):
        function = getattr(scoring, name)

        def counted(*args, name=name, function=function):
            calls.append(name)
            return function(*args)

        monkeypatch.setattr(scoring, name, counted)
    monkeypatch.setattr(scoring, 'MAX_ROWS', max_rows)
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
    adjacency, hidden = Adjacency.from_data(grid), model.project_nodes(grid)
    goals = torch.tensor([7, 80])
    twice = block_values(model, hidden, adjacency, torch.tensor([5, 5]), goals)
    assert torch.isfinite(twice).all()
    torch.testing.assert_close(twice[0], twice[1])
    none = torch.empty(0, dtype=torch.long)
    assert block_values(model, hidden, adjacency, none, goals).shape == (0, 2)
    assert block_values(model, hidden, adjacency, goals, none).shape == (2, 0)
    assert pair_values(model, hidden, adjacency, none, none).shape == (0,)

from __future__ import annotations

import pytest
import torch
from helpers import ALL_ENCODERS, loud, slow_score, tiny_map
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM
from bcm_pyg.nn import Transition
from bcm_pyg.nn.distances import MAX_WIDTH
from bcm_pyg.nn.scoring import block_scores, pair_scores, with_terminal
from bcm_pyg.utils import Adjacency

# Out-degrees of some sources; the widest product takes 32 edges.
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
            z_j = transition.tail(head[edge] - source[i])
            z_g = transition.tail(goal[g] - source[i])
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


def test_the_widest_product() -> None:
    assert MAX_WIDTH == 32  # what DEGREES has in mind


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
    hidden = model.hidden(grid)
    block = block_scores(
        model.transition, hidden[nodes], hidden[head], hidden[goals], row
    )
    pairs = pair_scores(
        model.transition, hidden[nodes], hidden[head], hidden[goals], row
    )
    o = model.encode(grid)
    expected = model.score(o, nodes[row][:, None], head[:, None], goals)
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
    hidden = model.hidden(data)
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

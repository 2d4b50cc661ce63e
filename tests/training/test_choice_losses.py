"""The losses of a choice: ranking and regret."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bcm_pyg.training.objective import MAX_REGRET, ranking_loss, regret_loss

INF = float('inf')


def drawn(
    degree: list[int], num_goals: int, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores and targets of sources with so many edges, and their sources."""
    generator = torch.Generator().manual_seed(seed)
    row = torch.arange(len(degree)).repeat_interleave(torch.tensor(degree))
    shape = (row.numel(), num_goals)
    scores = 5 * torch.rand(shape, generator=generator)
    target = 5 * torch.rand(shape, generator=generator)
    lost = torch.rand(shape, generator=generator) < 0.3
    return scores.requires_grad_(), target.masked_fill(lost, INF), row


def assert_same_loss(loss: Tensor, expected: Tensor, scores: Tensor) -> None:
    """With the same gradient, if there is anything to learn."""
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)
    if expected.requires_grad:
        (got,) = torch.autograd.grad(loss, scores)
        (wanted,) = torch.autograd.grad(expected, scores)
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    else:
        assert loss.item() == 0


def slow_ranking(
    scores: Tensor, target: Tensor, row: list[int], size: int, heat: float
) -> Tensor:
    """One source and one goal at a time, with torch's own softmax."""
    total, count = torch.zeros(()), 0
    for source in range(size):
        edges = [edge for edge, of in enumerate(row) if of == source]
        for g in range(scores.size(1)):
            wanted = target[edges, g]
            if not bool(torch.isfinite(wanted).any()):
                continue  # no edges, or none that leads there
            weight = torch.softmax(-wanted / heat, dim=0)
            log_share = torch.log_softmax(-scores[edges, g] / heat, dim=0)
            total = total - (weight * log_share).sum()
            count += 1
    return total / max(count, 1)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
    st.integers(1, 3),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.integers(0, 2**16),
)
def test_ranking_loss_against_softmax(
    degree: list[int], num_goals: int, heat: float, seed: int
) -> None:
    scores, target, row = drawn(degree, num_goals, seed)
    loss = ranking_loss(scores, target, row, len(degree), heat)
    expected = slow_ranking(scores, target, row.tolist(), len(degree), heat)
    assert_same_loss(loss, expected, scores)


def test_ranking_loss_pushes_dead_ends_up() -> None:
    scores = torch.tensor([[1.0], [1.0]], requires_grad=True)
    target = torch.tensor([[1.0], [INF]])
    row = torch.tensor([0, 0])
    loss = ranking_loss(scores, target, row, 1, 1.0)
    assert loss.item() == pytest.approx(0.693147, abs=1e-5)
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.flatten().tolist() == pytest.approx([0.5, -0.5])


def test_ranking_loss_of_far_scores_is_finite() -> None:
    scores = torch.tensor([[1e6], [0.0]], requires_grad=True)
    target = torch.tensor([[0.0], [1e6]])
    loss = ranking_loss(scores, target, torch.tensor([0, 0]), 1, 0.1)
    assert loss.item() == pytest.approx(1e7)
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.flatten().tolist() == pytest.approx([10.0, -10.0])


def test_ranking_loss_where_no_way_leads_there() -> None:
    scores = torch.ones(2, 1, requires_grad=True)
    target = torch.full((2, 1), INF)
    loss = ranking_loss(scores, target, torch.tensor([0, 0]), 1, 1.0)
    assert loss.item() == 0
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[0.0], [0.0]]


def slow_regret(
    scores: Tensor,
    target: Tensor,
    row: list[int],
    size: int,
    heat: float,
    relative: bool,
) -> Tensor:
    """One source and one goal at a time, with torch's own softmax."""
    total, count = torch.zeros(()), 0
    for source in range(size):
        edges = [edge for edge, of in enumerate(row) if of == source]
        for g in range(scores.size(1)):
            wanted = target[edges, g]
            if not bool(torch.isfinite(wanted).any()):
                continue  # no edges, or none that leads there
            best = wanted.min()
            regret = (wanted - best).clamp(max=MAX_REGRET)
            if relative:
                regret = regret / (1 + best)
            chance = torch.softmax(-scores[edges, g] / heat, dim=0)
            total = total + (chance * regret).sum()
            count += 1
    return total / max(count, 1)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
    st.integers(1, 3),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_regret_loss_against_softmax(
    degree: list[int], num_goals: int, heat: float, relative: bool, seed: int
) -> None:
    scores, target, row = drawn(degree, num_goals, seed)
    how = len(degree), heat, relative
    loss = regret_loss(scores, target, row, *how)
    expected = slow_regret(scores, target, row.tolist(), *how)
    assert_same_loss(loss, expected, scores)


def test_regret_loss_pushes_dead_ends_up() -> None:
    scores = torch.tensor([[1.0], [1.0]], requires_grad=True)
    target = torch.tensor([[1.0], [INF]])
    loss = regret_loss(scores, target, torch.tensor([0, 0]), 1, 1.0)
    assert loss.item() == pytest.approx(MAX_REGRET / 2)
    loss.backward()
    assert scores.grad is not None
    slope = MAX_REGRET / 4
    assert scores.grad.flatten().tolist() == pytest.approx([slope, -slope])


def test_regret_loss_of_a_sure_choice() -> None:
    scores = torch.tensor([[1e6], [0.0]], requires_grad=True)
    row = torch.tensor([0, 0])
    wrong, right = torch.tensor([[4.0], [4.5]]), torch.tensor([[4.5], [4.0]])
    loss = regret_loss(scores, wrong, row, 1, 0.1)
    assert loss.item() == pytest.approx(0.5)
    loss.backward()
    assert scores.grad is not None and bool(scores.grad.isfinite().all())
    assert regret_loss(scores, right, row, 1, 0.1).item() == 0
    relative = regret_loss(scores, wrong, row, 1, 0.1, relative=True)
    assert relative.item() == pytest.approx(0.1)

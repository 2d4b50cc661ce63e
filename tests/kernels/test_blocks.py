"""Compiled scores and losses of a block are those of torch."""

from __future__ import annotations

import pytest
import torch
from helpers import random_graph, tiny_map
from torch import Tensor

from bcm_pyg import FitConfig, planning_graph
from bcm_pyg.nn import scoring
from bcm_pyg.training import Block, Run, objective
from bcm_pyg.training.objective import Terms, plain_loss
from bcm_pyg.training.sampling import PairSampler
from bcm_pyg.utils import Adjacency, Processes

INF, NAN = float('inf'), float('nan')


def blocks(
    seed: int, shared: bool = True
) -> tuple[Block, Tensor, Tensor, Tensor]:
    """A block of a random graph with holes in it, its heads, costs, scores.

    Its goals are shared by all sources, or each has its own.
    """
    data = planning_graph(random_graph(30, 90, seed=seed))
    adjacency = Adjacency.from_data(data)
    draw = torch.Generator().manual_seed(seed)
    sources = torch.randperm(30, generator=draw)[:12]  # some without edges
    goals = torch.randperm(30, generator=draw)[:7]
    edge, source = adjacency.out_edges(sources)
    size = edge.numel(), goals.numel()
    if not shared:
        goals = torch.randint(30, (12, 7), generator=draw)
    value = 20 * torch.rand(size, generator=draw)
    value[torch.rand(size, generator=draw) < 0.1] = INF
    value[torch.rand(size, generator=draw) < 0.1] = NAN
    block = Block(sources, goals, edge, source, value)
    scores = 20 * torch.rand(size, generator=draw)
    return block, adjacency.dst[edge], adjacency.cost[edge], scores


@pytest.mark.parametrize('terminal', ['calibrated', 'paper'])
@pytest.mark.parametrize('relative', [True, False])
@pytest.mark.parametrize(
    ('ranking', 'regret'), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.8), (0.7, 0.8)]
)
def test_loss(
    terminal: str, relative: bool, ranking: float, regret: float
) -> None:
    kernels = scoring.kernels_for(torch.zeros(1))
    for seed in range(20):
        block, head, cost, scores = blocks(seed, shared=seed % 2 == 0)
        terms = Terms(terminal, relative, 0.6, ranking, 0.3, regret)
        target = cost[:, None] + block.next_value
        one, two = (scores.clone().requires_grad_() for _ in range(2))
        expected = plain_loss(one, target, block, head, cost, terms)
        given = target, block, head, cost, terms, kernels
        loss = objective._CompiledLoss.apply(two, *given)
        torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-6)
        (3 * expected).backward()
        (3 * loss).backward()
        assert one.grad is not None and bool((one.grad != 0).any())
        torch.testing.assert_close(two.grad, one.grad, rtol=1e-3, atol=1e-6)


def test_nothing_to_learn() -> None:
    block, head, cost, scores = blocks(0)
    kernels = scoring.kernels_for(scores)
    scores.requires_grad_()
    terms = Terms('paper', True, 1.0, 1.0, 0.1, 1.0)
    nothing = torch.full_like(scores, INF)
    nothing[head[:, None] == block.goals] = NAN  # fixed by the convention
    # The sources next to a goal have something to rank, no others.
    loss = objective._CompiledLoss.apply(
        scores, nothing, block, head, cost, terms, kernels
    )
    expected = plain_loss(scores, nothing, block, head, cost, terms)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-6)
    terms = terms._replace(ranking=0.0, regret=0.0)
    loss = objective._CompiledLoss.apply(
        scores, nothing, block, head, cost, terms, kernels
    )
    loss.backward()
    assert loss.item() == 0
    assert scores.grad is not None and not bool(scores.grad.any())


@pytest.mark.parametrize('width', [1, 6, 33])
def test_edge_distances(width: int) -> None:
    block, _, _, scores = blocks(3)
    rows = block.edge.numel() + block.sources.numel() * block.goals.numel()
    weight = torch.randn(scores.shape)
    one, two = (torch.randn(rows, width).requires_grad_() for _ in range(2))
    two.data.copy_(one.data)
    shape = block.source, block.goals.numel()
    expected = scoring._edge_distances(one, *shape)
    kernels = scoring.kernels_for(one)
    found = scoring._EdgeDistances.apply(two, *shape, kernels)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(two.grad, one.grad, rtol=1e-4, atol=1e-4)


def test_a_step_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain way through the whole objective gives the same gradients."""
    data = planning_graph(random_graph(30, 90, seed=1))
    block, *_ = blocks(1)
    model = tiny_map(data)
    sampler = PairSampler(Adjacency.from_data(data), 0)
    alone = Processes(distributed=False)
    run = Run(model, data, sampler, FitConfig(steps=1, regret=0.5), alone)
    found = []
    for _ in range(2):
        model.zero_grad()
        objective.block_loss(run, block).backward()
        found.append([p.grad for p in model.parameters()])
        for module in (scoring, objective):
            monkeypatch.setattr(module, 'kernels_for', lambda x: None)
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-5)

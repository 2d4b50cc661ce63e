from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest
import torch
from helpers import dense_embeddings, random_graphs, tiny_map
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, planning_graph
from bcm_pyg.nn.scoring import block_values
from bcm_pyg.training import Block, OneStepTargets, Run
from bcm_pyg.training.objective import (
    bellman_loss,
    bellman_target,
    block_loss,
    is_trained,
)
from bcm_pyg.training.sampling import PairSampler
from bcm_pyg.utils import Adjacency, Processes

INF = float('inf')


def test_bellman_target() -> None:
    cost = torch.tensor([1.0, 2.0])
    value = torch.tensor([[10.0, INF], [0.0, 0.5]], requires_grad=True)
    target = bellman_target(cost, value)
    assert target.tolist() == [[11.0, INF], [2.0, 2.5]]
    assert not target.requires_grad


def test_is_trained() -> None:
    target = torch.tensor(
        [[1.0, 1.0, 1.0], [1.0, INF, 1.0], [1.0, 1.0, float('nan')]]
    )
    tail, head = torch.tensor([0, 1, 4]), torch.tensor([1, 2, 0])
    goals = torch.tensor([0, 1, 3])
    assert is_trained(target, tail, head, goals).tolist() == [
        [False, False, True],  # out of goal 0, into goal 1
        [True, False, True],  # an infinite target (and out of goal 1)
        [False, True, False],  # into goal 0, no number
    ]


def test_bellman_loss_and_its_gradient() -> None:
    scores = torch.tensor([[1.0, 5.0], [2.0, 7.0]], requires_grad=True)
    target = torch.tensor([[3.0, INF], [2.5, 100.0]])
    trained = torch.tensor([[True, False], [True, False]])
    loss = bellman_loss(scores, target, trained)
    assert loss.item() == (4 + 0.25) / 2
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[-2.0, 0.0], [-0.5, 0.0]]


def test_relative_bellman_loss() -> None:
    scores = torch.tensor([[1.0, 5.0], [2.0, 7.0]], requires_grad=True)
    target = torch.tensor([[3.0, INF], [0.0, 100.0]])
    trained = torch.tensor([[True, False], [True, False]])
    loss = bellman_loss(scores, target, trained, relative=True)
    assert loss.item() == ((2 / 4) ** 2 + (2 / 1) ** 2) / 2
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[-2 / 16, 0.0], [2.0, 0.0]]


def test_bellman_loss_of_nothing() -> None:
    scores = torch.ones(2, 1, requires_grad=True)
    nothing = torch.zeros(2, 1, dtype=torch.bool)
    loss = bellman_loss(scores, torch.full((2, 1), INF), nothing)
    assert loss.item() == 0
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[0.0], [0.0]]


def neighbours(data: Data, scale: float) -> list[list[tuple[int, float]]]:
    ways: list[list[tuple[int, float]]] = [[] for _ in range(data.num_nodes)]
    edges = zip(
        data.edge_index.T.tolist(), data.edge_cost.tolist(), strict=True
    )
    for (tail, head), cost in edges:
        ways[tail].append((head, cost / scale))
    return ways


def slow_loss(
    model: BCM,
    data: Data,
    pairs: Iterable[tuple[int, int]],
    is_reached: list[list[bool]],
    patch: dict[int, int] | None = None,
) -> Tensor:
    """The paper's objective for pairs of source and goal, one after the other.

    With the :obj:`patch` of nodes, of transitions that stay in theirs.
    """
    o = dense_embeddings(model, data)
    ways = neighbours(data, float(model.cost_scale))

    def score(i: int, j: int, g: int) -> Tensor:  # D_i(j; g)
        z_j = model.transition(o[j] - o[i])
        z_g = model.transition(o[g] - o[i])
        return ((z_j - z_g) ** 2).sum()

    def bootstrap(j: int, g: int) -> float:  # sg[min_k D_j(k; g)]
        best = INF
        for k, cost in ways[j]:
            if not is_reached[k][g]:
                continue
            if k == g:
                last = cost if model.terminal == 'calibrated' else 0.0
                best = min(best, last)
            else:
                best = min(best, score(j, k, g).item())
        return best

    total, count = torch.zeros(()), 0
    for i, g in pairs:
        for j, cost in ways[i]:
            if j == g or i == g:
                continue  # the route ends, or has ended
            if patch is not None and patch.get(j) != patch[i]:
                continue
            value = bootstrap(j, g) if is_reached[j][g] else INF
            if value == INF:
                continue
            total = total + (score(i, j, g) - cost - value) ** 2
            count += 1
    return total / max(count, 1)


def reached(data: Data) -> list[list[bool]]:
    """Whether a way leads from each node to each other, by closure."""
    size = int(data.num_nodes)
    table = [[i == j for j in range(size)] for i in range(size)]
    for tail, head in data.edge_index.T.tolist():
        table[tail][head] = True
    for k in range(size):
        for i in range(size):
            for j in range(size):
                table[i][j] = table[i][j] or (table[i][k] and table[k][j])
    return table


def hand_made_block(
    model: BCM, data: Data, sources: Tensor, goals: Tensor, mask: bool
) -> Block:
    adjacency = Adjacency.from_data(data)
    edge, row = adjacency.out_edges(sources)
    head = adjacency.dst[edge]
    reach = torch.tensor(reached(data))[:, goals] if mask else None
    value = block_values(
        model, model.project_nodes(data), adjacency, head, goals, reach
    )
    if reach is not None:
        value = value.masked_fill(~reach[head], INF)
    return Block(sources, goals, edge, row, value)


PAPER = FitConfig.paper(steps=1)


def run_of(model: BCM, data: Data) -> Run:
    sampler = PairSampler(Adjacency.from_data(data), seed=0)
    return Run(model, data, sampler, PAPER, Processes(distributed=False))


@settings(deadline=None, max_examples=40)
@given(
    random_graphs(7),
    st.sampled_from(['paper', 'calibrated']),
    st.sampled_from(['interaction', 'k_hot', 'one_hot', 'gnn']),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_block_loss_against_the_paper(
    raw: Data, terminal: str, encoder: str, mask: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    data = planning_graph(raw)
    size = int(data.num_nodes)
    model = tiny_map(data, encoder, terminal)
    sources = torch.randperm(size)[: max(1, size - 1)]
    goals = torch.randperm(size)[:4]
    block = hand_made_block(model, data, sources, goals, mask)
    assert PAPER.ranking == 0 and PAPER.regret == 0
    loss = block_loss(run_of(model, data), block)
    everywhere = [[True] * size for _ in range(size)]
    expected = slow_loss(
        model,
        data,
        product(sources.tolist(), goals.tolist()),
        reached(data) if mask else everywhere,
    )
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)
    if not expected.requires_grad:  # nothing to train
        assert loss.item() == 0
        return
    parameters = list(model.parameters())
    got, wanted = (
        torch.autograd.grad(value, parameters, materialize_grads=True)
        for value in (loss, expected)
    )
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(
    random_graphs(9),
    st.sampled_from(['paper', 'calibrated']),
    st.integers(1, 8),
    st.integers(0, 2**16),
)
def test_block_loss_of_patches(
    raw: Data, terminal: str, patch: int, seed: int
) -> None:
    """Each patch has goals of its own; with shares of the goals too."""
    torch.manual_seed(seed)
    data = planning_graph(raw)
    model = tiny_map(data, terminal=terminal)
    config = replace(
        PAPER, sources=6, goals=3, targets=OneStepTargets(patch=patch)
    )
    run = run_of(model, data)._replace(config=config)
    blocks = config.target_settings.blocks(run)
    for step in range(2):
        block = blocks.block(step)
        taken = zip(block.sources.tolist(), block.goals.tolist(), strict=True)
        pairs = [(i, g) for i, goals in taken for g in goals]
        nodes = blocks.patches.order.tolist(), blocks.patches.patch.tolist()
        patch = dict(zip(*nodes, strict=True))
        patch = {i: patch[i] for i in block.sources.tolist()}
        expected = slow_loss(model, data, pairs, reached(data), patch)
        losses = [block_loss(run, block)]
        shares = slice(0, 1), slice(1, block.goals.size(1))
        losses.append(sum(block_loss(run, block, part) for part in shares))
        for loss in losses:
            torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)
            assert loss.requires_grad == losses[0].requires_grad
        if not expected.requires_grad:
            continue
        parameters = list(model.parameters())
        got, wanted = (
            torch.autograd.grad(value, parameters, materialize_grads=True)
            for value in (losses[0], expected)
        )
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize('terminal', ['paper', 'calibrated'])
def test_block_loss_of_every_pair(diamond: Data, terminal: str) -> None:
    """On a graph with an island, with a gradient that is surely there."""
    model = tiny_map(diamond, terminal=terminal)
    nodes = torch.arange(5)
    block = hand_made_block(model, diamond, nodes, nodes, mask=True)
    loss = block_loss(run_of(model, diamond), block)
    expected = slow_loss(
        model, diamond, product(range(5), range(5)), reached(diamond)
    )
    torch.testing.assert_close(loss, expected)
    parameters = list(model.parameters())
    got, wanted = (
        torch.autograd.grad(value, parameters) for value in (loss, expected)
    )
    assert min(float(grad.abs().max()) for grad in wanted[:5]) > 0
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-5)


def test_block_loss_is_exact_on_true_values(diamond: Data) -> None:
    """Scores that equal their targets cost nothing."""
    model = tiny_map(diamond)
    adjacency = Adjacency.from_data(diamond)
    sources, goals = torch.tensor([0]), torch.tensor([3])
    edge, row = adjacency.out_edges(sources)
    head = adjacency.dst[edge]
    with torch.no_grad():
        score = model.score(model.encode(diamond), 0, head, 3)
    cost = adjacency.cost[edge] / model.cost_scale
    block = Block(sources, goals, edge, row, (score - cost)[:, None])
    loss = block_loss(run_of(model, diamond), block)
    assert loss.item() == pytest.approx(0, abs=1e-9)
    off = block._replace(next_value=block.next_value + 1)
    loss = block_loss(run_of(model, diamond), off)
    assert loss.item() == pytest.approx(1, abs=1e-3)

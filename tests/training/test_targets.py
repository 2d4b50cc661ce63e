from __future__ import annotations

import copy
import gc
import math
import weakref
from typing import Any

import networkx as nx
import pytest
import torch
from helpers import (
    ALL_ENCODERS,
    out_edges,
    random_graph,
    random_graphs,
    score_table,
    to_nx,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from small_fits import targets_of
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, FitConfig, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.nn import Transition, encoder_resolver
from bcm_pyg.training import Block, Blocks, Run
from bcm_pyg.training.blocks import AVERAGE_SHARE, OneStepBlocks
from bcm_pyg.training.sampling import PairSampler
from bcm_pyg.utils import Adjacency, Processes

INFINITE = float('inf')
TERMINALS = ['calibrated', 'paper']
KINDS = ['sweeps', 'paper', 'exact']


def small_map(data: Data, encoder: str, terminal: str) -> BCM:
    module = encoder_resolver(encoder, data)
    transition = Transition(module.out_channels, 16, 16)
    return BCM(module, transition, terminal, cost_scale=2.5)


def blocks_of(
    model: BCM, data: Data, kind: str, seed: int = 0, **kwargs: Any
) -> Blocks:
    settings = {
        'num_backups': 3,
        'bootstrap_samples': 2,
        'bootstrap_nodes': 20,
        'goal_pool': 6,
        'refresh': 4,
        'refresh_every': 8,
    }
    targets = targets_of(kind, **{**settings, **kwargs})
    config = FitConfig(targets=targets, sources=12, goals=4)
    sampler = PairSampler(Adjacency.from_data(data), seed)
    run = Run(model, data, sampler, config, Processes(distributed=False))
    return targets.blocks(run)


def network_values(model: BCM, data: Data) -> list[list[float]]:
    """The value of each node for each goal, infinite where unreachable.

    Ways from which the goal cannot be reached do not count.
    """
    table, ways, graph = score_table(model, data), out_edges(data), to_nx(data)
    reach = {node: nx.descendants(graph, node) for node in graph}
    return [
        [
            0.0
            if node == goal
            else min(
                table[edge][goal]
                for edge, head in ways[node]
                if goal == head or goal in reach[head]
            )
            if goal in reach[node]
            else INFINITE
            for goal in graph
        ]
        for node in graph
    ]


def swept(
    model: BCM, data: Data, value: list[list[float]], times: int
) -> list[list[float]]:
    """Backups of all nodes for all goals; none of them raises a value."""
    ways = out_edges(data)
    cost = (data.edge_cost / model.cost_scale).tolist()
    nodes = range(data.num_nodes)

    def backup(node: int, goal: int) -> float:
        through = [cost[edge] + value[head][goal] for edge, head in ways[node]]
        if any(head == goal for _, head in ways[node]):
            through.append(0.0 if model.terminal == 'paper' else INFINITE)
        return 0.0 if node == goal else min([*through, value[node][goal]])

    for _ in range(times):
        value = [[backup(node, goal) for goal in nodes] for node in nodes]
    return value


def shortest(model: BCM, data: Data) -> list[list[float]]:
    """Exact values, by networkx; the last edge is free under the paper's."""
    out = []
    for node in range(data.num_nodes):
        line = []
        for goal in range(data.num_nodes):
            graph = to_nx(data)
            ends = {goal}
            if model.terminal == 'paper' and node != goal:
                ends = set(graph.predecessors(goal))
                graph.remove_node(goal)
            found = nx.single_source_dijkstra_path_length(
                graph, node, weight='cost'
            )
            best = min(
                (found.get(end, INFINITE) for end in ends), default=INFINITE
            )
            line.append(best / float(model.cost_scale))
        out.append(line)
    return out


def assert_patches(
    targets: Blocks, data: Data, block: Block, value: list[list[float]]
) -> None:
    """Values behind edges that stay in their patch are known."""
    assert isinstance(targets, OneStepBlocks)
    sources = block.sources.tolist()
    assert len(set(sources)) == len(sources)
    patches = targets.patches
    nodes = patches.order.tolist(), patches.patch.tolist()
    patch = dict(zip(*nodes, strict=True))
    patch = {node: patch[node] for node in sources}
    goals = dict(zip(sources, block.goals.tolist(), strict=True))
    assert len({(patch[node], *goals[node]) for node in sources}) == len(
        set(patch.values())
    )
    wanted = [
        [
            value[head][goal]
            if patch.get(head) == patch[tail] or value[head][goal] == INFINITE
            else math.nan
            for goal in goals[tail]
        ]
        for tail in sources
        for _, head in out_edges(data)[tail]
    ]
    assert_edges(block, data)
    torch.testing.assert_close(
        block.next_value,
        torch.tensor(wanted),
        rtol=1e-4,
        atol=1e-4,
        equal_nan=True,
    )
    assert not block.next_value.requires_grad


def assert_edges(block: Block, data: Data) -> list[int]:
    """A block holds all edges of its sources; their heads."""
    ways = out_edges(data)
    expected = [
        (row, edge, head)
        for row, source in enumerate(block.sources.tolist())
        for edge, head in ways[source]
    ]
    assert block.source.tolist() == [row for row, _, _ in expected]
    assert block.edge.tolist() == [edge for _, edge, _ in expected]
    return [head for _, _, head in expected]


def assert_block(block: Block, data: Data, value: list[list[float]]) -> None:
    """A block holds all edges of its sources, and the values behind them."""
    goals = block.goals.tolist()
    wanted = torch.tensor(
        [
            [value[head][goal] for goal in goals]
            for head in assert_edges(block, data)
        ]
    )
    torch.testing.assert_close(
        block.next_value, wanted, rtol=1e-4, atol=1e-4, equal_nan=True
    )
    assert not block.next_value.requires_grad


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_one_backup_takes_the_minima_at_the_heads(
    encoder: str, terminal: str
) -> None:
    data = planning_graph(random_graph(14, 26, seed=8))
    model = small_map(data, encoder, terminal)
    value = network_values(model, data)
    assert any(INFINITE in line for line in value)
    targets = blocks_of(model, data, 'paper', patch=4)
    for step in range(4):
        assert_patches(targets, data, targets.block(step), value)
    # They follow the map from step to step, at first at once.
    with torch.no_grad():
        model.transition.lin3.weight.mul_(2)
    average = copy.deepcopy(model)
    block = targets.block(4)
    with torch.no_grad():
        average.transition.lin3.weight.mul_(0.5 + 0.5 / (1 + 4 * AVERAGE_SHARE))
    assert_patches(targets, data, block, network_values(average, data))
    # And the less, the lower the learning rate has become.
    targets.done = 1.0
    with torch.no_grad():
        model.transition.lin3.weight.mul_(2)
    block = targets.block(5)
    assert_patches(targets, data, block, network_values(average, data))


@pytest.mark.parametrize(
    ('done', 'times'), [(0.0, 1), (0.5, 1), (0.8, 1), (0.9, 2), (0.95, 4)]
)
def test_how_far_the_average_looks_back(
    grid: Data, done: float, times: float
) -> None:
    model = small_map(grid, 'interaction', 'paper')
    targets = blocks_of(model, grid, 'paper', average=5)
    assert isinstance(targets, OneStepBlocks)
    targets.done = done
    targets.block(0)
    for count, steps in ((1, 1 + AVERAGE_SHARE), (100, 1.7), (9999, 5)):
        targets.average.n_averaged.fill_(count)
        before = [x.clone() for x in targets.average.parameters()]
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(1)
            model.cost_scale.add_(1)
        targets.block(1)
        assert int(targets.average.n_averaged) == count + 1
        for then, now, average in zip(
            before,
            model.parameters(),
            targets.average.parameters(),
            strict=True,
        ):
            wanted = then + (now - then) / (steps * times)
            assert torch.allclose(average, wanted, rtol=1e-5, atol=1e-6)
        assert torch.equal(targets.average.module.cost_scale, model.cost_scale)


def test_targets_are_freed_with_their_run(grid: Data) -> None:
    """No cycle of references keeps the copy of the map."""
    model = small_map(grid, 'interaction', 'paper')
    targets = blocks_of(model, grid, 'paper')
    assert isinstance(targets, OneStepBlocks)
    targets.block(0)
    average = weakref.ref(targets.average)
    gc.disable()
    try:
        del targets
        assert average() is None
    finally:
        gc.enable()


@pytest.mark.parametrize('own_goals', [0, 1, 2, 9])
def test_goals_in_their_patch(grid: Data, own_goals: int) -> None:
    model = small_map(grid, 'interaction', 'paper')
    targets = blocks_of(model, grid, 'paper', own_goals=own_goals, patch=3)
    assert isinstance(targets, OneStepBlocks)
    inside = torch.zeros(4)
    for step in range(200):
        block = targets.block(step)
        patches = targets.patches
        patch = torch.full((int(grid.num_nodes),), -1)
        patch[patches.order] = patches.patch
        # A patch may go on in the next block, its goals do not.
        among = (block.goals[..., None] == block.sources).any(-1)
        same = patch[block.goals] == patch[block.sources][:, None]
        inside += (among & same).float().mean(0) / 200
    assert inside[: min(2, own_goals)].tolist() == pytest.approx(
        [1.0] * min(2, own_goals)
    )
    assert float(inside[min(2, own_goals) :].max()) < 0.4


def test_one_backup_of_the_map_as_it_is(grid: Data) -> None:
    model = small_map(grid, 'interaction', 'paper')
    targets = blocks_of(model, grid, 'paper', average=1)
    for step in range(3):
        with torch.no_grad():
            model.transition.lin3.weight.mul_(2)
        block = targets.block(step)
        assert_patches(targets, grid, block, network_values(model, grid))


def test_most_heads_of_a_patch_are_in_it() -> None:
    data = planning_graph(weighted_grid('ushape', 20, 'wide', 7))
    model = small_map(data, 'interaction', 'paper')
    targets = blocks_of(model, data, 'paper', patch=8)
    shares = [
        float(targets.block(step).next_value.isnan().float().mean())
        for step in range(50)
    ]
    assert 0.3 < sum(shares) / 50 < 0.6


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('num_backups', [1, 2, 4])
def test_swept_targets(num_backups: int, terminal: str) -> None:
    # Every node is asked: the table is k - 1 backups of the map's values.
    data = planning_graph(random_graph(14, 26, seed=8))
    model = small_map(data, 'one_hot', terminal)
    value = swept(model, data, network_values(model, data), num_backups - 1)
    targets = blocks_of(
        model,
        data,
        'sweeps',
        num_backups=num_backups,
        bootstrap_samples=1,
        bootstrap_nodes=14,
        refresh_every=2,
    )
    seen = set()
    for step in range(7):  # with refreshes
        block = targets.block(step)
        seen |= set(block.goals.tolist())
        assert_block(block, data, value)
    assert len(seen) > 6  # more than the pool holds at a time


@pytest.mark.parametrize('terminal', TERMINALS)
def test_tables_are_made_anew_from_the_map(terminal: str) -> None:
    data = planning_graph(random_graph(14, 26, seed=8))
    model = small_map(data, 'one_hot', terminal)
    targets = blocks_of(
        model,
        data,
        'sweeps',
        num_backups=3,
        bootstrap_samples=1,
        bootstrap_nodes=14,
        refresh=6,
        refresh_every=2,
    )
    before = swept(model, data, network_values(model, data), 2)
    assert_block(targets.block(0), data, before)
    with torch.no_grad():
        model.transition.lin3.weight.mul_(0.5)
    assert_block(targets.block(1), data, before)  # still the old ones
    after = swept(model, data, network_values(model, data), 2)
    assert_block(targets.block(2), data, after)  # refreshed, not swept on


@pytest.mark.parametrize('terminal', TERMINALS)
@settings(deadline=None, max_examples=10)
@given(graph=random_graphs(max_nodes=9), seed=st.integers(0, 99))
def test_exact_targets(terminal: str, graph: Data, seed: int) -> None:
    data = planning_graph(graph)
    model = small_map(data, 'one_hot', terminal)
    value = shortest(model, data)
    targets = blocks_of(model, data, 'exact', seed, refresh_every=1)
    for step in range(3):
        assert_block(targets.block(step), data, value)


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('terminal', TERMINALS)
@settings(deadline=None, max_examples=15)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_what_holds_for_all_targets(
    kind: str, terminal: str, graph: Data, seed: int
) -> None:
    # With several samples, and a pool larger than most of the graphs.
    data = planning_graph(graph)
    model = small_map(data, 'one_hot', terminal)
    # None, half and all of the sources; the one backup has no near ones.
    targets = blocks_of(
        model,
        data,
        kind,
        seed,
        goal_pool=10,
        near_goal_fraction=(seed % 3) / 2,
        num_backups=9,
    )
    exact, nxg = shortest(model, data), to_nx(data)
    for step in range(2):
        block = targets.block(step)
        if kind == 'paper':
            value = network_values(model, data)
            assert_patches(targets, data, block, value)
            continue
        assert 1 <= block.goals.numel() <= 4
        reaching = [
            any(nx.has_path(nxg, source, g) for g in block.goals.tolist())
            for source in block.sources.tolist()
        ]
        assert len(reaching) == 12 and all(reaching)
        heads = data.edge_index[1, block.edge].tolist()
        for head, line in zip(heads, block.next_value.tolist(), strict=True):
            for goal, value in zip(block.goals.tolist(), line, strict=True):
                if math.isnan(value):  # no sample knows it
                    assert kind == 'sweeps' and exact[head][goal] < INFINITE
                    continue
                assert value > -1e-4  # squares are expanded: rounding
                if exact[head][goal] == INFINITE:
                    assert value == INFINITE
                if head == goal:
                    assert value == 0
                if kind == 'sweeps':  # no estimate beats the way to the goal
                    hops = 9 - 1 if nx.has_path(nxg, head, goal) else -1
                    if hops >= data.num_nodes - 1:
                        assert value <= exact[head][goal] + 1e-4


@pytest.mark.parametrize('kind', KINDS)
def test_deterministic_by_generator(grid: Data, kind: str) -> None:
    model = small_map(grid, 'interaction', 'calibrated')

    def draw(seed: int) -> list[Any]:
        state = torch.get_rng_state()
        targets = blocks_of(model, grid, kind, seed, refresh_every=1)
        blocks = [targets.block(step) for step in range(3)]
        assert torch.equal(state, torch.get_rng_state())
        parts = [part for block in blocks for part in block[:5]]
        return [part.nan_to_num(nan=-1).tolist() for part in parts]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


@pytest.mark.parametrize('kind', KINDS)
def test_the_smallest_graph(kind: str) -> None:
    data = planning_graph(
        Data(
            pos=torch.randn(2, 2),
            edge_index=torch.tensor([[0], [1]]),
            edge_cost=torch.tensor([3.0]),
        )
    )
    model = small_map(data, 'one_hot', 'calibrated')
    block = blocks_of(model, data, kind, goal_pool=256).block(0)
    times = 1 if kind == 'paper' else 12
    assert block.sources.tolist() == [0] * times
    # From where a patch is no edge enters it.
    paper = kind == 'paper'
    assert block.goals.tolist() == ([[0, 0, 1, 1]] if paper else [1])
    assert block.edge.tolist() == [0] * times
    wanted = torch.zeros(times, 1)
    if paper:
        wanted = torch.tensor([[INFINITE, INFINITE, math.nan, math.nan]])
    torch.testing.assert_close(block.next_value, wanted, equal_nan=True)


@pytest.mark.parametrize(
    ('wrong', 'message'),
    [
        (lambda s: {**s, 'order': s['order'] + 1}, 'other nodes'),
        (lambda s: {**s, 'order': s['order'] * 0}, 'other nodes'),
        (lambda s: {**s, 'taken': torch.tensor(-1)}, '-1 nodes are taken'),
        (lambda s: {**s, 'taken': torch.tensor(999)}, '999 nodes are taken'),
        (
            lambda s: {
                k: x / 0 if k.endswith('bias') else x for k, x in s.items()
            },
            'averaged map is not finite',
        ),
    ],
)
def test_patches_of_a_checkpoint(grid: Data, wrong: Any, message: str) -> None:
    model = small_map(grid, 'interaction', 'paper')
    here, there = (blocks_of(model, grid, 'paper', seed) for seed in (1, 2))
    there.block(0)
    kept = {name: part.clone() for name, part in there.state().items()}
    here.load_state(kept)
    assert here.block(1).sources.tolist() == there.block(1).sources.tolist()
    with pytest.raises(BCMError, match=message):
        here.load_state(wrong(kept))

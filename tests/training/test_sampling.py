from __future__ import annotations

import networkx as nx
import pytest
import torch
from helpers import random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training.sampling import PairSampler, Patches
from bcm_pyg.utils import Adjacency


def make_sampler(data: Data, seed: int = 0) -> PairSampler:
    adjacency = Adjacency.from_data(data)
    return PairSampler(adjacency, seed)


def test_connected(grid: Data) -> None:
    sampler = make_sampler(grid)
    free = (~grid.blocked).nonzero().squeeze(1)
    assert sampler.connected
    assert sampler.num_goals == free.numel()
    assert sampler.goals(1000).sort().values.tolist() == free.tolist()
    sources = sampler.sources(None, 5000)
    assert sources.numel() == 5000
    assert sources.unique().tolist() == free.tolist()
    share = sources.bincount()[free] * free.numel() / 5000
    assert 0.3 < float(share.min()) and float(share.max()) < 2


def test_directed(diamond: Data) -> None:
    sampler = make_sampler(diamond)  # 0, 1, 2, 3 reach each other, 4 nothing
    assert sampler.connected
    assert sampler.num_goals == 4
    assert 4 not in sampler.goals(99).tolist()
    assert 4 not in sampler.sources(None, 99).tolist()


@settings(deadline=None, max_examples=30)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_what_is_drawn(graph: Data, seed: int) -> None:
    data = planning_graph(graph)
    sampler = make_sampler(data, seed)
    tails, heads = (set(ids.tolist()) for ids in data.edge_index)
    pool = sampler.goals(5)
    assert pool.numel() == min(5, len(heads)) == pool.unique().numel()
    assert set(pool.tolist()) <= heads
    assert sampler.num_goals == len(heads)

    position = sampler.block(pool, 3)
    goals = pool[position].tolist()
    assert 1 <= len(goals) <= 3
    assert len(set(goals)) == len(goals)
    nxg = to_nx(data)
    part = nx.node_connected_component(nxg.to_undirected(), goals[0])
    assert set(goals) <= part

    reach = sampler.reachability.to_goals(pool[position])
    sources = sampler.sources(None if sampler.connected else reach, 20)
    assert sources.shape == (20,)
    for source in sources.tolist():
        assert source in tails
        assert any(nx.has_path(nxg, source, goal) for goal in goals)
    if sampler.connected:
        assert all(nx.has_path(nxg, s, g) for s in tails for g in heads)


def test_a_source_is_drawn_as_often_as_it_reaches_goals() -> None:
    # 0 -> 1 -> 2: node 0 reaches both goals, node 1 itself and one more.
    data = planning_graph(
        Data(
            pos=torch.randn(5, 2),
            edge_index=torch.tensor([[0, 1, 3], [1, 2, 4]]),
            edge_cost=torch.ones(3),
        )
    )
    sampler = make_sampler(data)
    assert not sampler.connected
    reach = torch.zeros(5, 2, dtype=torch.bool)
    reach[0] = True
    reach[1, 1] = True
    count = sampler.sources(reach, 6000).bincount(minlength=5)
    assert count[[2, 3, 4]].tolist() == [0, 0, 0]
    assert 1.8 < float(count[0] / count[1]) < 2.2


def test_unreachable_goals(diamond: Data) -> None:
    reach = torch.zeros(5, 3, dtype=torch.bool)
    with pytest.raises(BCMError, match='no source reaches'):
        make_sampler(diamond).sources(reach, 4)


@pytest.mark.parametrize('name', ['grid', 'diamond'])
def test_deterministic_by_generator(
    name: str, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue(name)
    state = torch.get_rng_state()

    def draw(seed: int) -> list[list[int]]:
        sampler = make_sampler(data, seed)
        pool = sampler.goals(4)
        reach = sampler.reachability.to_goals(pool)
        drawn = [
            pool,
            sampler.block(pool, 3),
            sampler.sources(None, 30),
            sampler.sources(reach, 30),
            sampler.near_sources(reach.float(), torch.arange(2), reach, 30),
        ]
        return [ids.tolist() for ids in drawn]

    assert draw(3) == draw(3)
    assert draw(3) != draw(4)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize('num', [1, 5, 20, 400, 500])
def test_distinct_and_uniform(num: int) -> None:
    """Both ways of drawing: from a permutation, and without one."""
    data = weighted_grid('open', side=20)
    sampler = make_sampler(data)
    count = torch.zeros(400)
    for _ in range(200):
        goals = sampler.goals(num)
        assert goals.numel() == min(num, 400)
        assert goals.unique().numel() == goals.numel()
        count += torch.bincount(goals, minlength=400)
    assert count.sum() == 200 * min(num, 400)
    expected = 200 * min(num, 400) / 400
    chi = (count - expected).square().sum() / expected
    assert chi < 400 + 6 * (2 * 400) ** 0.5


def test_near_sources_are_near_at_all_scales() -> None:
    data = weighted_grid('open', side=40)
    sampler = make_sampler(data)
    value = torch.arange(1600.0)[:, None]  # node i is the i-th nearest
    column = torch.tensor([0])
    near = sampler.near_sources(value, column, None, 8000)
    assert near.shape == (8000,)
    # At the goal there is nothing to learn: just if it is the one candidate.
    assert float((near == 0).float().mean()) < 0.002
    # The best of m of N has rank N / m; m is log-uniform from 1 to 256.
    for rank in (16, 64, 256):
        share = float((near < rank).float().mean())
        m = (256 ** torch.linspace(0, 1, 1001)).floor()
        expected = float((1 - (1 - rank / 1600) ** m).mean())
        assert abs(share - expected) < 0.02


def test_near_sources_of_each_goal() -> None:
    data = weighted_grid('open', side=10)
    sampler = make_sampler(data)
    place = torch.arange(100.0)
    value = torch.stack([place, torch.zeros(100), 99 - place], dim=1)
    column = torch.tensor([2, 0])
    near = sampler.near_sources(value, column, None, 4000)
    first = float((near < 10).float().mean())
    last = float((near > 89).float().mean())
    assert min(first, last) > 0.25  # of uniform ones a tenth


@pytest.mark.parametrize('unknown', [float('inf'), float('nan')])
def test_near_sources_where_little_is_known(unknown: float) -> None:
    data = weighted_grid('open', side=10)
    value = torch.full((100, 3), unknown)
    value[7] = 1.0
    near = make_sampler(data).near_sources(value, torch.arange(3), None, 2000)
    # The one that is known wherever it was drawn; else any.
    m = (256 ** torch.linspace(0, 1, 1001)).floor()
    expected = float((1 - 0.99**m).mean())
    assert abs(float((near == 7).float().mean()) - expected) < 0.04


@settings(deadline=None, max_examples=30)
@given(graph=random_graphs(), size=st.integers(1, 9), seed=st.integers(0, 99))
def test_patches_hold_every_source_once(
    graph: Data, size: int, seed: int
) -> None:
    data = planning_graph(graph)
    sampler = make_sampler(data, seed)
    tails = data.edge_index[0].unique().tolist()
    order, patch = sampler.patches(size)
    assert order.sort().values.tolist() == tails
    assert patch.tolist() == sorted(patch.tolist())
    nxg = to_nx(data).to_undirected()
    entered = set(data.edge_index[1].tolist())
    goals = sampler.goals_of(order, 3)
    assert goals.shape == (order.numel(), 3)
    for node, some in zip(order.tolist(), goals.tolist(), strict=True):
        part = nx.node_connected_component(nxg, node)
        assert set(some) <= part & entered
        # Weak components are not mixed.
        mates = order[patch == patch[order == node]].tolist()
        assert set(mates) <= part


def test_goals_of_sources_are_uniform() -> None:
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 0, 4]])
    data = Data(edge_index=edges, edge_cost=torch.ones(4), num_nodes=6)
    sampler = make_sampler(planning_graph(data))
    goals = sampler.goals_of(torch.tensor([1, 3]), 3000)
    assert goals[1].unique().tolist() == [4]
    share = goals[0].bincount(minlength=6) / 3000
    assert share[3:].tolist() == [0, 0, 0]
    assert float((share[:3] - 1 / 3).abs().max()) < 0.04


def test_patches_are_nearest_to_their_centres(grid: Data) -> None:
    """Slowly: a search from every centre, and the first of the nearest."""
    sampler, nxg = make_sampler(grid, 3), to_nx(grid)
    sources = grid.edge_index[0].unique()
    state = sampler.generator.get_state()
    order, number = (x.tolist() for x in sampler.patches(7))
    sampler.generator.set_state(state)
    num = sources.numel() // 7
    centres = sources[sampler.permutation(sources.numel())[:num]].tolist()
    hops = [nx.single_source_shortest_path_length(nxg, c) for c in centres]
    near = {
        node: min((hops[c][node], c) for c in range(num))[1] for node in order
    }
    assert order == sorted(near, key=lambda node: (near[node], node))
    assert number == [near[node] for node in order]
    for centre in range(num):
        patch = [node for node in order if near[node] == centre]
        assert nx.is_connected(nxg.subgraph(patch).to_undirected())


def test_sources_are_dealt_out_in_rounds(grid: Data) -> None:
    patches = Patches(make_sampler(grid), size=5)
    total = patches.order.numel()
    first = patches.order
    seen = torch.cat([patches.take(10)[0] for _ in range(total // 10)])
    assert seen.tolist() == first[: seen.numel()].tolist()
    taken = zip(patches.take(10), (patches.order, patches.patch), strict=True)
    assert all(torch.equal(some, all_of[:10]) for some, all_of in taken)
    assert not torch.equal(patches.order, first)
    everything, _ = patches.take(2 * total)
    assert everything.sort().values.tolist() == first.sort().values.tolist()


@pytest.mark.parametrize('island', [False, True])
def test_every_source_is_dealt_out_about_equally_often(island: bool) -> None:
    data = planning_graph(weighted_grid('ushape', 10, 'wide', 7))
    if island:  # two of the blocked cells are joined
        blocked = torch.ones(100, dtype=torch.bool)
        blocked[data.edge_index[0]] = False
        pair = blocked.nonzero().flatten()[:2]
        ends = torch.stack([pair, pair.flip(0)])
        data = planning_graph(
            Data(
                pos=data.pos,
                edge_index=torch.cat([data.edge_index, ends], 1),
                edge_cost=torch.cat([data.edge_cost, torch.ones(2)]),
            )
        )
    patches = Patches(make_sampler(data), size=8)
    drawn = torch.cat([patches.take(16)[0] for _ in range(2000)])
    share = drawn.bincount()[data.edge_index[0].unique()].float()
    share /= share.mean()
    assert 0.9 < float(share.min()) and float(share.max()) < 1.1

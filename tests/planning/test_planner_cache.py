"""With and without an edge cache: the same answers."""

from __future__ import annotations

import pytest
import torch
from helpers import (
    ALL_ENCODERS,
    ALL_READOUTS,
    assert_same_plan,
    assert_sound,
    integer_map,
    random_graphs,
    score_table,
    slow_walk,
    tiny_map,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, planning_graph
from bcm_pyg.datasets import sample_queries
from bcm_pyg.nn import Transition, encoder_resolver
from bcm_pyg.planning import Greedy, Readout, VisitedGreedy, scorer

TERMINALS = ['calibrated', 'paper']


def every_query(num_nodes: int) -> tuple[Tensor, Tensor]:
    nodes = torch.arange(num_nodes)
    return nodes.repeat_interleave(num_nodes), nodes.repeat(num_nodes)


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
@settings(deadline=None, max_examples=15)
@given(graph=random_graphs(), seed=st.integers(0, 999))
def test_same_plans_of_whole_numbers(
    readout: Readout, graph: Data, seed: int
) -> None:
    # No rounding: even ties are broken alike.
    data = planning_graph(graph)
    model = integer_map(data, 'one_hot', TERMINALS[seed % 2], seed)
    queries = every_query(data.num_nodes)
    cached, plain = (
        Planner(model, data, readout, cache=cache)(*queries)
        for cache in (True, False)
    )
    assert_same_plan(cached, plain)


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_same_choices_but_for_ties(
    grid: Data, encoder: str, terminal: str
) -> None:
    model = tiny_map(grid, encoder, terminal)
    starts, goals = sample_queries(grid, 60, seed=1)
    table = score_table(model, grid)
    decided = 0
    for readout in (Greedy(), VisitedGreedy()):
        cached, plain = (
            Planner(model, grid, readout, cache=cache)(starts, goals)
            for cache in (True, False)
        )
        assert_sound(cached, grid, starts.tolist(), goals.tolist())
        for query in range(60):
            walk = slow_walk(
                grid,
                table,
                int(starts[query]),
                int(goals[query]),
                prefer_unvisited=readout == VisitedGreedy(),
            )
            if walk.margin > 1e-5:
                decided += 1
                assert cached.path(query) == plain.path(query) == walk.path
    assert decided > 60


@pytest.mark.parametrize('readout', [Greedy(), VisitedGreedy()], ids=str)
@pytest.mark.parametrize('terminal', TERMINALS)
def test_hubs(readout: Readout, terminal: str) -> None:
    # A ring of 150 nodes, and two hubs that know all of it.
    ring, hub = torch.arange(150), torch.full((150,), 150)
    edges = [
        torch.stack([ring, (ring + 1) % 150]),
        torch.stack([ring, (ring - 1) % 150]),
        torch.stack([hub, ring]),
        torch.stack([ring[::10], hub[::10]]),
        torch.stack([ring, hub + 1]),
        torch.stack([hub + 1, ring]),
    ]
    edge_index = torch.cat(edges, dim=1)
    data = planning_graph(
        Data(
            pos=torch.randn(152, 2),
            edge_index=edge_index,
            edge_cost=torch.arange(edge_index.size(1)) / 2.0,
        )
    )
    model = integer_map(data, 'one_hot', terminal, seed=1)
    starts, goals = torch.randint(152, (2, 300))
    starts[:50], starts[50:100] = 150, 151
    cached, plain = (
        Planner(model, data, readout, cache=cache) for cache in (True, False)
    )
    ranking = cached.scorer.ranking
    assert ranking is not None and ranking.table.wide is not None
    assert ranking.table.wide.nonzero().squeeze(1).tolist() == [150, 151]
    plan = cached(starts, goals)
    assert 0 < int(plan.success.sum())
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    assert_same_plan(plan, plain(starts, goals))


@pytest.mark.parametrize('terminal', TERMINALS)
def test_same_distances(grid: Data, terminal: str) -> None:
    model = tiny_map(grid, terminal=terminal)
    starts, goals = (ids[::7] for ids in every_query(100))
    cached, plain = (
        Planner(model, grid, cache=cache).distance(starts, goals)
        for cache in (True, False)
    )
    assert torch.isinf(plain).any() and torch.isfinite(plain).sum() > 500
    torch.testing.assert_close(cached, plain, rtol=1e-4, atol=1e-4)


def test_cache_bytes(grid: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BCM.from_data(grid)
    starts, goals = sample_queries(grid, 200, seed=0)
    rows = 100 * 256 * 4
    plain = Planner(model, grid, cache=False)
    plain(starts, goals)
    assert not plain.scorer.cache
    assert plain.cache_bytes() == rows
    for cache in (True, None):
        planner = Planner(model, grid, cache=cache)
        assert planner.scorer.cache
        assert planner.cache_bytes() == rows  # nothing was asked
        planner(starts, goals)
        edges = grid.num_edges * 257 * 4
        assert rows + edges < planner.cache_bytes() < rows + 1.05 * edges
    monkeypatch.setattr(scorer, 'MAX_CACHE_BYTES', edges - 1)
    assert not Planner(model, grid).scorer.cache
    assert Planner(model, grid, cache=True).scorer.cache
    monkeypatch.setattr(scorer, 'MAX_CACHE_BYTES', edges)
    assert Planner(model, grid).scorer.cache


@pytest.mark.parametrize('cache', [1, 0, 'yes', 2.0])
def test_bad_cache(diamond: Data, cache: object) -> None:
    with pytest.raises(BCMError, match='cache must be True, False or None'):
        Planner(BCM.from_data(diamond), diamond, cache=cache)


class Rounded(Transition):
    """Its last layer is not linear."""

    def rest(self, hidden: Tensor) -> Tensor:
        return super().rest(hidden).round()


def test_encoders_that_cannot_be_cached(grid: Data) -> None:
    module = encoder_resolver('interaction', grid)
    model = BCM(module, Rounded(module.out_channels, 8, 8), cost_scale=5.0)
    with pytest.raises(BCMError, match='Rounded has a rest'):
        Planner(model, grid, cache=True)
    starts, goals = sample_queries(grid, 20, seed=0)
    assert_same_plan(
        Planner(model, grid)(starts, goals),
        Planner(model, grid, cache=False)(starts, goals),
    )


@pytest.mark.parametrize('readout', [Greedy(), VisitedGreedy()], ids=str)
def test_overflow_breaks_nothing(grid: Data, readout: Readout) -> None:
    model = BCM.from_data(grid)
    torch.nn.init.normal_(model.transition.lin3.weight, std=1e25)
    starts, goals = sample_queries(grid, 50, seed=0)
    plan = Planner(model, grid, readout, cache=True)(starts, goals)
    assert_sound(plan, grid, starts.tolist(), goals.tolist())

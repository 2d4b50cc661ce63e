"""What a planner takes: maps that fit or do not, and scorers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import (
    ALL_ENCODERS,
    assert_same_plan,
    assert_sound,
    random_graphs,
    tiny_map,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import every_pair, optimal_costs
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, FitConfig, Planner, fit, planning_graph
from bcm_pyg.baselines import APF, Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import simplify_graph
from bcm_pyg.utils import Adjacency


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_broken_maps(diamond: Data, encoder: str) -> None:
    for value in (float('nan'), float('inf')):
        model = BCM.from_data(diamond, encoder)
        torch.nn.init.constant_(list(model.parameters())[0], value)
        with pytest.raises(BCMError, match='not finite'):
            Planner(model, diamond)
        model = BCM.from_data(diamond, encoder)
        torch.nn.init.constant_(model.transition.lin3.bias, value)
        with pytest.raises(BCMError, match='not finite'):
            Planner(model, diamond)


def test_a_trained_map_of_other_costs_is_warned_of(
    grid: Data, recwarn: pytest.WarningsRecorder
) -> None:
    model = BCM.from_data(grid)
    other = grid.clone()
    other.edge_cost = grid.edge_cost + 1
    Planner(model, other)  # it knows nothing yet, and that is warned of
    recwarn.clear()
    fit(model, grid, FitConfig(steps=1, validations=0))
    Planner(model, grid)
    assert len(recwarn) == 0
    with pytest.warns(UserWarning, match='another graph or.*costs') as caught:
        planner = Planner(model, other)
    assert caught[0].filename == __file__
    assert_sound(planner([0], [9]), other, [0], [9])
    fit(model, other, FitConfig(steps=1, validations=0))
    Planner(model, other)
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda edge, source, score: score, 'three tensors .got Tensor'),
        (lambda edge, source, score: (edge, score), 'three tensors .got tuple'),
        (lambda *parts: tuple(x.numpy() for x in parts), 'three tensors'),
        (lambda e, source, score: (e + 1, source, score), 'one of this graph'),
        (lambda edge, s, score: (edge, s + 1, score), 'one of this graph'),
        (lambda e, s, score: (e[:-1], s[:-1], score[:-1]), 'all edges'),
        (lambda e, s, score: (e, s, score[:, None]), 'a score each .got shape'),
    ],
)
@pytest.mark.parametrize('readout', ['visited_greedy', 'best_first'])
def test_what_a_scorer_gives_is_checked(
    grid: Data, readout: str, change: Any, message: str
) -> None:
    good = Planner(BCM.from_data(grid), grid).scorer
    planner = Planner(lambda n, g: change(*good(n, g)), grid, readout)
    with pytest.raises(BCMError, match=message):
        planner(0, 99)


def test_a_scorer_may_have_a_unit(grid: Data) -> None:
    good = Planner(BCM.from_data(grid), grid).scorer

    class Doubled:
        cost_scale = good.cost_scale / 2

        def __call__(self, nodes: torch.Tensor, goals: torch.Tensor) -> Any:
            edge, source, score = good(nodes, goals)
            return edge, source, 2 * score

    starts, goals = sample_queries(grid, 20, seed=0)
    wanted = Planner(BCM.from_data(grid), grid).distance(0, 99)
    assert Planner(Doubled(), grid).distance(0, 99).shape == wanted.shape
    plain = Planner(lambda n, g: good(n, g), grid, 'greedy')(starts, goals)
    assert_same_plan(Planner(Doubled(), grid, 'greedy')(starts, goals), plain)


def test_another_readout_of_the_same_map(grid: Data) -> None:
    planner = Planner(BCM.paper(grid), grid, 'greedy')
    proven = planner.with_readout('Corridor', epsilon=0.05)
    assert (planner.complete, planner.landmarks) == (False, 0)
    assert (proven.complete, proven.landmarks) == (True, 16)
    assert proven.scorer is planner.scorer
    plan = proven(0, [99, 55])
    assert bool((plan.cost <= 1.05 * plan.lower_bound).all())
    again = proven.with_readout('visited_greedy')
    assert again.bounds is proven.bounds and again.epsilon is None
    assert not again.complete
    with pytest.raises(BCMError, match='epsilon'):
        planner.with_readout('corridor', epsilon=-1)


def test_an_untrained_map_is_warned_of(grid: Data) -> None:
    model = BCM.from_data(grid)
    with pytest.warns(UserWarning, match='the map is untrained') as caught:
        Planner(model, grid)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        other = BCM.from_data(grid)
        other.load_state_dict(model.state_dict())
        Planner(other, grid)
        stepped = BCM.from_data(grid)
        for value in stepped.parameters():  # as a loop of one's own would
            value.data.add_(1e-3)
            value.grad = torch.zeros_like(value)
        torch.optim.SGD(stepped.parameters(), lr=0.1).step()
        Planner(stepped, grid)
        fitted = BCM.from_data(grid)
        fit(fitted, grid, steps=2, validations=1)
        Planner(fitted, grid)
    fitted.reset_parameters()
    assert fitted.is_untrained() and not stepped.is_untrained()


def test_a_compiled_map_is_a_map(grid: Data) -> None:
    model = BCM.from_data(grid)
    fit(torch.compile(model), grid, steps=2, validations=0)
    assert model.info.training['steps'] == 2
    plan = Planner(torch.compile(model), grid, 'corridor')([0, 5], 99)
    want = Planner(model, grid)([0, 5], 99)
    assert plan.nodes.tolist() == want.nodes.tolist()
    planner = Planner(model, grid)
    planner.refresh(torch.compile(model))
    assert planner([0, 5], 99).cost.tolist() == want.cost.tolist()


@pytest.mark.parametrize('encoder', ['node_table', 'one_hot', 'landmark'])
def test_a_graph_without_coordinates(
    grid: Data, encoder: str, tmp_path: Path
) -> None:
    data = Data(edge_index=grid.edge_index, edge_cost=grid.edge_cost)
    data.num_nodes = grid.num_nodes
    model = BCM.from_data(data, encoder)
    fit(model, data, steps=2, validations=0)
    model.save(tmp_path)
    planner = Planner(BCM.load(tmp_path, data), data)
    starts, goals = sample_queries(data, 20)
    assert_sound(planner(starts, goals), data, starts, goals)
    roads = simplify_graph(data)
    assert roads.data.get('pos') is None
    with pytest.raises(BCMError, match="encoder 'interaction' .*needs them"):
        BCM.from_data(data, 'interaction')
    with pytest.raises(BCMError, match="encoder 'grid' .*needs them"):
        BCM.from_data(data, 'grid+node_table')
    with pytest.raises(BCMError, match='InteractionEncoder needs them'):
        Planner(BCM.from_data(grid), data)
    with pytest.raises(BCMError, match='APF needs them'):
        APF(data)


@pytest.mark.parametrize('asked', [True, False])
def test_proofs_on_a_subgraph(asked: bool) -> None:
    data = weighted_grid('open', side=6, seed=1)
    starts, goals = sample_queries(data, 60, seed=3)
    planner = Planner(tiny_map(data), data, epsilon=0.0, landmarks=4)
    if asked:
        planner(starts, goals)
    draw = torch.Generator().manual_seed(0)
    kept = torch.rand(data.num_edges, generator=draw) < 0.8
    closed = data.clone()
    closed.edge_index = data.edge_index[:, kept]
    closed.edge_cost = data.edge_cost[kept]
    view = planner.on_subgraph(closed)
    plan = view(starts, goals)
    exact = Dijkstra(closed)(starts, goals)
    torch.testing.assert_close(plan.cost, exact.cost)
    edges = Adjacency.from_data(planning_graph(closed)).route_edges(plan.nodes)
    assert not bool((edges == -2).any())
    assert view.bounds.arrays is planner.bounds.arrays  # found once
    # Where the whole graph is a part of this one, its bounds are no bounds.
    assert view.on_subgraph(data).bounds.arrays is not planner.bounds.arrays
    cheaper = data.clone()
    cheaper.edge_cost = data.edge_cost / 2
    plan = planner.on_subgraph(cheaper)(starts, goals)
    torch.testing.assert_close(plan.cost, Dijkstra(cheaper)(starts, goals).cost)
    assert bool((plan.lower_bound <= plan.cost).all())


@settings(deadline=None, max_examples=40)
@given(
    graph=random_graphs(),
    epsilon=st.sampled_from([None, 0.0, 0.05, 1.0]),
    full=st.booleans(),
    seed=st.integers(0, 999),
    within=st.integers(0, 9),
)
def test_bounds_of_the_whole_graph_bound_its_parts(
    graph: Data, epsilon: float | None, full: bool, seed: int, within: int
) -> None:
    whole = planning_graph(graph)
    rng = np.random.default_rng(seed)
    kept = rng.random(whole.num_edges) < 0.7
    kept[rng.integers(whole.num_edges)] = True  # at least one
    part = whole.clone()
    part.edge_index = whole.edge_index[:, torch.from_numpy(kept)]
    more = torch.from_numpy(rng.integers(0, 3, kept.sum())).float()
    part.edge_cost = whole.edge_cost[torch.from_numpy(kept)] + more
    on, sub = whole, part
    if full:
        try:
            on = simplify_graph(whole)
            sub = simplify_graph(part, on.node)
        except BCMError:  # no edge would be left
            on, sub = whole, part
    model = tiny_map(on if on is whole else on.data)
    planner = Planner(model, on, epsilon=epsilon, landmarks=3)
    view = planner.on_subgraph(sub)
    assert view.bounds.arrays is planner.bounds.arrays
    starts, goals = every_pair(int(whole.num_nodes))
    plan = view(starts, goals)
    optimal = torch.tensor(
        optimal_costs(part, starts, goals), dtype=torch.float64
    )
    assert plan.success.tolist() == optimal.isfinite().tolist()
    assert_sound(plan, part, starts.tolist(), goals.tolist())
    assert bool((plan.lower_bound <= optimal * (1 + 1e-12)).all())
    if epsilon is not None:
        most = (1 + epsilon) * (1 + 1e-12)  # sums in another order
        assert bool((plan.cost <= most * plan.lower_bound).all())
        assert bool((plan.cost <= most * optimal).all())
    # A distance is no less than its bound, and exact where a search ends.
    found = view.distance(starts, goals, exact_within=within)
    assert bool((found.isinf() | optimal.isfinite()).all())
    settled = view.distance(starts, goals, exact_within=999)
    assert settled.tolist() == pytest.approx(optimal.tolist())

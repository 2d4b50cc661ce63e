from __future__ import annotations

import pytest
import torch
from helpers import assert_sound, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import (
    TableScores,
    best_inside,
    connected_pairs,
    exact_table,
    integer_table,
    optimal_costs,
    slow_search,
)
from torch_geometric.data import Data

from bcm_pyg import BCMError, Planner, planning_graph
from bcm_pyg.baselines import APF, Dijkstra, EigenAgent
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import Beam, BestFirst, LandmarkBounds
from bcm_pyg.planning._landmarks import BoundScorer
from bcm_pyg.utils import Adjacency


@pytest.mark.parametrize('weight', [0, 1, 3.0])
@settings(deadline=None, max_examples=20)
@given(graph=random_graphs(), high=st.integers(1, 20), seed=st.integers(0, 99))
def test_the_best_route_through_what_was_expanded(
    weight: float, graph: Data, high: int, seed: int
) -> None:
    data = planning_graph(graph)
    table = integer_table(data, high, seed)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    scorer = TableScores(adjacency, table)
    plan = BestFirst(weight)(scorer, adjacency, starts, goals)
    assert plan.success.all()
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    rows = table.tolist()
    queries = zip(starts.tolist(), goals.tolist(), strict=True)
    for query, (start, goal) in enumerate(queries):
        expanded, _, reached = slow_search(
            data, rows, start, goal, weight=weight
        )
        assert reached
        cost = best_inside(data, set(expanded), start, goal)
        assert plan.cost[query] == cost
        assert plan.expansions[query] == len(expanded)


@pytest.mark.parametrize('width', [1, 3])
@settings(deadline=None, max_examples=20)
@given(graph=random_graphs(), high=st.integers(1, 20), seed=st.integers(0, 99))
def test_the_best_route_through_a_beam(
    width: int, graph: Data, high: int, seed: int
) -> None:
    data = planning_graph(graph)
    table = integer_table(data, high, seed)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    scorer = TableScores(adjacency, table)
    plan = Beam(width)(scorer, adjacency, starts, goals)
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    rows = table.tolist()
    queries = zip(starts.tolist(), goals.tolist(), strict=True)
    for query, (start, goal) in enumerate(queries):
        expanded, _, reached = slow_search(data, rows, start, goal, width=width)
        cost = best_inside(data, set(expanded), start, goal)
        assert reached <= (cost < float('inf'))
        assert plan.cost[query] == cost
        assert plan.expansions[query] == len(expanded)


@settings(deadline=None, max_examples=20)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_what_is_consistent_is_optimal(graph: Data, seed: int) -> None:
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    optimal = optimal_costs(data, starts, goals)
    noise = integer_table(data, 9, seed)
    for weight, table in (
        (0, noise),
        (0, torch.full_like(noise, float('inf'))),
        (1, exact_table(data)),
        (1, torch.zeros_like(noise)),
        (0.5, exact_table(data)),
    ):
        scorer = TableScores(adjacency, table)
        plan = BestFirst(weight)(scorer, adjacency, starts, goals)
        assert plan.cost.tolist() == optimal


def test_a_wide_beam_is_a_search(grid: Data) -> None:
    adjacency = Adjacency.from_data(grid)
    starts, goals = connected_pairs(grid)
    starts, goals = starts[::97], goals[::97]
    optimal = torch.tensor(optimal_costs(grid, starts, goals))
    gaps = []
    for width in (1, 4, 100):
        scorer = TableScores(adjacency, exact_table(grid) * 1.0)
        plan = Beam(width)(scorer, adjacency, starts, goals)
        found = plan.success
        gaps.append(float((plan.cost - optimal)[found].mean()))
    assert gaps == pytest.approx([0, 0, 0], abs=1e-5)


def test_settings() -> None:
    assert str(BestFirst()) == 'BestFirst(weight=1.0)'
    assert str(Beam()) == 'Beam(width=4)'
    assert BestFirst(2) == BestFirst(weight=2.0)
    for weight in (-1, float('nan'), float('inf'), '1', True, None):
        with pytest.raises(BCMError, match='weight'):
            BestFirst(weight)
    for width in (0, -1, 1.5, None, True):
        with pytest.raises(BCMError, match='width'):
            Beam(width)


def test_what_is_consistent_is_optimal_in_large_searches() -> None:
    """More than any number of nodes that might be expanded at once."""
    data = weighted_grid('ushape', side=30, costs='wide', seed=3)
    adjacency = Adjacency.from_data(data)
    bounds = BoundScorer(LandmarkBounds(adjacency, 1))  # loose bounds
    starts, goals = sample_queries(data, 40, seed=0)
    plan = BestFirst()(bounds, adjacency, starts, goals)
    assert plan.expansions.max() > 300
    best = Dijkstra(data)(starts, goals).cost
    torch.testing.assert_close(plan.cost, best, rtol=1e-12, atol=0)


def test_a_readout_needs_no_map(grid: Data) -> None:
    """Potentials of the baselines, read by search."""
    starts, goals = sample_queries(grid, 20, seed=0)
    best = Dijkstra(grid)(starts, goals).cost
    for agent in (APF(grid, readout='best_first'), EigenAgent(grid)):
        planner = Planner(agent.score, grid, BestFirst())
        plan = planner(starts, goals)
        assert plan.success.all()
        assert_sound(plan, grid, starts.tolist(), goals.tolist())
        assert (plan.cost >= best * (1 - 1e-9)).all()
    plan = APF(grid, readout='best_first')(starts, goals)
    assert plan.success.all()

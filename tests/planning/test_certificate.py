from __future__ import annotations

import pytest
import torch
from helpers import assert_sound, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import (
    TableScores,
    connected_pairs,
    integer_table,
    optimal_costs,
)
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.planning import (
    Beam,
    BestFirst,
    LandmarkBounds,
    Plan,
    VisitedGreedy,
)
from bcm_pyg.planning._landmarks import certified, with_bounds
from bcm_pyg.utils import Adjacency


def proven(plan: Plan, epsilon: float) -> Tensor:
    return plan.cost <= (1 + epsilon) * plan.lower_bound


@pytest.mark.parametrize('readout', [VisitedGreedy(), Beam(1)], ids=str)
@settings(deadline=None, max_examples=20)
@given(
    graph=random_graphs(),
    number=st.integers(1, 4),
    epsilon=st.sampled_from([0.0, 1e-9, 0.05, 1.0]),
    noise=st.booleans(),
    seed=st.integers(0, 99),
)
def test_within_epsilon_of_the_optimum(
    readout: VisitedGreedy | Beam,
    graph: Data,
    number: int,
    epsilon: float,
    noise: bool,
    seed: int,
) -> None:
    if noise:
        graph.edge_attr = graph.edge_attr * torch.rand(len(graph.edge_attr))
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    scorer = TableScores(adjacency, integer_table(data, 9, seed))
    before = readout(scorer, adjacency, starts, goals)  # some have no route
    bounds = LandmarkBounds(adjacency, number)
    plan = certified(before, bounds, starts, goals, epsilon)
    assert plan.success.all()
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    optimal = torch.tensor(
        optimal_costs(data, starts, goals), dtype=torch.float64
    )
    assert proven(plan, epsilon).all()
    assert (plan.lower_bound <= optimal * (1 + 1e-12)).all()
    assert (plan.cost <= (1 + epsilon) * optimal * (1 + 1e-12)).all()
    assert (plan.cost <= before.cost).all()
    assert (plan.expansions >= before.expansions).all()

    bounded = with_bounds(before, bounds, starts, goals)
    assert (bounded.lower_bound <= optimal * (1 + 1e-12)).all()
    assert (bounded.lower_bound <= plan.lower_bound).all()
    # What was proven already is left alone.
    done = proven(bounded, epsilon)
    assert plan.expansions[done].tolist() == before.expansions[done].tolist()
    assert plan.cost[done].tolist() == before.cost[done].tolist()


def test_looser_is_cheaper(grid: Data) -> None:
    adjacency = Adjacency.from_data(grid)
    starts, goals = connected_pairs(grid)
    starts, goals = starts[::53], goals[::53]
    scorer = TableScores(adjacency, torch.zeros(grid.num_edges, 100))
    before = BestFirst(0)(scorer, adjacency, starts, goals)  # optimal
    bounds = LandmarkBounds(adjacency, 4)
    work, costs = [], []
    for epsilon in (0.0, 0.02, 0.1, 0.5):
        plan = certified(before, bounds, starts, goals, epsilon)
        assert proven(plan, epsilon).all()
        work.append(int((plan.expansions - before.expansions).sum()))
        costs.append(plan.cost.tolist())
    assert work == sorted(work, reverse=True)
    assert work[0] > 4 * work[2] > 0
    assert all(cost == before.cost.tolist() for cost in costs)

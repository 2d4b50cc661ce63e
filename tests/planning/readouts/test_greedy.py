from __future__ import annotations

from dataclasses import FrozenInstanceError

import networkx as nx
import pytest
import torch
from helpers import (
    ALL_ENCODERS,
    assert_sound,
    integer_map,
    random_graphs,
    score_table,
    slow_walk,
    to_nx,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, Planner, fit, planning_graph
from bcm_pyg.datasets import sample_queries
from bcm_pyg.nn import Transition, encoder_resolver
from bcm_pyg.planning import Greedy, Readout, VisitedGreedy

#: The paper's readouts, and whether each prefers unvisited neighbours.
READOUTS = [(Greedy(), False), (VisitedGreedy(), True)]
TERMINALS = ['calibrated', 'paper']


def assert_as_defined(
    model: BCM,
    data: Data,
    readout: Readout,
    prefer_unvisited: bool,
    starts: list[int],
    goals: list[int],
    least_margin: float,
) -> int:
    """Compares with the one-query loop; returns how many were decided.

    Scores within :obj:`least_margin` may be ranked either way by rounding.
    """
    plan = Planner(model, data, readout)(starts, goals)
    assert_sound(plan, data, starts, goals)
    table, graph = score_table(model, data), to_nx(data)
    decided = 0
    for query, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        if not nx.has_path(graph, start, goal):
            assert not plan.success[query]
            assert plan.lower_bound[query] == float('inf')
            assert plan.expansions[query] == 0
            continue
        walk = slow_walk(data, table, start, goal, prefer_unvisited)
        if walk.margin < least_margin:
            continue
        decided += 1
        assert plan.path(query) == walk.path
        assert plan.success[query] == walk.success
        assert float(plan.cost[query]) == pytest.approx(walk.cost, rel=1e-12)
        assert plan.hops[query] == max(0, len(walk.path) - 1)
        assert plan.expansions[query] == walk.expansions
    return decided


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize(('readout', 'prefer_unvisited'), READOUTS)
@settings(deadline=None, max_examples=25)
@given(graph=random_graphs(), seed=st.integers(0, 999))
def test_every_query_of_a_random_graph(
    readout: Readout,
    prefer_unvisited: bool,
    terminal: str,
    graph: Data,
    seed: int,
) -> None:
    # Integer weights: no rounding, so even ties must be broken alike.
    data = planning_graph(graph)
    model = integer_map(data, 'one_hot', terminal, seed)
    nodes = range(data.num_nodes)
    starts = [start for start in nodes for _ in nodes]
    goals = [goal for _ in nodes for goal in nodes]
    decided = assert_as_defined(
        model, data, readout, prefer_unvisited, starts, goals, 0.0
    )
    assert decided >= data.num_nodes  # at least every start to itself


@pytest.mark.parametrize('trained', [False, True])
@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_queries_of_a_grid(
    grid: Data, encoder: str, terminal: str, trained: bool
) -> None:
    module = encoder_resolver(encoder, grid)
    transition = Transition(module.out_channels, 32, 32)
    model = BCM(module, transition, terminal, cost_scale=5.5)
    if trained:
        config = FitConfig(steps=15, sources=16, goals=8, validation_queries=0)
        fit(model, grid, config)
    starts, goals = (ids.tolist() for ids in sample_queries(grid, 25, seed=3))
    for readout, prefer_unvisited in READOUTS:
        decided = assert_as_defined(
            model, grid, readout, prefer_unvisited, starts, goals, 1e-5
        )
        assert decided >= 15


def test_greedy_goes_in_circles(diamond: Data) -> None:
    readout = Greedy()
    assert str(readout) == 'Greedy()'
    with pytest.raises(FrozenInstanceError):
        readout.depth = 2  # type: ignore[attr-defined]
    # All scores are 0 and ties go to the lowest edge: 0 -> 1 -> 3 -> 0 -> ...
    model = BCM.from_data(diamond, terminal='calibrated')
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    plan = Planner(model, diamond, readout)([0, 3, 0], [3, 2, 2])
    assert [plan.path(query) for query in range(3)] == [[0, 1, 3], [], []]
    assert plan.success.tolist() == [True, False, False]
    assert plan.cost.tolist() == [2, float('inf'), float('inf')]
    assert plan.hops.tolist() == [2, 0, 0]
    assert plan.expansions.tolist() == [2, 3, 3]


@pytest.mark.parametrize('readout', [Greedy(), VisitedGreedy()])
def test_paper_convention_takes_an_edge_into_the_goal(
    diamond: Data, readout: Readout
) -> None:
    model = BCM.paper(diamond)
    plan = Planner(model, diamond, readout)([0, 0, 2, 3], [1, 2, 3, 0])
    assert plan.hops.tolist() == [1, 1, 1, 1]
    assert plan.cost.tolist() == [1, 5, 0, 10]

"""What a planner promises, whatever map and readout it has."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from helpers import (
    ALL_READOUTS,
    assert_same_plan,
    assert_sound,
    random_graphs,
    tiny_map,
    to_nx,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import TableScores, connected_pairs, every_pair, optimal_costs
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, planning_graph
from bcm_pyg.metrics import check_plan
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    Readout,
    VisitedGreedy,
)
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')
OF_THE_PAPER = [Greedy(), VisitedGreedy()]
#: Scores that lead astray.
SCORES = {
    'random': lambda shape: torch.rand(shape),
    'constant': lambda shape: torch.ones(shape),
    'negative': lambda shape: -torch.rand(shape),
    'infinite': lambda shape: torch.full(shape, INFINITE),
    'nan': lambda shape: torch.full(shape, float('nan')),
}


def traps() -> Data:
    r"""Dead ends, a way of no return, a trap and an island.

    ::

        0 -> 1 -> 2 -> 3      2 -> 4 -> 5 -> 4 (no way back)
        0 -> 6, 1 -> 7 (dead ends)      8 -> 0      9 <-> 10
    """
    return planning_graph(
        Data(
            pos=torch.randn(11, 2),
            edge_index=torch.tensor(
                [
                    [0, 1, 2, 2, 4, 5, 0, 1, 8, 9, 10],
                    [1, 2, 3, 4, 5, 4, 6, 7, 0, 10, 9],
                ]
            ),
            edge_cost=torch.tensor([5.0, 5, 5, 0, 0, 0, 1, 1, 1, 2, 2]),
        )
    )


def assert_complete(planner: Planner, data: Data) -> None:
    starts, goals = every_pair(data.num_nodes)
    plan = planner(starts, goals)
    graph = to_nx(data)
    reachable = [
        nx.has_path(graph, start, goal)
        for start, goal in zip(starts.tolist(), goals.tolist(), strict=True)
    ]
    assert plan.success.tolist() == reachable
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    check_plan(plan, Adjacency.from_data(data), starts, goals)
    unreachable = ~torch.tensor(reachable)
    assert plan.expansions[unreachable].eq(0).all()  # no step was spent


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
@settings(deadline=None, max_examples=10)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_never_a_miss(readout: Readout, graph: Data, seed: int) -> None:
    torch.manual_seed(seed)
    data = planning_graph(graph)
    model = tiny_map(data, terminal=['calibrated', 'paper'][seed % 2])
    assert_complete(Planner(model, data, readout, complete=True), data)


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
def test_traps(readout: Readout) -> None:
    data = traps()
    for seed in range(3):
        torch.manual_seed(seed)
        planner = Planner(tiny_map(data), data, readout, complete=True)
        assert_complete(planner, data)


@pytest.mark.parametrize('name', SCORES)
@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
@settings(deadline=None, max_examples=4)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_any_scorer(
    readout: Readout, name: str, graph: Data, seed: int
) -> None:
    torch.manual_seed(seed)
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    starts, goals = connected_pairs(data)
    table = SCORES[name]((data.num_edges, data.num_nodes))
    scorer = TableScores(adjacency, table)
    plan = readout(scorer, adjacency, starts, goals)
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    planner = Planner(scorer, data, readout, complete=True)
    whole = planner(starts, goals)
    assert whole.success.all()
    assert_sound(whole, data, starts.tolist(), goals.tolist())
    found = plan.success.nonzero().flatten()
    assert whole.cost[found].tolist() == plan.cost[found].tolist()
    assert (whole.expansions >= plan.expansions).all()


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
@settings(deadline=None, max_examples=6)
@given(graph=random_graphs(), epsilon=st.sampled_from([0.0, 0.1]))
def test_proven(readout: Readout, graph: Data, epsilon: float) -> None:
    data = planning_graph(graph)
    planner = Planner(tiny_map(data), data, readout, epsilon=epsilon)
    assert planner.complete
    assert_complete(planner, data)
    starts, goals = every_pair(data.num_nodes)
    plan = planner(starts, goals)
    optimal = torch.tensor(
        optimal_costs(data, starts, goals), dtype=torch.float64
    )
    assert (plan.cost <= (1 + epsilon) * plan.lower_bound).all()
    assert (plan.lower_bound <= optimal * (1 + 1e-12)).all()
    if epsilon == 0:
        torch.testing.assert_close(plan.cost, optimal, rtol=1e-12, atol=0)


def test_complete_by_default_but_for_the_paper(diamond: Data) -> None:
    model = BCM.from_data(diamond)
    for readout in ALL_READOUTS:
        expected = readout not in OF_THE_PAPER
        assert Planner(model, diamond, readout).complete == expected
        for complete in (True, False):
            planner = Planner(model, diamond, readout, complete=complete)
            assert planner.complete is complete
    assert Planner(model, diamond).complete
    walk = VisitedGreedy()
    assert Planner(model, diamond, walk, epsilon=1).complete


def test_the_fallback_is_only_asked_for_what_failed() -> None:
    data = traps()
    model = tiny_map(data)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    starts, goals = every_pair(data.num_nodes)
    for readout in (*OF_THE_PAPER, Lookahead(1), Beam(1)):
        alone = Planner(model, data, readout, complete=False)(starts, goals)
        whole = Planner(model, data, readout, complete=True)(starts, goals)
        failed = ~alone.success & alone.lower_bound.isfinite()
        assert failed.any()
        kept = ~failed
        for name in ('cost', 'hops', 'expansions'):
            one, two = getattr(alone, name), getattr(whole, name)
            assert one[kept].tolist() == two[kept].tolist()
    for readout in (BestFirst(), Corridor(), Backtracking()):  # never fail
        alone = Planner(model, data, readout, complete=False)(starts, goals)
        whole = Planner(model, data, readout)(starts, goals)
        assert_same_plan(alone, whole)


def test_landmarks_are_found_when_needed(grid: Data) -> None:
    model = BCM.from_data(grid)
    plain = Planner(model, grid, BestFirst())
    plan = plain(0, 99)
    assert plan.lower_bound.tolist() == [0]
    assert 'bounds' not in vars(plain)
    planner = Planner(model, grid, BestFirst(), landmarks=3)
    before = planner.cache_bytes()
    plan = planner(0, 99)
    assert 0 < float(plan.lower_bound) <= float(plan.cost)
    assert planner.bounds.num_bytes() == 2 * 3 * 100
    assert planner.cache_bytes() >= before + 8 * 3 * 100
    assert planner([], []).lower_bound.shape == (0,)


def test_bad_promises(diamond: Data) -> None:
    model = BCM.from_data(diamond)

    def planner(**settings: object) -> Planner:
        return Planner(model, diamond, **settings)

    for complete in ('yes', 1, 0.0):
        with pytest.raises(BCMError, match='complete'):
            planner(complete=complete)
    for epsilon in (-0.1, float('nan'), INFINITE, '5%', True):
        with pytest.raises(BCMError, match='epsilon'):
            planner(epsilon=epsilon)
    for landmarks in (-1, 2.5, '8', True):
        with pytest.raises(BCMError, match='landmarks'):
            planner(landmarks=landmarks)
    with pytest.raises(BCMError, match='landmarks'):
        planner(landmarks=0, epsilon=0.1)
    with pytest.raises(BCMError, match='epsilon needs complete'):
        planner(complete=False, epsilon=0.1)


def test_one_way_streets(andorra: Data) -> None:
    data = planning_graph(andorra)
    model = BCM.from_data(data)
    generator = torch.Generator().manual_seed(0)
    size = (2, 20)
    starts, goals = torch.randint(data.num_nodes, size, generator=generator)
    optimal = costs_of(data, starts, goals)
    plan = Planner(model, data, Corridor(), epsilon=0.05)(starts, goals)
    assert plan.success.tolist() == optimal.isfinite().tolist()
    check_plan(plan, Adjacency.from_data(data), starts, goals)
    assert (plan.lower_bound <= optimal * (1 + 1e-9)).all()
    assert (plan.cost <= 1.05 * plan.lower_bound).all()


def costs_of(data: Data, starts: Tensor, goals: Tensor) -> Tensor:
    graph = to_nx(data)
    costs = []
    for start, goal in zip(starts.tolist(), goals.tolist(), strict=True):
        try:
            cost = nx.dijkstra_path_length(graph, start, goal, weight='cost')
        except nx.NetworkXNoPath:
            cost = INFINITE
        costs.append(cost)
    return torch.tensor(costs, dtype=torch.float64)

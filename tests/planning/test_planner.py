from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import (
    ALL_ENCODERS,
    ALL_READOUTS,
    assert_same_plan,
    assert_sound,
    integer_map,
    random_graph,
    random_graphs,
    to_nx,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, planning_graph
from bcm_pyg.datasets import sample_queries
from bcm_pyg.nn import scoring
from bcm_pyg.planning import (
    Corridor,
    Plan,
    Readout,
    VisitedGreedy,
    _engine,
    _map_scorer,
)

INFINITE = float('inf')
TERMINALS = ['calibrated', 'paper']


@pytest.fixture
def planner(diamond: Data) -> Planner:
    return Planner(BCM.from_data(diamond), diamond)


def every_query(num_nodes: int) -> tuple[list[int], list[int]]:
    nodes = range(num_nodes)
    return [s for s in nodes for _ in nodes], [g for _ in nodes for g in nodes]


def test_planner(planner: Planner) -> None:
    assert str(planner) == f'Planner({Corridor()}, num_nodes=5)'
    assert planner.cache_bytes() == 5 * 128 * 4
    plan = planner([1, 2], [3, 3])
    assert [plan.path(0), plan.path(1)] == [[1, 3], [2, 3]]
    assert plan.cost.tolist() == [1, 0]


@pytest.mark.parametrize('readout', ALL_READOUTS)
@settings(deadline=None, max_examples=15)
@given(graph=random_graphs(), seed=st.integers(0, 999))
def test_every_plan_is_sound(readout: Readout, graph: Data, seed: int) -> None:
    data = planning_graph(graph)
    model = integer_map(data, 'one_hot', TERMINALS[seed % 2], seed)
    starts, goals = every_query(data.num_nodes)
    plan = Planner(model, graph, readout)(starts, goals)
    assert_sound(plan, data, starts, goals)
    # The raw graph, loops and parallel edges included, is the same to it.
    assert_same_plan(plan, Planner(model, data, readout)(starts, goals))


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('readout', ALL_READOUTS)
def test_batches_are_one_query_at_a_time(
    readout: Readout, terminal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = planning_graph(random_graph(12, 30, seed=5))
    model = integer_map(data, 'one_hot', terminal, seed=5)
    starts, goals = (ids[::4] for ids in every_query(12))
    planner = Planner(model, data, readout)
    whole = planner(starts, goals)
    assert 3 < int(whole.success.sum()) < 36  # there is something to compare
    queries = list(zip(starts, goals, strict=True))
    alone = [planner(start, goal) for start, goal in queries]
    assert_same_plan(whole, Plan.cat(alone))
    for size in (1, 3, 36):
        monkeypatch.setattr(Planner, 'batch_size', size)
        assert_same_plan(whole, planner(starts, goals))
    monkeypatch.undo()
    for size in (1, 5):
        monkeypatch.setattr(_engine, 'PART', size)
        assert_same_plan(whole, planner(starts, goals))
    twice = planner(starts + starts, goals + goals)
    assert_same_plan(twice, Plan.cat([whole, whole]))
    for max_rows in (1, 5):
        monkeypatch.setattr(_map_scorer, 'MAX_ROWS', max_rows)
        monkeypatch.setattr(scoring, 'MAX_ROWS', max_rows)
        assert_same_plan(whole, planner(starts, goals))


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
@pytest.mark.parametrize('readout', ALL_READOUTS)
def test_start_is_goal(diamond: Data, readout: Readout, encoder: str) -> None:
    planner = Planner(BCM.from_data(diamond, encoder), diamond, readout)
    plan = planner([4, 0], [4, 0])  # node 4 is isolated
    assert plan.success.tolist() == [True, True]
    assert plan.cost.tolist() == plan.lower_bound.tolist() == [0, 0]
    assert plan.hops.tolist() == plan.expansions.tolist() == [0, 0]
    assert plan.nodes.tolist() == [[4], [0]]


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
@pytest.mark.parametrize('readout', ALL_READOUTS)
def test_unreachable_goal(
    diamond: Data, readout: Readout, encoder: str
) -> None:
    planner = Planner(BCM.from_data(diamond, encoder), diamond, readout)
    for queries in (([4, 0], [0, 4]), ([4, 0, 1], [0, 4, 3])):
        plan = planner(*queries)
        assert plan.success.tolist()[:2] == [False, False]
        assert plan.cost.tolist()[:2] == [INFINITE, INFINITE]
        assert plan.lower_bound.tolist()[:2] == [INFINITE, INFINITE]
        assert plan.hops.tolist()[:2] == [0, 0]
        assert [plan.path(0), plan.path(1)] == [[], []]
    assert plan.path(2) == [1, 3]
    assert plan.lower_bound[2] <= 1


@pytest.mark.parametrize('readout', ALL_READOUTS)
def test_dead_ends(readout: Readout) -> None:
    # 1, 2 and 3 are sinks; only one of them is the goal.
    data = planning_graph(
        Data(
            pos=torch.randn(4, 2),
            edge_index=torch.tensor([[0, 0, 0], [1, 2, 3]]),
            edge_cost=torch.ones(3),
        )
    )
    planner = Planner(BCM.paper(data), data, readout)
    plan = planner([0, 0, 1, 3], [1, 3, 0, 2])
    assert plan.success.tolist() == [True, True, False, False]
    assert plan.nodes.tolist() == [[0, 1], [0, 3], [-1, -1], [-1, -1]]


@pytest.mark.parametrize(
    'empty', [[], (), np.empty(0, int), torch.empty(0).long()]
)
def test_no_queries(planner: Planner, empty: object) -> None:
    plan = planner(empty, empty)
    assert len(plan) == 0
    assert plan.nodes.dim() == 2
    assert plan.success.dtype == torch.bool
    assert plan.cost.dtype == plan.lower_bound.dtype == torch.float64
    assert plan.hops.dtype == plan.nodes.dtype == torch.long
    assert planner.distance(empty, empty).shape == (0,)
    assert planner.distance_matrix(empty, [0, 1]).shape == (0, 2)
    assert planner.distance_matrix([0, 1, 2], empty).shape == (3, 0)


@pytest.mark.parametrize(
    'make',
    [
        list,
        tuple,
        np.array,
        lambda ids: np.array(ids, dtype=np.int32),
        lambda ids: np.array(ids, dtype=np.uint8),
        torch.tensor,
        lambda ids: torch.tensor(ids, dtype=torch.int32),
    ],
)
def test_forms_of_ids(planner: Planner, make: object) -> None:
    plan = planner(make([1, 2, 4]), make([3, 3, 0]))
    assert_same_plan(plan, planner([1, 2, 4], [3, 3, 0]))


@pytest.mark.parametrize('make', [int, np.int64, np.int32, torch.tensor])
def test_single_ids(planner: Planner, make: object) -> None:
    plan = planner(make(1), make(3))
    assert plan.nodes.tolist() == [[1, 3]]
    many = planner(make(1), [3, 1, 4])  # a single one is repeated
    assert_same_plan(many, planner([1, 1, 1], [3, 1, 4]))
    many = planner([1, 2], make(3))
    assert_same_plan(many, planner([1, 2], [3, 3]))


@pytest.mark.parametrize(
    ('starts', 'goals', 'message'),
    [
        ([0, 5], [0, 0], r'starts\[1\] = 5'),
        ([0], [-1], r'goals\[0\] = -1'),
        (-1, 0, 'starts'),
        (0, 99, 'goals'),
        ([0.0], [1], 'integer'),
        (0.5, 1, 'integer'),
        (torch.tensor([0.0]), [1], 'integer'),
        (np.array([1.0]), [1], 'integer'),
        (True, 1, 'integer'),
        ([0], [False], 'integer'),
        (torch.tensor([True]), [1], 'integer'),
        ('0', 1, 'integer'),
        (None, 1, 'integer'),
        ([[0, 1]], [1], 'shape'),
        ([[0], [1, 2]], [1], 'starts'),
        ([0, 1], [1, 2, 3], 'same length'),
        ([0, 1], [], 'same length'),
        ([2**70], [0], 'starts'),
    ],
)
def test_bad_ids(
    planner: Planner, starts: object, goals: object, message: str
) -> None:
    for ask in (planner, planner.distance):
        with pytest.raises(BCMError, match=message):
            ask(starts, goals)


def test_bad_ids_of_a_matrix(planner: Planner) -> None:
    with pytest.raises(BCMError, match=r'starts\[0\] = 5'):
        planner.distance_matrix([5], [0])
    with pytest.raises(BCMError, match='goals'):
        planner.distance_matrix([0], [0.5])


def test_bad_arguments(diamond: Data) -> None:
    model = BCM.from_data(diamond)
    with pytest.raises(BCMError, match='model must be a BCM'):
        Planner(torch.nn.Linear(2, 2), diamond)
    with pytest.raises(BCMError, match='readout'):
        Planner(model, diamond, VisitedGreedy)
    with pytest.raises(BCMError, match="'greed' is not one of greedy, vis"):
        Planner(model, diamond, 'greed')
    assert Planner(model, diamond, 'visited_greedy').readout == VisitedGreedy()
    with pytest.raises(BCMError, match='edge_index'):
        Planner(model, Data(pos=diamond.pos))


@pytest.mark.parametrize('readout', ALL_READOUTS)
def test_nothing_is_changed(grid: Data, readout: Readout) -> None:
    graph = random_graph(12, 30, seed=2)
    model = BCM.from_data(graph)
    before = graph.clone()
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    starts, goals = torch.tensor([0, 1, 2]), torch.tensor([3, 4, 2])
    state = torch.get_rng_state()
    planner = Planner(model, graph, readout)
    planner(starts, goals)
    planner.distance(starts, goals)
    planner.distance_matrix(starts, goals)
    assert torch.equal(state, torch.get_rng_state())
    assert starts.tolist() == [0, 1, 2] and goals.tolist() == [3, 4, 2]
    assert graph.keys() == before.keys()
    for key in before.keys():
        assert torch.equal(graph[key], before[key])
    for key, weight in model.state_dict().items():
        assert torch.equal(weight, weights[key])
    assert model.training
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_distances_agree(encoder: str, terminal: str) -> None:
    data = planning_graph(random_graph(80, 170, seed=4))  # over 64 goals
    model = BCM.from_data(data, encoder, terminal)
    planner, graph = Planner(model, data), to_nx(data)
    starts = list(range(20))
    matrix = planner.distance_matrix(starts, range(80))
    assert matrix.shape == (20, 80)
    one = [start for start in starts for _ in range(80)]
    two = [goal for _ in starts for goal in range(80)]
    pairs = planner.distance(one, two).view(20, 80)
    torch.testing.assert_close(pairs, matrix, rtol=1e-4, atol=1e-3)
    reach = torch.tensor(
        [[nx.has_path(graph, s, g) for g in range(80)] for s in starts]
    )
    assert 100 < int(reach.sum()) < 1500
    assert matrix[~reach].eq(INFINITE).all()
    assert pairs[~reach].eq(INFINITE).all()
    assert matrix[reach].isfinite().all()
    assert matrix.diagonal().eq(0).all()


@pytest.mark.parametrize('power', [4, 12])
def test_distances_of_absurd_weights_are_numbers(power: int) -> None:
    """Squares of scores are rounded and overflow, to no negative, to no NaN."""
    data = planning_graph(random_graph(30, 90, seed=4))
    model = BCM.from_data(data, 'k_hot')
    for parameter in model.parameters():
        parameter.data *= 10.0**power
    planner = Planner(model, data)
    nodes = torch.arange(30)
    pairs = planner.distance(*torch.cartesian_prod(nodes, nodes).T)
    matrix = planner.distance_matrix(nodes, nodes)
    for found in (pairs.view(30, 30), matrix):
        assert (found >= 0).all()  # NaN is not
        assert found.diagonal().eq(0).all()


def test_distance_is_the_cost_of_the_last_edge(diamond: Data) -> None:
    # Nodes 1, 2, 3 have one way on; it enters the goal.
    starts, goals = [1, 2, 3, 4, 0], [3, 3, 0, 4, 4]
    calibrated = Planner(BCM.from_data(diamond), diamond)
    torch.testing.assert_close(
        calibrated.distance(starts, goals),
        torch.tensor([1.0, 0.0, 10.0, 0.0, INFINITE]),
    )
    paper = Planner(BCM.paper(diamond), diamond)
    assert paper.distance(starts, goals).tolist() == [0, 0, 0, 0, INFINITE]


@pytest.mark.parametrize('readout', ALL_READOUTS)
def test_hub(readout: Readout) -> None:
    leaf = torch.arange(1, 101)
    spokes = torch.stack([torch.zeros_like(leaf), leaf])
    data = Data(
        pos=torch.randn(101, 2),
        edge_index=torch.cat([spokes, spokes.flip(0)], dim=1),
        edge_cost=torch.cat([leaf, leaf]).float(),
    )
    model = BCM.paper(data)
    planner = Planner(model, data, readout)
    starts, goals = [1, 100, 0, 50], [100, 1, 77, 0]
    plan = planner(starts, goals)
    assert_sound(plan, data, starts, goals)
    # An edge into the goal scores 0, so every route is straight.
    assert [plan.path(query) for query in range(4)] == [
        [1, 0, 100],
        [100, 0, 1],
        [0, 77],
        [50, 0],
    ]
    assert plan.cost.tolist() == [101, 101, 77, 50]


def test_plans_on_a_grid_of_islands(grid: Data) -> None:
    planner = Planner(BCM.from_data(grid), grid)
    starts, goals = sample_queries(grid, 30, seed=0)
    blocked = int(grid.blocked.nonzero()[0])
    plan = planner(starts, goals)
    assert_sound(plan, grid, starts.tolist(), goals.tolist())
    assert plan.lower_bound.isfinite().all()
    assert not planner(starts, blocked).success.any()

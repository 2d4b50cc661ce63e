"""The compiled engine against the plain one, and what both must keep to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import (
    ALL_ENCODERS,
    ALL_READOUTS,
    ReluTransition,
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
from search_twins import every_pair, slow_search
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner, planning_graph
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.kernels import TURNS, Expanded, Found, load_kernels
from bcm_pyg.planning import (
    Backtracking,
    Greedy,
    LandmarkBounds,
    MapScorer,
    Readout,
    VisitedGreedy,
    _engine,
    _map_scorer,
)
from bcm_pyg.planning._engine import CompiledEngine, arrays_of
from bcm_pyg.planning._landmarks import BoundScorer
from bcm_pyg.planning._plain import PlainEngine
from bcm_pyg.utils import Adjacency

TERMINALS = ['calibrated', 'paper']
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        'weight': st.sampled_from([0.0, 0.5, 2.0]),
        'width': st.integers(1, 3),
        'ceiling': st.integers(0, 12),
        'reopen': st.booleans(),
    },
)


def compiled(scorer: MapScorer | BoundScorer) -> CompiledEngine:
    adjacency = (
        scorer.adjacency
        if isinstance(scorer, MapScorer)
        else scorer.bounds.adjacency
    )
    arrays = arrays_of(adjacency)
    return CompiledEngine(arrays.graph, *scorer.for_kernels(), arrays.take())


def by_query(found: Expanded | Found) -> list:
    """What was found, with the nodes of each query as a list."""
    lists = [found.nodes[begin:end].tolist() for begin, end in found.span]
    assert sum(map(len, lists)) == found.nodes.size
    return [lists, *(column.tolist() for column in found[2:])]


def per_query(options: dict, num: int) -> dict:
    """Settings as the engines take them: a ceiling for each query."""
    out = dict(options)
    if 'ceiling' in out:
        out['ceiling'] = np.full(num, float(out['ceiling']))
    return out


def test_kernels_are_compiled_here() -> None:
    assert load_kernels() is not None


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
@settings(deadline=None, max_examples=25)
@given(graph=random_graphs(), seed=st.integers(0, 999))
def test_compiled_is_plain(readout: Readout, graph: Data, seed: int) -> None:
    # No rounding: even ties are broken alike, and expansions are the same.
    data = planning_graph(graph)
    terminal = TERMINALS[seed % 2]
    one, two = (
        integer_map(data, 'one_hot', terminal, seed, transition=transition)
        for transition in (torch_transition(), ReluTransition)
    )
    queries = every_pair(data.num_nodes)
    fast, slow = (Planner(model, data, readout) for model in (one, two))
    assert _engine.compiled_map(fast.scorer) is not None
    assert _engine.compiled_map(slow.scorer) is None
    assert_same_plan(fast(*queries), slow(*queries))
    with pytest.MonkeyPatch.context() as patch:  # and without slopes
        patch.setattr(_map_scorer, 'MAX_SLOPE_BYTES', 0)
        bare = Planner(one, data, readout)
        assert bare.scorer.for_kernels()[0].slope.shape[0] == 0
        assert_same_plan(bare(*queries), slow(*queries))


@pytest.mark.parametrize('readout', [VisitedGreedy(), Backtracking()])
@settings(max_examples=20, deadline=None)
@given(graph=random_graphs(30), seed=st.integers(0, 99))
def test_hubs_that_are_left_and_visited_again(
    readout: Readout, graph: Data, seed: int
) -> None:
    """Two hubs with all other nodes; most of these lead back there alone."""
    leaf = torch.arange(2, 40)
    ends = torch.cat([torch.stack([leaf * 0 + hub, leaf]) for hub in (0, 1)], 1)
    both = torch.cat([ends, ends.flip(0)], 1)
    data = planning_graph(
        Data(
            pos=torch.rand(40, 2),
            edge_index=torch.cat([both, graph.edge_index], 1),
            edge_cost=torch.cat([torch.ones(both.size(1)), graph.edge_attr]),
        )
    )
    # No rounding: even ties are broken alike.
    model = integer_map(data, 'one_hot', 'calibrated', seed)
    scorer = MapScorer(model, data, Adjacency.from_data(data))
    plain = integer_map(
        data, 'one_hot', 'calibrated', seed, transition=ReluTransition
    )
    starts, goals = torch.randint(
        40, (2, 30), generator=torch.Generator().manual_seed(seed)
    )
    found = readout(scorer, scorer.adjacency, starts, goals)
    scorer = MapScorer(plain, data, scorer.adjacency)
    assert_same_plan(found, readout(scorer, scorer.adjacency, starts, goals))


def torch_transition() -> type:
    from bcm_pyg.nn import Transition

    return Transition


@settings(deadline=None, max_examples=60)
@given(
    graph=random_graphs(max_nodes=9),
    seed=st.integers(0, 99),
    options=SETTINGS,
)
def test_expand(graph: Data, seed: int, options: dict) -> None:
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    model = integer_map(data, 'one_hot', TERMINALS[seed % 2], seed)
    scorer = MapScorer(model, data, adjacency)
    starts, goals = every_pair(data.num_nodes)
    arrays = starts.numpy(), goals.numpy()
    settings = per_query(options, starts.numel())
    fast = compiled(scorer).expand(*arrays, **settings)
    slow = PlainEngine(scorer, adjacency).expand(*arrays, **settings)
    assert by_query(fast) == by_query(slow)
    rows = [
        [2 * value for value in row] for row in score_table(model, data)
    ]  # in units of the graph
    if 'width' in options and options.get('reopen'):
        return  # beams do not open nodes again
    for query, (start, goal) in enumerate(
        zip(starts.tolist(), goals.tolist(), strict=True)
    ):
        expanded, bound, reached = slow_search(
            data, rows, start, goal, **options
        )
        nodes = by_query(fast)[0][query]
        assert nodes == list(dict.fromkeys(expanded))
        assert fast.bound[query] == bound
        assert fast.reached[query] == reached


@settings(deadline=None, max_examples=40)
@given(
    graph=random_graphs(max_nodes=9),
    seed=st.integers(0, 99),
    weight=st.sampled_from([0.0, 1.0, 2.0]),
    num=st.integers(1, 5),
)
def test_there_and_back(
    graph: Data, seed: int, weight: float, num: int
) -> None:
    """However the two directions of a query are interleaved with others."""
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    model = integer_map(data, 'one_hot', TERMINALS[seed % 2], seed)
    scorer = MapScorer(model, data, adjacency)
    fast, slow = compiled(scorer), PlainEngine(scorer, adjacency)
    rows = [[2 * value for value in row] for row in score_table(model, data)]
    pairs = every_pair(data.num_nodes)
    for ends in zip(*(ids.split(num) for ids in pairs), strict=True):
        part = [ids.numpy() for ids in ends]
        wanted = []
        for start, goal in zip(*(ids.tolist() for ids in ends), strict=True):
            args = data, rows, start, goal
            there, *_ = slow_search(*args, weight=weight)
            args = data, rows, goal, start
            most = 2 * len(there)
            back, *_ = slow_search(*args, weight=weight, most=most)
            wanted.append([there, back])
        for engine in (fast, slow):
            nodes, span = engine.there_and_back(*part, weight)
            assert [
                [nodes[begin:end].tolist() for begin, end in one]
                for one in span
            ] == wanted


@settings(deadline=None, max_examples=40)
@given(
    graph=random_graphs(),
    ceiling=st.sampled_from([2.0, 7.0, float('inf')]),
    number=st.integers(1, 3),
)
def test_expand_by_bounds(graph: Data, ceiling: float, number: int) -> None:
    data = planning_graph(graph)
    bounds = LandmarkBounds(Adjacency.from_data(data), number)
    scorer = BoundScorer(bounds)
    queries = [ids.numpy() for ids in every_pair(data.num_nodes)]
    settings = per_query({'ceiling': ceiling, 'reopen': True}, queries[0].size)
    fast = compiled(scorer).expand(*queries, **settings)
    slow = PlainEngine(scorer, bounds.adjacency).expand(*queries, **settings)
    assert by_query(fast)[0] == by_query(slow)[0]
    np.testing.assert_allclose(fast.bound, slow.bound, rtol=1e-6)
    assert fast.reached.tolist() == slow.reached.tolist()


@settings(deadline=None, max_examples=40)
@given(graph=random_graphs(), radius=st.integers(0, 3), seed=st.integers(0, 99))
def test_inside(graph: Data, radius: int, seed: int) -> None:
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    scorer = MapScorer(tiny_map(data), data, adjacency)
    queries = [ids.numpy() for ids in every_pair(data.num_nodes)]
    rng = np.random.default_rng(seed)
    nodes = rng.integers(0, data.num_nodes, 30)
    # Two lists a query, which may overlap.
    span = np.sort(rng.integers(0, 31, (queries[0].size, 2, 2)), axis=2)
    fast = compiled(scorer).inside(*queries, nodes, span, radius)
    slow = PlainEngine(scorer, adjacency).inside(*queries, nodes, span, radius)
    assert by_query(fast) == by_query(slow)


@pytest.mark.parametrize('radius', [1, 2])
@pytest.mark.parametrize('rows', [4, 9, 24])
def test_inside_in_many_turns(rows: int, radius: int) -> None:
    """Each row is cheaper than the one above; the guide knows the first."""
    side = 12
    cell = np.arange(rows * side).reshape(rows, side)
    along = np.stack([cell[:, :-1].ravel(), cell[:, 1:].ravel()])
    down = np.stack([cell[:-1].ravel(), cell[1:].ravel()])
    ends = np.concatenate([along, down, along[::-1], down[::-1]], axis=1)
    row = ends // side
    cost = np.where(row[0] == row[1], 4.0 * (rows - row[0]), 1.0)
    data = planning_graph(
        Data(
            pos=torch.randn(rows * side, 2),
            edge_index=torch.from_numpy(ends),
            edge_cost=torch.from_numpy(cost),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = MapScorer(tiny_map(data), data, adjacency)
    starts, goals = np.array([0]), np.array([side - 1])
    guide = cell[0], np.array([[[0, side]]])
    fast = compiled(scorer).inside(starts, goals, *guide, radius)
    slow = PlainEngine(scorer, adjacency).inside(starts, goals, *guide, radius)
    assert by_query(fast) == by_query(slow)
    depth = min(rows - 1, radius * TURNS)
    best = min(2 * at + 44.0 * (rows - at) for at in range(depth + 1))
    assert fast.cost.tolist() == [best]
    assert fast.expansions.tolist() == [side * (depth + 1)]


def test_inside_where_routes_cost_the_same() -> None:
    """Found by chance: what is too dear at first must not count as found."""
    ends = [[0, 0, 0, 3, 0, 2, 4, 4, 5], [1, 2, 3, 2, 4, 1, 1, 5, 1]]
    cost = [10, 10, 1, 4, 5, 3, 3, 1, 0.5]
    data = planning_graph(
        Data(
            pos=torch.randn(6, 2),
            edge_index=torch.tensor(ends),
            edge_cost=torch.tensor(cost),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = MapScorer(tiny_map(data), data, adjacency)
    query = np.array([0]), np.array([1])
    guide = np.array([0, 1]), np.array([[[0, 2]]])
    fast = compiled(scorer).inside(*query, *guide, 1)
    slow = PlainEngine(scorer, adjacency).inside(*query, *guide, 1)
    assert by_query(fast) == by_query(slow)
    assert fast.nodes.tolist() == [0, 3, 2, 1]  # and so on the page


@pytest.mark.parametrize('width', [1, 5, 8, 31, 64])
def test_scores_of_any_width(grid: Data, width: int) -> None:
    """Widths that are no multiple of 8, and z wider than the hidden layer."""
    from bcm_pyg.nn import Transition, encoder_resolver

    module = encoder_resolver('interaction', grid)
    for out in (width, 3, 70):
        transition = Transition(module.out_channels, width, out)
        model = BCM(module, transition, cost_scale=5.0)
        torch.nn.init.normal_(transition.lin3.weight)
        torch.nn.init.normal_(transition.lin3.bias)
        starts, goals = sample_queries(grid, 40, seed=1)
        table = score_table(model, grid)
        for readout in (Greedy(), VisitedGreedy()):
            plan = Planner(model, grid, readout)(starts, goals)
            for query in range(40):
                walk = slow_walk(
                    grid,
                    table,
                    int(starts[query]),
                    int(goals[query]),
                    readout == VisitedGreedy(),
                )
                if walk.margin > 1e-4:
                    assert plan.path(query) == walk.path


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_same_costs_as_plain_on_real_numbers(
    grid: Data, encoder: str, terminal: str
) -> None:
    model = tiny_map(grid, encoder, terminal)
    starts, goals = sample_queries(grid, 60, seed=1)
    for readout in ALL_READOUTS:
        planner = Planner(model, grid, readout)
        fast = planner(starts, goals)
        assert_sound(fast, grid, starts.tolist(), goals.tolist())
        scorer = planner.scorer
        slow = Planner(lambda n, g, s=scorer: s(n, g), grid, readout)
        slow.scorer.cost_scale = scorer.cost_scale
        same = fast.cost == slow(starts, goals).cost
        same |= ~fast.success
        assert same.float().mean() > 0.9  # but for ties within rounding


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
def test_overflow_breaks_nothing(grid: Data, readout: Readout) -> None:
    model = BCM.from_data(grid)
    torch.nn.init.normal_(model.transition.lin3.weight, std=1e25)
    starts, goals = sample_queries(grid, 50, seed=0)
    plan = Planner(model, grid, readout)(starts, goals)
    assert_sound(plan, grid, starts.tolist(), goals.tolist())


def test_a_last_bias_changes_nothing(grid: Data) -> None:
    """It cancels in every score, and must not cost digits."""
    model = tiny_map(grid)
    starts, goals = sample_queries(grid, 60, seed=1)
    planner = Planner(model, grid, VisitedGreedy())
    before = planner(starts, goals)
    torch.nn.init.constant_(model.transition.lin3.bias, 1e4)
    after = Planner(model, grid, VisitedGreedy())(starts, goals)
    assert_same_plan(after, before)


@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
def test_maps_in_half_precision(grid: Data, dtype: torch.dtype) -> None:
    model = BCM.from_data(grid).to(dtype)
    starts, goals = sample_queries(grid, 10, seed=0)
    plan = Planner(model, grid)(starts, goals)
    assert plan.success.all()


def test_a_scorer_may_be_called_what_it_likes(grid: Data) -> None:
    class Mine:
        arrays = [1, 2]

        def __call__(self, nodes, goals):
            return Planner(BCM.from_data(grid), grid).scorer(nodes, goals)

    assert Planner(Mine(), grid, 'best_first')(0, 9).success.all()


def test_expanded_nodes_come_once(grid: Data) -> None:
    model = BCM.from_data(grid)
    scorer = MapScorer(model, grid, Adjacency.from_data(grid))
    queries = [ids.numpy() for ids in sample_queries(grid, 30, seed=0)]
    found: Expanded = compiled(scorer).expand(*queries, reopen=True)
    for query in range(30):
        nodes = by_query(found)[0][query]
        assert len(set(nodes)) == len(nodes) > 0


def test_backtracking_reports_what_it_walked() -> None:
    data = weighted_grid('ushape', side=10, seed=3)
    torch.manual_seed(0)
    starts, goals = sample_queries(data, 50, seed=0)
    plan = Planner(BCM.from_data(data), data, Backtracking())(starts, goals)
    assert plan.success.all()
    assert (plan.walked_cost >= plan.cost).all()
    assert (plan.walked_cost > plan.cost).any()
    assert replace(plan).walked_cost is plan.walked_cost

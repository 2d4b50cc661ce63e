"""Distances that a short exact search settles: ``exact_within``."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers import random_graphs, tiny_map
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import every_pair
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, CognitiveMap, Planner, planning_graph
from bcm_pyg.baselines import shortest_distances
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import simplify_graph
from bcm_pyg.graph.full_routes import Ends
from bcm_pyg.kernels import load_kernels
from bcm_pyg.planning import EdgeScores, Scorer
from bcm_pyg.planning._landmarks import LandmarkBounds
from bcm_pyg.planning._near import near_bounds, plain_near
from bcm_pyg.utils import Adjacency

INF = float('inf')


def ends_of(starts: torch.Tensor, goals: torch.Tensor) -> Ends:
    return Ends.of_nodes(starts.numpy(), goals.numpy())


@settings(deadline=None, max_examples=40)
@given(
    graph=random_graphs(), limit=st.integers(0, 14), landmarks=st.integers(0, 3)
)
def test_compiled_is_plain_and_exact(
    graph: Data, limit: int, landmarks: int
) -> None:
    data = planning_graph(graph)
    adjacency, queries = Adjacency.from_data(data), every_pair(data.num_nodes)
    bounds = LandmarkBounds(adjacency, landmarks) if landmarks else None
    assert load_kernels() is not None
    ends = ends_of(*queries)
    lower, upper = near_bounds(adjacency, ends, limit, bounds)
    plain = plain_near(adjacency, ends, limit, bounds)
    assert (lower.tolist(), upper.tolist()) == (
        plain[0].tolist(),
        plain[1].tolist(),
    )
    exact = shortest_distances(adjacency, *queries).numpy()
    assert bool((lower <= exact).all())  # costs are halves: no rounding
    assert bool((exact <= upper).all())
    if bounds is not None:
        # Bounds are rounded, so that they may differ from node to node.
        assert bool((lower >= 0.9999 * bounds(*queries).numpy()).all())
    if limit >= data.num_nodes and bounds is None:  # nodes may open again
        assert upper.tolist() == exact.tolist() == lower.tolist()


@settings(deadline=None, max_examples=40)
@given(
    graph=random_graphs(),
    limit=st.integers(0, 9),
    landmarks=st.integers(0, 2),
    seed=st.integers(0, 999),
)
def test_several_exits_and_entries(
    graph: Data, limit: int, landmarks: int, seed: int
) -> None:
    data = planning_graph(graph)
    adjacency = Adjacency.from_data(data)
    bounds = LandmarkBounds(adjacency, landmarks) if landmarks else None
    rng = np.random.default_rng(seed)
    nodes = rng.integers(data.num_nodes, size=(2, 20, 2))
    beside = rng.integers(6, size=(2, 20, 2)) / 2
    beside[rng.random(beside.shape) < 0.2] = INF
    ends = Ends(nodes[0], beside[0], nodes[1], beside[1])
    lower, upper = near_bounds(adjacency, ends, limit, bounds)
    plain = plain_near(adjacency, ends, limit, bounds)
    assert lower.tolist() == plain[0].tolist()
    assert upper.tolist() == plain[1].tolist()
    pairs = [
        beside[0][:, k]
        + shortest_distances(
            adjacency, *map(torch.from_numpy, (nodes[0][:, k], nodes[1][:, m]))
        ).numpy()
        + beside[1][:, m]
        for k in range(2)
        for m in range(2)
    ]
    exact = np.minimum.reduce(pairs)
    assert bool((lower <= exact).all()) and bool((exact <= upper).all())
    far = near_bounds(adjacency, ends, 10_000, bounds)
    assert far[0].tolist() == far[1].tolist() == exact.tolist()


def test_by_hand() -> None:
    # 0 - 1 - 2 - 3 in a row, and 4 alone; costs 1, 2, 3.
    ends = torch.tensor([[0, 1, 2], [1, 2, 3]])
    data = Data(
        pos=torch.arange(10.0).view(5, 2),
        edge_index=ends,
        edge_cost=torch.tensor([1.0, 2.0, 3.0]),
    )
    data = planning_graph(data)
    adjacency = Adjacency.from_data(data)
    starts, goals = [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]
    queries = ends_of(torch.tensor(starts), torch.tensor(goals))
    for limit, count in ((1, 2), (2, 3), (3, 4)):
        lower, upper = near_bounds(adjacency, queries, limit)
        assert (lower == upper).tolist() == [k < count for k in range(5)]
        lowest = [1.0, 3.0, 6.0][limit - 1]
        known = [0.0, 1.0, 3.0, 6.0][:count]
        assert lower.tolist() == known + [lowest] * (5 - count)
    # The landmarks are the ends of the row: they prove all of it.
    bounds = LandmarkBounds(adjacency, 2)
    lower, upper = near_bounds(adjacency, queries, 0, bounds)
    assert lower.tolist() == pytest.approx([0.0, 1.0, 3.0, 6.0, INF], rel=1e-4)
    assert upper.tolist() == [0.0, INF, INF, INF, INF]
    for landmarks in (0, 2):
        planner = Planner(tiny_map(data), data, landmarks=landmarks)
        found = planner.distance(starts, goals, exact_within=99)
        assert found.tolist() == [0.0, 1.0, 3.0, 6.0, INF]


@pytest.mark.parametrize('landmarks', [0, 4])
@pytest.mark.parametrize('full', [False, True])
def test_distances(full: bool, landmarks: int) -> None:
    data = planning_graph(weighted_grid('ushape', 12, 'wide', 3))
    graph = simplify_graph(data) if full else data
    model = BCM.from_data(graph.data if full else data, hidden_channels=8)
    planner = Planner(model, graph, landmarks=landmarks)
    queries = sample_queries(data, 60, seed=1)
    exact = shortest_distances(Adjacency.from_data(data), *queries).float()
    alone = planner.distance(*queries)
    assert torch.equal(planner.distance(*queries, exact_within=0), alone)
    errors = [
        (planner.distance(*queries, exact_within=limit) - exact).abs().mean()
        for limit in (0, 10, 40, 200)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4
    without = Planner(model, graph).distance(*queries)
    raised = alone > without
    assert bool((alone >= without).all()) and bool(raised.any()) == (
        landmarks > 0
    )
    assert bool((alone[raised] <= exact[raised] * (1 + 1e-6)).all())
    assert planner.distance([], [], exact_within=5).tolist() == []


def constant(data: Data, value: float, dtype: torch.dtype) -> Scorer:
    """Gives all edges the same score."""
    adjacency = Adjacency.from_data(data)

    def scorer(nodes: torch.Tensor, goals: torch.Tensor) -> EdgeScores:
        edge, source = adjacency.out_edges(nodes)
        return EdgeScores(edge, source, torch.full(edge.shape, value).to(dtype))

    return scorer


@pytest.mark.parametrize('landmarks', [0, 2])
@pytest.mark.parametrize('value', [0.0, 1e9, INF, float('nan')])
def test_estimates_are_within_what_is_proven(
    value: float, landmarks: int
) -> None:
    data = planning_graph(weighted_grid('ushape', 10, 'wide', 2))
    adjacency = Adjacency.from_data(data)
    queries = sample_queries(data, 300, seed=1)
    scorer = constant(data, value, torch.float32)
    planner = Planner(scorer, data, landmarks=landmarks)
    bounds = LandmarkBounds(adjacency, landmarks) if landmarks else None
    ends = ends_of(*queries)
    for limit in (3, 10, 30):
        found = planner.distance(*queries, exact_within=limit).numpy()
        lower, upper = near_bounds(adjacency, ends, limit, bounds)
        assert bool(((lower < upper) & (upper < INF)).any())
        wanted = lower if value == 0 else upper
        wanted = np.where(np.isinf(upper) & (value == 1e9), value, wanted)
        if landmarks > 0:  # at the start they may know more than the search
            ahead = bounds(*queries).numpy()
            wanted = np.minimum(np.maximum(wanted, ahead), upper)
        assert found.tolist() == wanted.astype(np.float32).tolist()


@pytest.mark.parametrize('full', [False, True])
def test_what_is_no_number_is_infinite(full: bool) -> None:
    """Of single edges too: the others of a node still count."""
    data = planning_graph(weighted_grid('ushape', 10, 'wide', 2))
    graph = simplify_graph(data) if full else data
    inner = planning_graph(graph.data) if full else data
    adjacency = Adjacency.from_data(inner)

    starts, goals = sample_queries(data, 200, seed=1)

    def found(gap: float) -> list[list[float]]:
        def scorer(nodes: torch.Tensor, goals: torch.Tensor) -> EdgeScores:
            edge, source = adjacency.out_edges(nodes)
            score = adjacency.cost[edge].masked_fill(edge % 2 == 0, gap)
            return EdgeScores(edge, source, score)

        planner = Planner(scorer, graph, landmarks=2)
        cost = planner.distance(starts, goals)
        assert not bool(cost.isnan().any()) and bool(cost.isfinite().any())
        matrix = planner.distance_matrix(starts, goals[:9])
        near = planner.distance(starts, goals, exact_within=5)
        return [cost.tolist(), matrix.tolist(), near.tolist()]

    assert found(float('nan')) == found(INF)


@pytest.mark.parametrize('dtype', [torch.float64, torch.float16, torch.long])
@pytest.mark.parametrize('full', [False, True])
def test_distances_are_float32(dtype: torch.dtype, full: bool) -> None:
    data = planning_graph(weighted_grid('ushape', 10, 'wide', 2))
    graph = simplify_graph(data) if full else data
    inner = planning_graph(graph.data) if full else data
    planner = Planner(constant(inner, 7.0, dtype), graph)
    for within in (0, 5):
        found = planner.distance([0, 1], [9, 9], exact_within=within)
        assert found.dtype == torch.float32
    assert planner.distance_matrix([0, 1], [9]).dtype == torch.float32


def test_landmarks_guide_the_search() -> None:
    """They settle more queries in as few expansions."""
    data = planning_graph(weighted_grid('ushape', 14, 'wide', 3))
    queries = sample_queries(data, 300, seed=2)
    exact = shortest_distances(Adjacency.from_data(data), *queries).float()
    scorer = constant(data, 1e9, torch.float32)

    def share(landmarks: int, limit: int) -> float:
        planner = Planner(scorer, data, landmarks=landmarks)
        found = planner.distance(*queries, exact_within=limit)
        return float(torch.isclose(found, exact).float().mean())

    for limit in (5, 10, 20):
        assert share(0, limit) + 0.05 < share(8, limit) < 1


@settings(deadline=None, max_examples=30)
@given(graph=random_graphs(), simplified=st.booleans())
def test_matrix_is_distances(graph: Data, simplified: bool) -> None:
    """Also along directed edges, where values are not compiled."""
    data = planning_graph(graph)
    try:
        on = simplify_graph(data) if simplified else data
    except BCMError:  # nothing would be left
        on, simplified = data, False
    model = tiny_map(on.data if simplified else data)
    planner = Planner(model, on, landmarks=2)
    starts, goals = every_pair(data.num_nodes)
    nodes = list(range(data.num_nodes))
    matrix = planner.distance_matrix(nodes, nodes).flatten()
    assert torch.allclose(planner.distance(starts, goals), matrix, rtol=1e-4)
    bound = LandmarkBounds(Adjacency.from_data(data), 2)(starts, goals)
    if not simplified:
        assert bool((matrix >= 0.9999 * bound).all())


def test_cognitive_map() -> None:
    data = weighted_grid('open', 6, 'wide', 1)
    atlas = CognitiveMap.learn(data, 0.01, progress=False)
    queries = torch.tensor([0, 3]), torch.tensor([35, 30])
    exact = shortest_distances(Adjacency.from_data(data), *queries).tolist()
    found = atlas.distance(*queries, exact_within=36).tolist()
    assert found == pytest.approx(exact)
    assert atlas.distance(0, 35, exact_within=36) == pytest.approx(exact[0])


def test_a_scorer_is_not_asked_about_what_is_settled() -> None:
    data = planning_graph(weighted_grid('open', 4, 'uniform'))

    def refuses(nodes: torch.Tensor, goals: torch.Tensor) -> EdgeScores:
        raise AssertionError('nothing is left to ask')

    found = Planner(refuses, data).distance([0, 5], [15, 5], exact_within=16)
    assert found.tolist() == [6.0, 0.0] and found.dtype == torch.float32


@pytest.mark.parametrize('value', [-1, 1.5, None, True])
def test_bad_limits(value: object) -> None:
    data = weighted_grid('open', 3)
    with pytest.raises(BCMError, match='^exact_within must be'):
        Planner(tiny_map(data), data).distance(0, 1, exact_within=value)

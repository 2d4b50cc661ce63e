from __future__ import annotations

import pytest
import torch
from helpers import random_graph, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import every_pair, exact_table, optimal_costs
from torch_geometric.data import Data
from torch_geometric.transforms import ToUndirected

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.kernels import load_kernels
from bcm_pyg.kernels.scores import bound_of
from bcm_pyg.planning import LandmarkBounds, _landmarks
from bcm_pyg.planning._landmarks import BoundScorer
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')


@settings(deadline=None, max_examples=40)
@given(
    graph=random_graphs(),
    number=st.integers(1, 6),
    scale=st.sampled_from([1.0, 1e-30, 1e30, 0.0]),
    noise=st.booleans(),
)
def test_never_above_the_optimum(
    graph: Data, number: int, scale: float, noise: bool
) -> None:
    graph.edge_attr = graph.edge_attr * scale
    if noise:  # costs that no float holds exactly
        graph.edge_attr = graph.edge_attr * torch.rand(len(graph.edge_attr))
    data = planning_graph(graph)
    bounds = LandmarkBounds(Adjacency.from_data(data), number)
    starts, goals = every_pair(data.num_nodes)
    bound = bounds(starts, goals)
    optimal = torch.tensor(
        optimal_costs(data, starts, goals), dtype=torch.float64
    )
    assert bound.dtype == torch.float64
    assert (bound >= 0).all()
    assert (bound <= optimal).all()


def test_landmarks_know_their_distances(grid: Data) -> None:
    adjacency = Adjacency.from_data(grid)
    bounds = LandmarkBounds(adjacency, 4)
    assert bounds.nodes.unique().numel() == 4
    # The grid is symmetric: a distance stands for both directions.
    assert bounds.num_bytes() == 2 * 4 * grid.num_nodes
    free = (~grid.blocked).nonzero().flatten()
    for landmark in bounds.nodes:
        here = landmark.expand_as(free)
        for starts, goals in ((here, free), (free, here)):
            optimal = torch.tensor(optimal_costs(grid, starts, goals))
            short = optimal - bounds(starts, goals)
            assert (short >= 0).all()
            assert (short < 2.001 * bounds.arrays.unit).all()


@settings(deadline=None, max_examples=40)
@given(graph=random_graphs(), number=st.integers(1, 6), both=st.booleans())
def test_kernels_know_the_same(graph: Data, number: int, both: bool) -> None:
    if both:
        graph = ToUndirected(reduce='min')(graph)
    data = planning_graph(graph)
    bounds = LandmarkBounds(Adjacency.from_data(data), number)
    width = bounds.arrays.rows.shape[1]
    assert width == (1 if bounds.arrays.symmetric else 2) * len(bounds.nodes)
    assert bounds.arrays.symmetric or not both
    assert load_kernels() is not None
    starts, goals = every_pair(data.num_nodes)
    pairs = zip(starts.tolist(), goals.tolist(), strict=True)
    found = [bound_of(bounds.arrays, *pair) for pair in pairs]
    assert found == bounds(starts, goals).tolist()


def test_more_landmarks_know_more(grid: Data) -> None:
    adjacency = Adjacency.from_data(grid)
    free = (~grid.blocked).nonzero().flatten()
    starts, goals = free, free.flip(0)
    mean = [
        float(LandmarkBounds(adjacency, number)(starts, goals).mean())
        for number in (1, 4, 16)
    ]
    assert mean == sorted(mean)
    optimal = sum(optimal_costs(grid, starts, goals)) / len(free)
    assert mean[-1] > 0.9 * optimal


def test_infinite_where_there_is_no_way() -> None:
    # 0 <-> 1 -> 2 <-> 3, and 4 alone.
    data = planning_graph(
        Data(
            pos=torch.randn(5, 2),
            edge_index=torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 3, 2]]),
            edge_cost=torch.ones(5),
        )
    )
    bounds = LandmarkBounds(Adjacency.from_data(data), 5)
    starts, goals = torch.tensor([2, 3, 0]), torch.tensor([0, 1, 3])
    bound = bounds(starts, goals)
    assert bound[:2].tolist() == [INFINITE, INFINITE]
    assert bound[2] <= 3


def test_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planning_graph(random_graph(30, 90, seed=3))
    bounds = LandmarkBounds(Adjacency.from_data(data), 4)
    starts, goals = every_pair(30)
    whole = bounds(starts, goals)
    assert 0 < whole.isfinite().sum() < len(whole)
    monkeypatch.setattr(_landmarks, 'MAX_ROWS', 7)
    assert bounds(starts, goals).tolist() == whole.tolist()
    assert bounds(starts[:0], goals[:0]).shape == (0,)


def test_scores_never_overestimate() -> None:
    data = planning_graph(random_graph(12, 40, seed=1))
    adjacency = Adjacency.from_data(data)
    scorer = BoundScorer(LandmarkBounds(adjacency, 3))
    nodes, goals = every_pair(12)
    ways = scorer(nodes, goals)
    edge, row = adjacency.out_edges(nodes)
    assert ways.edge.tolist() == edge.tolist()
    assert ways.source.tolist() == row.tolist()
    exact = exact_table(data)[edge, goals[row]]
    assert (ways.score <= exact).all()
    assert (ways.score >= adjacency.cost[edge]).all()


def test_bad_numbers(diamond: Data) -> None:
    adjacency = Adjacency.from_data(diamond)
    for number in (0, -1, 2.5, None, True):
        with pytest.raises(BCMError, match='num_landmarks'):
            LandmarkBounds(adjacency, number)

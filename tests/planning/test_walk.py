from __future__ import annotations

import time

import pytest
import torch
from helpers import assert_same_plan, random_graphs, slow_walk, tiny_map
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import Planner, planning_graph
from bcm_pyg.planning import EdgeScores, Plan, VisitedGreedy, _walk
from bcm_pyg.planning._walk import walk as walk_all
from bcm_pyg.utils import Adjacency

BOTH = [False, True]


class TableScorer:
    """Scores by a table [E, N]; no network is needed for a rollout."""

    def __init__(self, adjacency: Adjacency, table: Tensor) -> None:
        self.adjacency = adjacency
        self.table = table
        self.calls = 0

    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        self.calls += 1
        edge, row = self.adjacency.out_edges(nodes)
        return EdgeScores(edge, row, self.table[edge, goals[row]])


def all_pairs(num_nodes: int) -> tuple[Tensor, Tensor]:
    nodes = torch.arange(num_nodes)
    return nodes.repeat_interleave(num_nodes), nodes.repeat(num_nodes)


def path_graph(num_nodes: int) -> Data:
    node = torch.arange(num_nodes - 1)
    one_way = torch.stack([node, node + 1])
    return planning_graph(
        Data(
            pos=torch.arange(num_nodes)[:, None].float(),
            edge_index=torch.cat([one_way, one_way.flip(0)], dim=1),
            edge_cost=torch.ones(2 * num_nodes - 2),
        )
    )


@pytest.mark.parametrize('prefer_unvisited', BOTH)
@settings(deadline=None, max_examples=50)
@given(graph=random_graphs(), high=st.integers(1, 20), seed=st.integers(0, 99))
def test_as_the_definition(
    prefer_unvisited: bool, graph: Data, high: int, seed: int
) -> None:
    data = planning_graph(graph)
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(
        high, (data.num_edges, data.num_nodes), generator=generator
    ).float()
    adjacency = Adjacency.from_data(data)
    starts, goals = all_pairs(data.num_nodes)
    plan = walk_all(
        TableScorer(adjacency, table),
        adjacency,
        starts,
        goals,
        prefer_unvisited=prefer_unvisited,
    )
    rows = table.tolist()
    queries = zip(starts.tolist(), goals.tolist(), strict=True)
    for query, (start, goal) in enumerate(queries):
        walk = slow_walk(data, rows, start, goal, prefer_unvisited)
        assert plan.path(query) == walk.path
        assert plan.success[query] == walk.success
        assert plan.cost[query] == walk.cost  # costs are halves: exact
        assert plan.hops[query] == max(0, len(walk.path) - 1)
        assert plan.expansions[query] == walk.expansions
    assert plan.lower_bound.tolist() == [0] * len(plan)


@pytest.mark.parametrize('prefer_unvisited', BOTH)
def test_ties_go_to_the_lowest_edge(
    diamond: Data, prefer_unvisited: bool
) -> None:
    adjacency = Adjacency.from_data(diamond)
    scorer = TableScorer(adjacency, torch.zeros(5, 5))
    plan = walk_all(
        scorer,
        adjacency,
        torch.tensor([0]),
        torch.tensor([3]),
        prefer_unvisited=prefer_unvisited,
    )
    assert plan.path(0) == [0, 1, 3]
    assert plan.cost.tolist() == [2]


@pytest.mark.parametrize('infinite', [float('inf'), 3.4e38])
def test_an_overflowed_score_still_beats_a_visited_node(
    infinite: float,
) -> None:
    # At 1 the way back to 0 looks best, and the only new way is overflowed.
    data = path_graph(3)
    adjacency = Adjacency.from_data(data)
    table = torch.zeros(4, 3)
    table[2] = infinite  # 1 -> 2
    assert adjacency.dst.tolist() == [1, 0, 2, 1]
    starts, goals = torch.tensor([0]), torch.tensor([2])
    plans = [
        walk_all(
            TableScorer(adjacency, table),
            adjacency,
            starts,
            goals,
            prefer_unvisited=prefer_unvisited,
        )
        for prefer_unvisited in BOTH
    ]
    assert [plan.path(0) for plan in plans] == [[], [0, 1, 2]]


def test_dead_end(diamond: Data) -> None:
    # Without the edge 3 -> 0, a walk that enters 3 can go nowhere else.
    data = planning_graph(
        Data(
            pos=diamond.pos,
            edge_index=diamond.edge_index[:, :4],
            edge_cost=diamond.edge_cost[:4],
        )
    )
    adjacency = Adjacency.from_data(data)
    table = torch.zeros(4, 5)
    for prefer_unvisited in BOTH:
        plan = walk_all(
            TableScorer(adjacency, table),
            adjacency,
            torch.tensor([0]),
            torch.tensor([2]),  # ties lead to 1, from there to 3
            prefer_unvisited=prefer_unvisited,
        )
        assert plan.success.tolist() == [False]
        assert plan.path(0) == []
        assert plan.hops.tolist() == [0]
        assert plan.expansions.tolist() == [3]


def indifferent_walk(
    edge_index: Tensor, num_nodes: int, goal: int, prefer_unvisited: bool
) -> tuple[Plan, TableScorer]:
    """From node 0, all scores equal: the first edge of each node."""
    data = planning_graph(
        Data(
            pos=torch.randn(num_nodes, 2),
            edge_index=edge_index,
            edge_cost=torch.ones(edge_index.size(1)),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = TableScorer(adjacency, torch.zeros(data.num_edges, num_nodes))
    plan = walk_all(
        scorer,
        adjacency,
        torch.tensor([0]),
        torch.tensor([goal]),
        prefer_unvisited=prefer_unvisited,
    )
    return plan, scorer


@pytest.mark.parametrize('prefer_unvisited', BOTH)
def test_a_circle_ends_early(prefer_unvisited: bool) -> None:
    # From 0 the trap 1 <-> 2 looks as good as the way on, 3 -> 4 -> ... -> 0.
    ring = torch.arange(3, 500)
    edge_index = torch.cat(
        [
            torch.tensor([[0, 1, 2, 0], [1, 2, 1, 3]]),
            torch.stack([ring, (ring + 1) % 500]),
        ],
        dim=1,
    )
    plan, scorer = indifferent_walk(edge_index, 500, 400, prefer_unvisited)
    assert plan.success.tolist() == [False]
    assert plan.expansions.tolist() == [3]
    assert scorer.calls < 10  # of 500


@pytest.mark.parametrize('length', [2, 3, 7, 8, 9, 25, 60])
def test_circles_of_any_length_end_early(length: int) -> None:
    """A way into a ring without a way out; the goal is elsewhere."""
    ring = torch.arange(10, 10 + length)
    edge_index = torch.cat(
        [
            torch.stack([torch.arange(10), torch.arange(1, 11)]),
            torch.stack([ring, (ring - 10 + 1) % length + 10]),
            torch.tensor([[0], [999]]),
        ],
        dim=1,
    )
    plan, scorer = indifferent_walk(edge_index, 1000, 999, True)
    assert plan.success.tolist() == [False]
    assert plan.expansions.tolist() == [10 + length]
    assert scorer.calls < 10 + 4 * length + 16  # of 1000


@pytest.mark.parametrize('arrives', [True, False])
def test_step_limit_is_the_number_of_nodes(arrives: bool) -> None:
    # The walk 1 -> 0 -> 1 -> ... -> N - 1 takes exactly N steps; from 2 it
    # would take N + 2.
    data = path_graph(9)
    adjacency = Adjacency.from_data(data)
    down = (adjacency.dst - adjacency.src).float()[:, None].expand(-1, 9)
    plan = walk_all(
        TableScorer(adjacency, down),
        adjacency,
        torch.tensor([1 if arrives else 2]),
        torch.tensor([8]),
        prefer_unvisited=True,
    )
    assert plan.success.tolist() == [arrives]
    assert plan.path(0) == ([1, 0, *range(1, 9)] if arrives else [])
    assert plan.hops.tolist() == [9 if arrives else 0]


def test_queries_do_not_disturb_each_other() -> None:
    # Routes of very different lengths: rows leave the batch one by one.
    data = path_graph(16)
    adjacency = Adjacency.from_data(data)
    far = (adjacency.dst[:, None] - torch.arange(16)).abs().float()
    starts, goals = all_pairs(16)
    order = torch.randperm(starts.numel())
    starts, goals = starts[order], goals[order]

    def run(starts: Tensor, goals: Tensor) -> Plan:
        scorer = TableScorer(adjacency, far)
        return walk_all(scorer, adjacency, starts, goals, prefer_unvisited=True)

    plan = run(starts, goals)
    assert plan.hops.tolist() == (starts - goals).abs().tolist()
    assert plan.cost.tolist() == (starts - goals).abs().tolist()
    parts = zip(starts.split(7), goals.split(7), strict=True)
    assert_same_plan(plan, Plan.cat([run(*part) for part in parts]))


@pytest.mark.parametrize('prefer_unvisited', BOTH)
@settings(deadline=None, max_examples=25)
@given(graph=random_graphs(), seed=st.integers(0, 99))
def test_how_batches_are_cut_does_not_matter(
    prefer_unvisited: bool, graph: Data, seed: int
) -> None:
    data = planning_graph(graph)
    generator = torch.Generator().manual_seed(seed)
    table = torch.rand(data.num_edges, data.num_nodes, generator=generator)
    adjacency = Adjacency.from_data(data)

    def run() -> Plan:
        return walk_all(
            TableScorer(adjacency, table),
            adjacency,
            *all_pairs(data.num_nodes),
            prefer_unvisited=prefer_unvisited,
        )

    expected = run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_walk, 'MAX_BYTES', 2)
        assert_same_plan(run(), expected)


def test_a_single_walk_makes_no_step_too_many() -> None:
    data = path_graph(40)
    adjacency = Adjacency.from_data(data)
    up = (adjacency.src - adjacency.dst).float()[:, None].expand(-1, 40)
    for hops in (1, 7, 8, 9, 30):
        scorer = TableScorer(adjacency, up)
        plan = walk_all(
            scorer,
            adjacency,
            torch.tensor([0]),
            torch.tensor([hops]),
            prefer_unvisited=True,
        )
        assert plan.hops.tolist() == [hops]
        assert scorer.calls == hops


def test_a_hub_costs_its_edges_once() -> None:
    """A star: most walks try all leaves, and come back to the hub each time."""
    size = 4000
    leaf = torch.arange(1, size)
    ends = torch.stack([torch.zeros_like(leaf), leaf])
    data = planning_graph(
        Data(
            pos=torch.rand(size, 2),
            edge_index=torch.cat([ends, ends.flip(0)], 1),
            edge_cost=torch.ones(2 * (size - 1)),
        )
    )
    planner = Planner(tiny_map(data), data, VisitedGreedy())
    starts, goals = torch.randint(1, size, (2, 32))
    planner(starts[:1], goals[:1])
    began = time.process_time()
    planner(starts, goals)
    # Each of 32 times 2,000 visits would take 50 microseconds or more.
    assert time.process_time() - began < 1.5

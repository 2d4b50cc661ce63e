from __future__ import annotations

import pytest
import torch
from helpers import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import (
    TableScores,
    every_pair,
    exact_table,
    integer_table,
    slow_search,
)
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.planning import search as module
from bcm_pyg.planning.pairs import counted
from bcm_pyg.planning.search import search
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        'weight': st.sampled_from([0.0, 0.5, 2.0]),
        'width': st.integers(1, 3),
        'most': st.integers(0, 5),
        'ceiling': st.integers(0, 12),
        'reopen': st.booleans(),
    },
)


@settings(deadline=None, max_examples=60)
@given(
    graph=random_graphs(max_nodes=9),
    high=st.integers(1, 20),
    seed=st.integers(0, 99),
    share=st.sampled_from([1, 2, 64]),
    room=st.sampled_from([16, 64, 10**6]),
    options=SETTINGS,
)
def test_as_one_query_at_a_time(
    graph: Data, high: int, seed: int, share: int, room: int, options: dict
) -> None:
    data = planning_graph(graph)
    table = integer_table(data, high, seed)
    starts, goals = every_pair(data.num_nodes)
    adjacency = Adjacency.from_data(data)
    batched = dict(options)
    if 'most' in options:
        batched['most'] = torch.full_like(starts, options['most'])
    if 'ceiling' in options:
        batched['ceiling'] = torch.full_like(starts, options['ceiling'])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, 'SHARE', share)
        patch.setattr(module, 'MAX_FOUND', room)
        scorer = TableScores(adjacency, table)
        parts = list(search(scorer, adjacency, starts, goals, **batched))
    assert sorted(torch.cat([part.query for part in parts]).tolist()) == list(
        range(starts.numel())
    )
    rows, num_nodes = table.tolist(), data.num_nodes
    for part in parts:
        for place, query in enumerate(part.query.tolist()):
            expanded, bound, reached = slow_search(
                data,
                rows,
                int(starts[query]),
                int(goals[query]),
                share=share,
                **options,
            )
            here = part.pairs // num_nodes == place
            nodes = part.pairs[here] % num_nodes
            assert nodes.tolist() == sorted(set(expanded))
            assert part.bound[place] == bound
            assert part.reached[place] == reached
            if not options.get('reopen'):
                assert len(expanded) == len(set(expanded))


def test_queries_that_do_not_fit_are_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Rings of 60: half of the nodes are found before the goal is met.
    node = torch.arange(60)
    ring = torch.stack([node, (node + 1) % 60])
    data = planning_graph(
        Data(
            pos=torch.randn(60, 2),
            edge_index=torch.cat([ring, ring.flip(0)], dim=1),
            edge_cost=torch.ones(120),
        )
    )
    adjacency = Adjacency.from_data(data)
    scorer = TableScores(adjacency, torch.zeros(120, 60))
    starts, goals = node, (node + 30) % 60
    monkeypatch.setattr(module, 'MAX_FOUND', 256)
    parts = list(search(scorer, adjacency, starts, goals))
    assert len(parts) > 3
    assert all(part.reached.all() for part in parts)
    for part in parts:
        assert set(counted(part.pairs, part.query.numel(), 60).tolist()) <= {
            58,
            59,
        }


def test_exact_scores_lead_straight_to_the_goal(grid: Data) -> None:
    adjacency = Adjacency.from_data(grid)
    free = (~grid.blocked).nonzero().flatten()
    starts, goals = free[:20], free[-20:]
    scorer = TableScores(adjacency, exact_table(grid))
    (part,) = search(scorer, adjacency, starts, goals)
    assert part.reached.all()
    asked = counted(part.pairs, 20, grid.num_nodes)
    assert asked.sum() == len(scorer.asked)  # one pass per expanded node
    assert 10 < asked.float().mean() < 25


@pytest.mark.parametrize('score', [float('nan'), INFINITE, -INFINITE, -3.0])
def test_broken_scores_lose_nothing(diamond: Data, score: float) -> None:
    adjacency = Adjacency.from_data(diamond)
    scorer = TableScores(adjacency, torch.full((5, 5), score))
    start, goal = torch.tensor([0, 1, 0]), torch.tensor([3, 2, 4])
    parts = list(search(scorer, adjacency, start, goal))
    (part,) = parts
    assert part.reached.tolist() == [True, True, False]
    assert part.bound[2] == INFINITE  # all there is was seen
    assert counted(part.pairs, 3, 5)[2] == 4


def test_scores_are_in_their_unit(diamond: Data) -> None:
    # From 0: 1 costs 1 + 1, 2 costs 5 + 0. Doubled scores of half the scale.
    adjacency = Adjacency.from_data(diamond)
    for scale in (0.5, 1.0, 2.0):
        scorer = TableScores(adjacency, exact_table(diamond) / scale)
        scorer.cost_scale = torch.tensor(scale)
        (part,) = search(
            scorer, adjacency, torch.tensor([0]), torch.tensor([3])
        )
        assert part.pairs.tolist() == [0, 1]
        assert part.bound.tolist() == [2]

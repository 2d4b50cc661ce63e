from __future__ import annotations

import pytest
import torch
from helpers import assert_sound, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import best_inside, every_pair
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.planning import restricted
from bcm_pyg.planning.restricted import restricted_search
from bcm_pyg.utils import Adjacency


@settings(deadline=None, max_examples=30)
@given(
    graph=random_graphs(max_nodes=9),
    share=st.floats(0, 1),
    most=st.sampled_from([1, 7, 10**6]),
    seed=st.integers(0, 99),
)
def test_as_networkx(graph: Data, share: float, most: int, seed: int) -> None:
    data = planning_graph(graph)
    starts, goals = every_pair(data.num_nodes)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.rand(len(starts), data.num_nodes, generator=generator)
    chosen = chosen < share
    pairs = chosen.flatten().nonzero().squeeze(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restricted, 'MAX_PAIRS', most)
        plan = restricted_search(
            Adjacency.from_data(data), pairs, starts, goals
        )
    queries = zip(starts.tolist(), goals.tolist(), strict=True)
    for query, (start, goal) in enumerate(queries):
        allowed = set(chosen[query].nonzero().flatten().tolist())
        cost = best_inside(data, allowed, start, goal)
        assert plan.cost[query] == cost  # costs are halves: exact
        assert plan.success[query] == (cost < float('inf'))
        assert set(plan.path(query)) <= allowed | {start, goal}
        assert plan.expansions[query] == len(allowed)
    found = plan.success.nonzero().flatten()
    some = restricted_search(
        Adjacency.from_data(data),
        chosen[found].flatten().nonzero().squeeze(1),
        starts[found],
        goals[found],
    )
    assert_sound(some, data, starts[found].tolist(), goals[found].tolist())
    assert some.cost.tolist() == plan.cost[found].tolist()


def test_free_edges_are_edges(diamond: Data) -> None:
    adjacency = Adjacency.from_data(diamond)
    start, goal = torch.tensor([2, 0]), torch.tensor([3, 3])
    pairs = torch.tensor([5 + 2])  # the second may pass 2, at 5 + 0
    plan = restricted_search(adjacency, pairs, start, goal)
    assert plan.cost.tolist() == [0, 5]
    assert [plan.path(0), plan.path(1)] == [[2, 3], [0, 2, 3]]

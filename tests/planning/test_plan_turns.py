import math
from itertools import pairwise

import pytest
import torch
from turn_twins import cross, random_turns, slow_costs

from bcm_pyg import BCM, Planner
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import turn_graph
from bcm_pyg.planning import plan_turns


@pytest.mark.parametrize('seed', range(8))
def test_as_dijkstra_over_edges(seed):
    data, costs = random_turns(seed)
    turns = turn_graph(data, costs)
    size = data.num_nodes
    ids = torch.arange(size)
    starts, goals = ids.repeat_interleave(size), ids.repeat(size)
    plan = plan_turns(Dijkstra(turns.data), turns, starts, goals)
    edge_cost = dict(
        zip(
            map(tuple, data.edge_index.T.tolist()),
            data.edge_cost.tolist(),
            strict=True,
        )
    )
    exact = {start: slow_costs(data, costs, start) for start in range(size)}
    for query, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        want = exact[int(start)].get(int(goal), math.inf)
        assert float(plan.cost[query]) == pytest.approx(want)
        assert bool(plan.success[query]) == math.isfinite(want)
        path = plan.path(query)
        if math.isfinite(want):
            assert (path[0], path[-1]) == (start, goal)
            total = sum(edge_cost[step] for step in pairwise(path))
            turned = zip(path[:-2], path[1:-1], path[2:], strict=True)
            total += sum(costs[turn] for turn in turned)
            assert total == pytest.approx(want)
        else:
            assert path == []


def test_a_forbidden_turn_is_gone_around():
    turns = turn_graph(cross(), {(3, 0, 2): math.inf})
    plan = plan_turns(Dijkstra(turns.data), turns, 3, 2)
    assert plan.cost.tolist() == [4.0]  # into another street, and back
    assert plan.path(0)[:2] == [3, 0] and plan.path(0)[-2:] == [0, 2]
    model = BCM.from_data(turns.data, hidden_channels=16)
    learned = plan_turns(Planner(model, turns.data), turns, [3, 1], [2, 1])
    assert learned.cost.tolist() == [4.0, 0.0]
    assert learned.path(1) == [1]
    assert learned.lower_bound.tolist()[1] == 0

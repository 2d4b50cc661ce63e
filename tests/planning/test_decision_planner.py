from __future__ import annotations

import pytest
import torch
from helpers import assert_sound, random_graphs
from hypothesis import given, settings
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import decision_graph
from bcm_pyg.planning import DecisionPlanner, Plan


def all_pairs(num_nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.arange(num_nodes)
    return ids.repeat_interleave(num_nodes), ids.repeat(num_nodes)


class Exact:
    """An exact planner whose estimates are exact too."""

    def __init__(self, data: Data) -> None:
        self.search = Dijkstra(data)

    def __call__(self, starts: torch.Tensor, goals: torch.Tensor) -> Plan:
        return self.search(starts, goals)

    def distance(
        self, starts: torch.Tensor, goals: torch.Tensor
    ) -> torch.Tensor:
        return self.search(starts, goals).cost


@settings(deadline=None, max_examples=80)
@given(random_graphs(max_nodes=14))
def test_exact_search_between_decisions_is_exact(data: Data) -> None:
    try:
        graph = decision_graph(data)
    except BCMError:
        return
    starts, goals = all_pairs(graph.full.num_nodes)
    wanted = Dijkstra(data)(starts, goals)
    for planner in (Dijkstra(graph.data), Exact(graph.data)):
        plan = DecisionPlanner(planner, graph)(starts, goals)
        assert torch.equal(plan.success, wanted.success)
        torch.testing.assert_close(plan.cost, wanted.cost)
        assert_sound(plan, graph.full, starts.tolist(), goals.tolist())
        assert bool((plan.lower_bound <= wanted.cost * (1 + 1e-6)).all())
    # All ways were planned, so the bounds of an exact planner are exact.
    plan = DecisionPlanner(Dijkstra(graph.data), graph)(starts, goals)
    torch.testing.assert_close(plan.lower_bound, wanted.cost)


def test_a_map_plans_between_decisions() -> None:
    data = weighted_grid('ushape', side=10)
    graph = decision_graph(data)
    seed_everything(0)
    inner = Planner(BCM.from_data(graph.data), graph.data)
    planner = DecisionPlanner(inner, graph, tries=2)
    starts, goals = all_pairs(10)
    plan = planner(starts, goals)
    assert_sound(plan, graph.full, starts.tolist(), goals.tolist())
    assert plan.success.float().mean() > 0.5
    distance = planner.distance(starts, goals)
    assert bool((distance[starts == goals] == 0).all())
    assert bool(torch.isfinite(distance).all())
    between = graph.place[starts] >= 0
    between &= graph.place[goals] >= 0
    torch.testing.assert_close(
        distance[between],
        inner.distance(
            graph.place[starts][between], graph.place[goals][between]
        ),
    )


def test_no_queries() -> None:
    graph = decision_graph(weighted_grid('open', side=8))
    planner = DecisionPlanner(Dijkstra(graph.data), graph)
    assert len(planner([], [])) == 0


def test_bad_arguments() -> None:
    data = weighted_grid('open', side=8)
    graph = decision_graph(data)
    exact = Dijkstra(graph.data)
    with pytest.raises(BCMError, match='DecisionGraph'):
        DecisionPlanner(exact, data)
    with pytest.raises(BCMError, match='planner must'):
        DecisionPlanner(3, graph)
    with pytest.raises(BCMError, match='tries'):
        DecisionPlanner(exact, graph, tries=0)
    with pytest.raises(BCMError, match='no method distance'):
        DecisionPlanner(exact, graph).distance(0, 1)
    with pytest.raises(BCMError, match='64'):
        DecisionPlanner(exact, graph)(0, 64)

from __future__ import annotations

import pytest
import torch
from helpers import LargestTensor, assert_sound, random_graphs
from hypothesis import given, settings
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import decision_graph
from bcm_pyg.planning import DecisionPlanner, Plan
from bcm_pyg.planning._route_edges import cut_loops
from bcm_pyg.utils import Adjacency


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


def test_epsilon_holds_on_the_full_graph() -> None:
    data = weighted_grid('ushape', side=10)
    graph = decision_graph(data)
    seed_everything(0)
    inner = Planner(BCM.from_data(graph.data), graph.data, epsilon=0.05)
    planner = DecisionPlanner(inner, graph)
    assert planner.tries == 4
    starts, goals = all_pairs(100)
    plan, best = planner(starts, goals), Dijkstra(data)(starts, goals)
    assert torch.equal(plan.success, best.success)
    assert bool((plan.cost <= 1.0501 * best.cost).all())
    assert bool((plan.cost <= 1.0501 * plan.lower_bound).all())
    with pytest.raises(BCMError, match='tries must be 4 .got 3'):
        DecisionPlanner(inner, graph, tries=3)
    walk = Planner(BCM.from_data(graph.data), graph.data)
    assert DecisionPlanner(walk, graph).tries == 1


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
    for tries in (0, 5, 1.5):
        with pytest.raises(BCMError, match='tries must be an int from 1 to 4'):
            DecisionPlanner(exact, graph, tries=tries)
    with pytest.raises(BCMError, match='no method distance'):
        DecisionPlanner(exact, graph).distance(0, 1)
    with pytest.raises(BCMError, match='64'):
        DecisionPlanner(exact, graph)(0, 64)


class Wrapped:
    """A planner that does not tell what graph it plans on."""

    def __init__(self, planner: Dijkstra) -> None:
        self.plan = planner

    def __call__(self, starts: torch.Tensor, goals: torch.Tensor) -> Plan:
        return self.plan(starts, goals)


def test_a_planner_of_another_graph_is_refused() -> None:
    data = weighted_grid('open', side=10)
    graph = decision_graph(data)
    with pytest.raises(BCMError, match='another graph: it has 100 nodes'):
        DecisionPlanner(Dijkstra(data), graph)
    planner = DecisionPlanner(Wrapped(Dijkstra(data)), graph)
    with pytest.raises(BCMError, match='another graph: .* there is no edge'):
        planner(11, 88)
    larger = decision_graph(weighted_grid('open', side=12)).data

    class Far(Wrapped):
        def __call__(self, starts: torch.Tensor, goals: torch.Tensor) -> Plan:
            return self.plan(starts * 0, goals * 0 + 139)

    with pytest.raises(BCMError, match='another graph: .* visits node 139'):
        DecisionPlanner(Far(Dijkstra(larger)), graph)(11, 88)


def test_a_planner_with_other_costs_is_refused() -> None:
    one, two = (weighted_grid('open', side=6, seed=seed) for seed in (1, 2))
    graph, other = decision_graph(one), decision_graph(two)
    assert torch.equal(graph.data.edge_index, other.data.edge_index)
    with pytest.raises(BCMError, match='with other costs than those of the'):
        DecisionPlanner(Dijkstra(other.data), graph)


def with_a_chain() -> Data:
    """All edges among 0 to 3, and a chain 0 - 4 - 5 - 6 - 1, both ways.

    Over the chain and 0 is the best way from 1 to 2.
    """
    pairs = [(i, j) for i in range(4) for j in range(i)]
    costs = [1.0 if pair == (2, 0) else 9.0 for pair in pairs]
    pairs += [(0, 4), (4, 5), (5, 6), (6, 1)]
    tail, head = torch.tensor(pairs).T
    return Data(
        pos=torch.rand(7, 2),
        edge_index=torch.stack(
            [torch.cat([tail, head]), torch.cat([head, tail])]
        ),
        edge_cost=torch.tensor(2 * [*costs, 1, 1, 1, 1]),
    )


class Misled(Exact):
    """Exact, but takes the ways that are longest for the best."""

    def distance(
        self, starts: torch.Tensor, goals: torch.Tensor
    ) -> torch.Tensor:
        return 100 - 20 * super().distance(starts, goals)


def test_routes_visit_no_node_twice() -> None:
    data = with_a_chain()
    graph = decision_graph(data)
    # From 4 by gate 1 to 2 leads back over 4 itself.
    starts, goals = all_pairs(7)
    planner = DecisionPlanner(Misled(graph.data), graph)
    plan = planner(starts, goals)
    assert_sound(plan, graph.full, starts.tolist(), goals.tolist())
    for query in range(len(plan)):
        path = plan.path(query)
        assert len(path) == len(set(path)), path


def test_cut_loops() -> None:
    routes = torch.tensor(
        [[1, 2, 3, 2, 4, -1], [1, 2, 1, 2, 1, 3], [5, 4, 3, 2, 1, 0]]
    )
    before = routes.clone()
    assert cut_loops(routes).tolist() == [
        [1, 2, 4, -1, -1, -1],
        [1, 3, -1, -1, -1, -1],
        [5, 4, 3, 2, 1, 0],
    ]
    assert torch.equal(routes, before)


def test_queries_build_nothing_of_the_size_of_the_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = weighted_grid('open', side=16)
    wanted = Dijkstra(data)([0, 1], [16, 17]).cost
    graph = decision_graph(data)
    planner = DecisionPlanner(Dijkstra(graph.data), graph)
    monkeypatch.delattr(Adjacency, 'from_data')
    monkeypatch.delattr(Adjacency, 'to_scipy')
    with LargestTensor() as watched:
        plan = planner([0, 1], [16, 17])
    torch.testing.assert_close(plan.cost, wanted)
    assert watched.numel < 100 < graph.data.edge_index.size(1)


def test_bytes_of_tables_and_inner_planner_count() -> None:
    graph = decision_graph(weighted_grid('open', side=10))
    inner = Dijkstra(graph.data)
    num_bytes = DecisionPlanner(Exact(graph.data), graph).cache_bytes()
    tables = graph.to_gate.numel() * 4 * 8  # and three more of its size
    assert num_bytes > tables
    planner = DecisionPlanner(inner, graph)
    assert planner.cache_bytes() == num_bytes + inner.storage_bytes()
    model = Planner(BCM.from_data(graph.data), graph.data)
    planner = DecisionPlanner(model, graph)
    assert planner.cache_bytes() == num_bytes + model.cache_bytes()

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from helpers import (
    LargestTensor,
    assert_sound,
    random_graph,
    random_graphs,
    tiny_map,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from small_fits import small_map
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, planning_graph
from bcm_pyg.baselines import APSP, CPD, Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import fingerprint, full_routes, simplify_graph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import Adjacency, cut_loops


def all_pairs(num_nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.arange(num_nodes)
    return ids.repeat_interleave(num_nodes), ids.repeat(num_nodes)


@settings(deadline=None, max_examples=80)
@given(random_graphs(max_nodes=14))
def test_an_exact_planner_stays_exact(data: Data) -> None:
    try:
        graph = simplify_graph(data)
    except BCMError:
        return
    starts, goals = all_pairs(graph.full.num_nodes)
    wanted = Dijkstra(data)(starts, goals)
    for planner in (Dijkstra(graph), APSP(graph), CPD(graph)):
        plan = planner(starts, goals)
        assert torch.equal(plan.success, wanted.success)
        torch.testing.assert_close(plan.cost, wanted.cost)
        assert_sound(plan, graph.full, starts.tolist(), goals.tolist())
        assert bool((plan.lower_bound <= wanted.cost * (1 + 1e-6)).all())
        # All candidates were planned, so that exact bounds stay exact.
        torch.testing.assert_close(plan.lower_bound, wanted.cost)


@settings(deadline=None, max_examples=60)
@given(random_graphs(max_nodes=14), st.integers(0, 2**16))
def test_chains_are_summed_in_double_precision(data: Data, seed: int) -> None:
    """Sums that float32 cannot tell apart, and bounds below the optimum."""
    noise = torch.Generator().manual_seed(seed)
    data.edge_attr = 2**23 + torch.rand(data.edge_attr.shape, generator=noise)
    try:
        graph = simplify_graph(data)
    except BCMError:
        return
    starts, goals = all_pairs(graph.full.num_nodes)
    best = Dijkstra(data)(starts, goals).cost
    model = tiny_map(graph.data)
    for planner, epsilon in (
        (Dijkstra(graph), 0.0),
        (APSP(graph), 0.0),
        (CPD(graph), 0.0),
        (Planner(model, graph, epsilon=0.0), 0.0),
        (Planner(model, graph, 'backtracking', epsilon=0.1), 0.1),
    ):
        plan = planner(starts, goals)
        torch.testing.assert_close(plan.cost, best, rtol=1e-9 + epsilon, atol=0)
        assert bool((plan.lower_bound <= best * (1 + 1e-15)).all())


def test_two_chains_that_are_equal_in_float32() -> None:
    """2**24 + 1 and 2**24 + 0.5, beside a third way."""
    edges = [(0, 1, 2.0**24), (1, 2, 1.0), (0, 3, 2.0**24), (3, 2, 0.5)]
    edges += [(0, 4, 2.0**25), (4, 2, 2.0**25), (4, 5, 1.0), (5, 2, 2.0**26)]
    edges += [(0, 5, 1.0)]
    both = edges + [(head, tail, cost) for tail, head, cost in edges]
    tail, head, cost = zip(*both, strict=True)
    data = Data(
        pos=torch.rand(6, 2),
        edge_index=torch.tensor([tail, head]),
        edge_cost=torch.tensor(cost),
    )
    graph = simplify_graph(data)
    assert Dijkstra(graph)(0, 2).cost.item() == 2.0**24 + 0.5
    assert graph.data.edge_cost_exact.dtype == torch.float64
    changed = graph.data.clone()
    changed.edge_cost = changed.edge_cost * 3
    adjacency = Adjacency.from_data(changed)  # what was exact is outdated
    assert torch.equal(adjacency.exact_cost, changed.edge_cost.double())


def test_a_map_of_a_simplified_graph() -> None:
    data = weighted_grid('ushape', side=10)
    graph = simplify_graph(data)
    seed_everything(0)
    model = BCM.from_data(graph.data)
    inner, planner = Planner(model, graph.data), Planner(model, graph)
    assert planner.num_nodes == 100 > inner.num_nodes
    assert str(planner).endswith('num_nodes=100)')
    starts, goals = all_pairs(10)
    plan = planner(starts, goals)
    assert plan.graph == fingerprint(graph.full) != inner(0, 1).graph
    assert_sound(plan, graph.full, starts.tolist(), goals.tolist())
    assert plan.success.all()
    distance = planner.distance(starts, goals)
    assert bool((distance[starts == goals] == 0).all())
    assert bool(torch.isfinite(distance).all())
    matrix = planner.distance_matrix(range(10), range(10))
    torch.testing.assert_close(matrix.view(-1), distance)
    between = graph.simplified_node[starts] >= 0
    between &= graph.simplified_node[goals] >= 0
    torch.testing.assert_close(
        distance[between],
        inner.distance(
            graph.simplified_node[starts][between],
            graph.simplified_node[goals][between],
        ),
    )


def test_epsilon_holds_on_the_full_graph() -> None:
    data = weighted_grid('ushape', side=10)
    graph = simplify_graph(data)
    seed_everything(0)
    planner = Planner(BCM.from_data(graph.data), graph, epsilon=0.05)
    starts, goals = all_pairs(100)
    plan, best = planner(starts, goals), Dijkstra(data)(starts, goals)
    assert torch.equal(plan.success, best.success)
    assert bool((plan.cost <= 1.0501 * best.cost).all())
    assert bool((plan.cost <= 1.0501 * plan.lower_bound).all())


def test_what_was_walked_is_told() -> None:
    data = weighted_grid('ushape', side=10)
    graph = simplify_graph(data)
    seed_everything(0)
    model = BCM.from_data(graph.data)
    plan = Planner(model, graph, 'backtracking')(*all_pairs(100))
    found = plan.success
    assert (plan.walked_cost >= plan.cost)[found].all()
    assert (plan.walked_cost > plan.cost)[found].any()


def test_no_queries() -> None:
    planner = Dijkstra(simplify_graph(weighted_grid('open', side=8)))
    assert len(planner([], [])) == 0


def test_bad_ids() -> None:
    planner = Dijkstra(simplify_graph(weighted_grid('open', side=8)))
    with pytest.raises(BCMError, match='64'):
        planner(0, 64)


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


class Longest(BasePlanner):
    """Plans the other way round a chain if it can."""

    def _plan(self, starts: torch.Tensor, goals: torch.Tensor) -> Plan:
        plan = Dijkstra(self.data)(starts, goals)
        return replace(plan, cost=100 - plan.cost)

    def storage_bytes(self) -> int:
        return 0


def test_routes_visit_no_node_twice() -> None:
    data = with_a_chain()
    graph = simplify_graph(data)
    # From 4 by portal 1 to 2 leads back over 4 itself.
    starts, goals = all_pairs(7)
    plan = Longest(graph)(starts, goals)
    plan = replace(plan, lower_bound=torch.zeros_like(plan.cost))
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
    graph = simplify_graph(data)
    planner = Dijkstra(graph)
    planner(0, 1)
    monkeypatch.delattr(Adjacency, 'from_data')
    monkeypatch.delattr(Adjacency, 'to_scipy')
    with LargestTensor() as watched:
        plan = planner([0, 1], [16, 17])
    torch.testing.assert_close(plan.cost, wanted)
    assert watched.numel < 100 < graph.data.edge_index.size(1)


def test_bytes_of_the_tables_count() -> None:
    graph = simplify_graph(weighted_grid('open', side=10))
    model = BCM.from_data(graph.data)
    inner, planner = Planner(model, graph.data), Planner(model, graph)
    tables = graph.to_portal.numel() * 4 * 8  # and three more of its size
    assert planner.cache_bytes() > inner.cache_bytes() + tables


@pytest.mark.parametrize('one_way', [False, True])
def test_the_matrix_has_the_distances_of_all_pairs(
    one_way: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it asks the map once for each pair of portals."""
    data = weighted_grid('ushape', side=10)
    if one_way:
        data = planning_graph(random_graph(60, 80, seed=3))
    graph = simplify_graph(data)
    assert graph.node.numel() < data.num_nodes
    planner = Planner(small_map(graph.data), graph)
    starts = torch.arange(int(data.num_nodes))
    goals = starts[::3].flip(0)
    ends = starts.repeat_interleave(len(goals)), goals.repeat(len(starts))
    wanted = planner.distance(*ends).view(-1, len(goals))
    assert bool(wanted.isinf().any()) and bool(wanted.isfinite().any())
    matrix = planner.distance_matrix(starts, goals)
    torch.testing.assert_close(matrix, wanted)
    monkeypatch.setattr(full_routes, 'MAX_ENTRIES', 50)
    matrix = planner.distance_matrix(starts, goals)
    torch.testing.assert_close(matrix, wanted)
    assert planner.distance_matrix([0, 1], []).shape == (2, 0)
    assert planner.distance_matrix([], [0]).shape == (0, 1)

from __future__ import annotations

import json
import math

import pytest
import torch
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, Report, evaluate
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries
from bcm_pyg.export import to_geojson
from bcm_pyg.graph import simplify_graph
from bcm_pyg.metrics import gap, success_rate, wspl
from bcm_pyg.planning import Plan
from bcm_pyg.plotting import plot_route

INFINITE = float('inf')


def make_plan(costs: list[float]) -> Plan:
    cost = torch.tensor(costs, dtype=torch.float64)
    success = cost.isfinite()
    return Plan(
        success=success,
        cost=cost,
        hops=success.long() * 3,
        nodes=torch.full((len(costs), 4), -1),
        expansions=torch.arange(len(costs)),
        lower_bound=torch.zeros_like(cost),
    )


def optimum(costs: list[float]) -> torch.Tensor:
    return torch.tensor(costs, dtype=torch.float64)


def test_all_optimal() -> None:
    plan, best = make_plan([2, 3]), optimum([2, 3])
    assert success_rate(plan, best) == 1
    assert gap(plan, best) == 0
    assert wspl(plan, best) == 1


def test_failures_count_for_success_but_not_for_gap() -> None:
    plan, best = make_plan([3, 4, INFINITE, 8]), optimum([2, 4, 1, 4])
    assert success_rate(plan, best) == 0.75
    assert gap(plan, best) == 50  # of 50 %, 0 % and 100 %
    assert wspl(plan, best) == pytest.approx((2 / 3 + 1 + 0 + 1 / 2) / 4)


def test_unreachable_queries_count_for_nothing() -> None:
    plan = make_plan([3, INFINITE, INFINITE])
    best = optimum([2, INFINITE, 4])
    assert success_rate(plan, best) == 0.5
    assert gap(plan, best) == 50
    assert wspl(plan, best) == pytest.approx(2 / 3 / 2)


def test_queries_that_cost_nothing() -> None:
    # Optimal; a detour from a free route; failed; an ordinary one.
    plan, best = make_plan([0, 5, INFINITE, 3]), optimum([0, 0, 0, 2])
    assert success_rate(plan, best) == 0.75
    assert gap(plan, best) == 50
    assert wspl(plan, best) == pytest.approx((1 + 0 + 0 + 2 / 3) / 4)


def test_rounding_below_the_optimum_is_no_gain() -> None:
    plan, best = make_plan([1 - 1e-12]), optimum([1])
    assert wspl(plan, best) == 1
    assert gap(plan, best) == pytest.approx(0, abs=1e-9)


def test_nothing_to_average() -> None:
    none = make_plan([]), optimum([])
    failed = make_plan([INFINITE]), optimum([1])
    unreachable = make_plan([INFINITE]), optimum([INFINITE])
    assert all(math.isnan(f(*none)) for f in (success_rate, gap, wspl))
    assert all(math.isnan(f(*unreachable)) for f in (success_rate, gap, wspl))
    assert success_rate(*failed) == wspl(*failed) == 0
    assert math.isnan(gap(*failed))


def test_evaluate_by_hand(diamond: Data) -> None:
    # Optimal 0 -> 1 -> 3 costs 2; this planner goes over 2 for 5. It fails on
    # 1 -> 2 (optimal 16); nothing reaches 4; and 4 -> 4 costs nothing.
    def planner(starts: torch.Tensor, goals: torch.Tensor) -> Plan:
        assert starts.tolist() == [0, 1, 0, 4]
        assert goals.tolist() == [3, 2, 4, 4]
        return Plan(
            success=torch.tensor([True, False, False, True]),
            cost=torch.tensor([5.0, INFINITE, INFINITE, 0.0]).double(),
            hops=torch.tensor([2, 0, 0, 0]),
            nodes=torch.tensor([[0, 2, 3], [-1] * 3, [-1] * 3, [4, -1, -1]]),
            expansions=torch.tensor([2, 4, 0, 0]),
            lower_bound=torch.zeros(4).double(),
        )

    report = evaluate(planner, diamond, [0, 1, 0, 4], [3, 2, 4, 4])
    assert report.success_rate == pytest.approx(2 / 3)
    assert report.cost == 2.5
    assert report.gap == pytest.approx(150)
    assert report.wspl == pytest.approx((2 / 5 + 0 + 1) / 3)
    assert report.hops == 1
    assert report.expansions == 1.5
    assert report.num_queries == 4
    assert report.seconds_per_query > 0


def test_report_is_an_aligned_table() -> None:
    report = Report(0.98, 123.456, 5.25, 0.95, 31.5, 32.75, 2.5e-5, 100)
    head, row = str(report).split('\n')
    assert head == Report.header() and row == report.row()
    assert repr(report) == (
        'Report(num_queries=100, success_rate=0.980, gap=5.250)'
    )
    assert len(head) == len(row)
    # Every column ends where its name ends.
    ends = [head.index(name) + len(name) for name in ('SR', 'Cost', 'Gap %')]
    assert [row[:end].split()[-1] for end in ends] == [
        '0.980',
        '123.456',
        '5.250',
    ]
    assert row.split() == [
        '0.980',
        '123.456',
        '5.250',
        '0.950',
        '31.5',
        '32.8',
        '25.0',
        '100',
    ]
    assert json.loads(json.dumps(report.as_dict())) == {
        'success_rate': 0.98,
        'cost': 123.456,
        'gap': 5.25,
        'wspl': 0.95,
        'hops': 31.5,
        'expansions': 32.75,
        'seconds_per_query': 2.5e-5,
        'num_queries': 100,
    }


def test_evaluate_dijkstra(grid: Data) -> None:
    starts, goals = sample_queries(grid, 30, seed=7)
    report = evaluate(Dijkstra(grid), grid, starts, goals)
    assert report.success_rate == 1
    assert report.gap == pytest.approx(0, abs=1e-9)
    assert report.wspl == pytest.approx(1)
    assert report.num_queries == 30
    assert report.hops <= report.expansions


def test_evaluate_planner(grid: Data) -> None:
    starts, goals = sample_queries(grid, 30, seed=7)
    planner = Planner(BCM.from_data(grid), grid, 'lookahead')
    report = evaluate(planner, grid, starts.tolist(), goals.numpy())
    plan, best = planner(starts, goals), Dijkstra(grid)(starts, goals).cost
    assert report.success_rate == success_rate(plan, best)
    assert report.gap == gap(plan, best) > 0
    assert report.wspl == wspl(plan, best) < 1
    assert report.cost == float(plan.cost[plan.success].mean())


def test_evaluate_without_queries(diamond: Data) -> None:
    for planner in (
        Dijkstra(diamond),
        Planner(BCM.from_data(diamond), diamond),
    ):
        report = evaluate(planner, diamond, [], [])
        assert report.num_queries == 0
        assert math.isnan(report.success_rate)
        assert math.isnan(report.gap)
        assert len(report.header()) == len(report.row())


def test_evaluate_checks(diamond: Data) -> None:
    with pytest.raises(BCMError, match=r'goals\[0\] = 9'):
        evaluate(Dijkstra(diamond), diamond, [0], [9])
    with pytest.raises(BCMError, match='answered 1 of 2'):
        evaluate(lambda s, g: make_plan([1.0]), diamond, [0, 1], [3, 3])


def test_a_plan_of_another_graph_is_refused(grid: Data, tmp_path) -> None:
    other = grid.clone()
    other.edge_cost = grid.edge_cost + 1
    planner = Planner(BCM.from_data(grid), grid)
    plan = planner([0, 1], [9, 8])
    with pytest.raises(BCMError, match='another graph, or with other costs'):
        evaluate(planner, other, [0, 1], [9, 8])
    for use in (
        lambda: plan.to_labels(other),
        lambda: to_geojson(plan, other),
        lambda: plot_route(other, plan),
    ):
        with pytest.raises(BCMError, match='the plan is of another graph'):
            use()
    assert plan.to_labels(grid) == plan.paths()
    roads = simplify_graph(grid)
    plan = Planner(BCM.from_data(roads.data), roads)(0, 1)
    with pytest.raises(BCMError, match='of a simplified graph, the full one'):
        plan.to_labels(roads.data)
    assert plan.to_labels(grid) == plan.paths()


def test_a_module_may_be_a_planner(grid: Data) -> None:
    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.search = Dijkstra(grid)

        def forward(self, starts: torch.Tensor, goals: torch.Tensor) -> Plan:
            return self.search(starts, goals)

    assert evaluate(Wrapped(), grid, [0], [9]).gap == 0


def test_evaluate_draws_queries(grid: Data) -> None:
    report = evaluate(Dijkstra(grid), grid)
    assert report.num_queries == 1000
    want = evaluate(Dijkstra(grid), grid, *sample_queries(grid, 1000))
    assert (report.cost, report.hops) == (want.cost, want.hops)
    for one in ({'starts': 0}, {'goals': [1]}):
        with pytest.raises(BCMError, match='give starts and goals, or neither'):
            evaluate(Dijkstra(grid), grid, **one)

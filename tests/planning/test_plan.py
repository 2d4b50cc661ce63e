from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch
from helpers import assert_same_plan

from bcm_pyg import BCMError
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.planning import Plan, Route


def make_plan(*paths: list[int]) -> Plan:
    longest = max(len(path) for path in paths)
    hops = torch.tensor([max(0, len(path) - 1) for path in paths])
    success = torch.tensor([len(path) > 0 for path in paths])
    return Plan(
        success=success,
        cost=hops.double().masked_fill(~success, float('inf')),
        hops=hops,
        nodes=torch.tensor(
            [path + [-1] * (longest - len(path)) for path in paths]
        ),
        expansions=hops + 5,
        lower_bound=torch.zeros(len(paths), dtype=torch.float64),
    )


def test_plan() -> None:
    plan = make_plan([3, 1, 0], [], [2])
    assert str(plan) == (
        'Plan(queries=3, success=2, unreachable=0, mean_cost=1)'
    )
    assert len(plan) == 3
    assert [plan.path(query) for query in range(3)] == [[3, 1, 0], [], [2]]
    assert all(type(node) is int for node in plan.path(0))
    assert plan.path() == plan.path(0)
    assert plan.path(-1) == [2]
    assert plan.paths() == [[3, 1, 0], [], [2]]
    for query in (3, -4):
        with pytest.raises(IndexError, match=f'no query {query}: .* 3 queries'):
            plan.path(query)
    with pytest.raises(IndexError, match='no query 1: .* 1 query$'):
        plan[:1].path(1)


def test_plan_is_frozen() -> None:
    plan = make_plan([0, 1])
    with pytest.raises(FrozenInstanceError):
        plan.cost = torch.zeros(1)  # type: ignore[misc]


def test_cat_pads_to_the_longest() -> None:
    plan = Plan.cat([make_plan([7]), make_plan([3, 1, 0], []), make_plan([4])])
    assert plan.nodes.tolist() == [
        [7, -1, -1],
        [3, 1, 0],
        [-1, -1, -1],
        [4, -1, -1],
    ]
    assert plan.success.tolist() == [True, True, False, True]
    assert plan.cost.tolist() == [0, 2, float('inf'), 0]
    assert plan.hops.tolist() == [0, 2, 0, 0]
    assert plan.expansions.tolist() == [5, 7, 5, 5]
    assert plan.lower_bound.tolist() == [0, 0, 0, 0]
    assert plan.path(1) == [3, 1, 0]


def test_cat_of_one_is_the_same() -> None:
    plan = make_plan([3, 1, 0], [])
    joined = Plan.cat([plan])
    assert_same_plan(plan, joined)


def test_cat_keeps_the_graph() -> None:
    plan = replace(make_plan([3, 1, 0], []), graph='abc')
    assert Plan.cat([plan, plan]).graph == 'abc'
    assert plan[1:].graph == plan.to('cpu').graph == 'abc'


def test_one_route() -> None:
    plan = make_plan([3, 1, 0], [], [2])
    assert plan[0] == Route([3, 1, 0], True, 2.0, 2, 7, 0.0, 3, 0)
    assert plan[1] == Route([], False, float('inf'), 0, 5, 0.0)
    assert plan[-1] == plan[torch.tensor(2).item()] == plan[np.int64(2)]
    assert [route.nodes for route in plan] == plan.paths()
    for query in (3, -4):
        with pytest.raises(IndexError, match='no query'):
            plan[query]


def test_a_route_is_a_sequence_of_its_nodes() -> None:
    route, none = make_plan([3, 1, 0], [])
    assert list(route) == route.nodes and len(route) == 3
    assert 1 in route and 2 not in route
    assert route.edges == [(3, 1), (1, 0)]
    assert route and not none and list(none) == none.edges == []


def test_routes_in_names() -> None:
    plan = make_plan([3, 1, 0], [])
    with pytest.raises(BCMError, match='pass the graph'):
        plan.to_labels()
    ends = {'starts': torch.tensor([3, 0]), 'goals': torch.tensor([0, 2])}
    plan = replace(plan, **ends, names=['a', 'b', 'c', 'd'])
    assert repr(plan[0]) == "Route('d' -> 'a', cost=2, hops=2)"
    assert str(plan[0]) == 'd -> b -> a (cost 2)'
    assert str(plan[1]) == repr(plan[1]) == "Route('a' -> 'c', none found)"
    assert plan[0].nodes == ['d', 'b', 'a']
    assert plan.path(0) == [3, 1, 0]
    assert plan.to_labels() == [['d', 'b', 'a'], []]
    joined = Plan.cat([plan, plan[1:]]).to('cpu')
    assert [route.goal for route in joined] == ['a', 'c', 'c']


@pytest.mark.parametrize(
    'some',
    [
        slice(1, None),
        [1, 2],
        (1, 2),
        np.array([1, 2]),
        torch.tensor([1, 2]),
        torch.tensor([False, True, True]),
        np.array([False, True, True]),
        [False, True, True],
        range(1, 3),
    ],
)
def test_some_routes(some: object) -> None:
    plan = make_plan([3, 1, 0], [], [2])[some]
    assert isinstance(plan, Plan)
    assert plan.paths() == [[], [2]]
    assert plan.nodes.tolist() == [[-1], [2]]  # as wide as needed
    assert plan.walked_cost.tolist() == plan.cost.tolist()


def test_odd_positions() -> None:
    plan = make_plan([3, 1, 0], [], [2])
    assert plan[::-1].paths() == [[2], [], [3, 1, 0]]
    assert plan[torch.tensor(2)] == plan[np.array(2)] == plan[2]
    assert len(plan[[]]) == len(plan[()]) == 0
    with pytest.raises(TypeError):
        plan[1.5]  # type: ignore[call-overload]


def test_no_routes() -> None:
    plan = make_plan([3, 1, 0])[:0]
    assert len(plan) == 0 and list(plan) == []
    assert_same_plan(plan, Plan.empty(torch.device('cpu')))


def test_cheaper() -> None:
    plan = make_plan([3, 1, 0], [], [2])
    better = make_plan([4, 5])
    whole = plan.cheaper(torch.tensor([1]), better)
    assert whole.paths() == [[3, 1, 0], [4, 5], [2]]
    assert whole.expansions.tolist() == [7, 5 + 6, 5]
    same = plan.cheaper(torch.tensor([2]), better)  # it had a cheaper one
    assert same.paths() == plan.paths()


def test_to_frame(diamond):
    pd = pytest.importorskip('pandas')
    plan = Dijkstra(diamond)([0, 0, 4], [3, 4, 4])
    frame = plan.to_frame()
    assert isinstance(frame, pd.DataFrame) and len(frame) == 3
    assert [*frame.columns] == [
        'query',
        'start',
        'goal',
        'success',
        'cost',
        'hops',
        'lower_bound',
        'nodes',
    ]
    assert frame.start.tolist() == [0, 0, 4]
    assert frame.goal.tolist() == [3, 4, 4]
    assert frame.success.tolist() == [True, False, True]
    assert frame.cost.tolist() == [2, float('inf'), 0]
    assert frame.nodes.tolist() == [[0, 1, 3], [], [4]]
    diamond.node_id = ['a', 'b', 'c', 'd', 'e']
    named = plan.to_frame(diamond)
    assert named.goal.tolist() == ['d', 'e', 'e']
    assert named.nodes[0] == ['a', 'b', 'd']
    assert len(Plan.empty('cpu').to_frame()) == 0
    unknown = replace(plan, starts=None, goals=None).to_frame()
    assert unknown.start.tolist() == [0, None, 4]


def test_to_frame_without_pandas(diamond, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pandas', None)
    with pytest.raises(BCMError, match=r'pip install bcm_pyg\[geo\]'):
        Dijkstra(diamond)(0, 3).to_frame()

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
import torch

from bcm_pyg.planning import Plan


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
    assert str(plan) == 'Plan(queries=3, success=2, unreachable=0)'
    assert len(plan) == 3
    assert [plan.path(query) for query in range(3)] == [[3, 1, 0], [], [2]]
    assert all(type(node) is int for node in plan.path(0))
    assert plan.path() == plan.path(0)
    assert plan.path(-1) == [2]
    assert plan.paths() == [[3, 1, 0], [], [2]]
    for query in (3, -4):
        with pytest.raises(IndexError, match=f'no query {query}: .* 3 queries'):
            plan.path(query)


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
    for field in fields(Plan):
        one, two = getattr(plan, field.name), getattr(joined, field.name)
        assert one.dtype == two.dtype
        assert one.tolist() == two.tolist()

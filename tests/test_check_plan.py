import dataclasses

import pytest
import torch

from bcm_pyg import BCM, BCMError, Plan, evaluate
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.planning import VisitedGreedy


def plan_of(diamond):
    return Dijkstra(diamond)([0, 1, 2, 0], [3, 0, 2, 4])


def verdict(diamond, plan):
    evaluate(lambda starts, goals: plan, diamond, [0, 1, 2, 0], [3, 0, 2, 4])


def test_sound(diamond):
    plan = plan_of(diamond)
    assert plan.success.tolist() == [True, True, True, False]
    verdict(diamond, plan)


@pytest.mark.parametrize(
    ('name', 'place', 'value', 'message'),
    [
        ('nodes', (0, 0), 1, 'query 0 .* from its start to its goal'),
        ('nodes', (0, 2), 0, 'query 0 .* from its start to its goal'),
        ('nodes', (0, 1), -1, 'query 0 .* not padded'),
        ('nodes', (1, 1), 2, 'query 1 .* missing edge'),
        ('nodes', (2, 0), -1, 'query 2 .* not padded'),
        ('cost', (1,), 10.0, 'query 1 .* not the sum'),
        ('cost', (2,), 1.0, 'query 2 .* not the sum'),
        ('cost', (1,), float('nan'), 'query 1 .* not the sum'),
        ('hops', (0,), 1, 'query 0 .* hops'),
        ('hops', (2,), 999, 'query 2 .* hops'),
        ('success', (3,), True, 'query 3 .* not padded'),
    ],
)
def test_refused(diamond, name, place, value, message):
    plan = plan_of(diamond)
    changed = getattr(plan, name).clone()
    changed[place] = value
    plan = dataclasses.replace(plan, **{name: changed})
    with pytest.raises(BCMError, match=message):
        verdict(diamond, plan)


def test_a_planner_of_other_costs_is_refused(diamond):
    planner = Dijkstra(diamond)
    diamond.edge_cost = diamond.edge_cost + 1
    with pytest.raises(BCMError, match='another graph, or with other costs'):
        evaluate(planner, diamond, [0], [3])


def test_not_a_plan(diamond):
    with pytest.raises(BCMError, match='got list'):
        verdict(diamond, [[0, 1, 3]])
    with pytest.raises(BCMError, match='got NoneType'):
        verdict(diamond, None)
    with pytest.raises(BCMError, match='answered 2 of 4'):
        verdict(diamond, Dijkstra(diamond)([0, 1], [3, 0]))
    with pytest.raises(BCMError, match='must be a Planner'):
        evaluate(BCM.from_data(diamond), diamond, [0], [1])
    with pytest.raises(BCMError, match='must be a Planner'):
        evaluate(VisitedGreedy, diamond, [0], [1])


def test_numpy_fields_are_welcome(diamond):
    plan = plan_of(diamond)
    fields = {
        key: value.numpy()
        for key, value in vars(plan).items()
        if isinstance(value, torch.Tensor)
    }
    fields['success'] = torch.from_numpy(fields['success'])
    verdict(diamond, Plan(**fields))

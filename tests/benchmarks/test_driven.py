"""A driven rollout goes where it is told, and does all the work."""

from __future__ import annotations

import pytest
import torch
from driven import drive, sample_routes

from bcm_pyg import BCM, Planner
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid


@pytest.mark.parametrize('cache', [True, False])
def test_follows_shortest_paths(cache: bool) -> None:
    data = weighted_grid('ushape', side=12, seed=3)
    planner = Planner(BCM.from_data(data), data, batch_size=30, cache=cache)
    routes = sample_routes(planner.adjacency, num=50, seed=0, sources=5)
    driver = drive(planner, routes)
    for _ in range(2):  # it can be used again
        driver.begin()
        plan = planner(driver.starts, driver.goals)
        assert plan.success.all()
        assert torch.equal(plan.hops, driver.hops)
        for query, route in enumerate(routes.tolist()):
            assert plan.path(query) == [node for node in route if node >= 0]
    best = Dijkstra(data)(driver.starts, driver.goals).cost
    assert torch.allclose(plan.cost, best)

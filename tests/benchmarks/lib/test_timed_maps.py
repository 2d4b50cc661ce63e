"""A map made by hand, whose walks are known."""

import torch

from bcm_pyg import Planner
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import Greedy, VisitedGreedy
from benchmarks.lib.measure import keeps_edges
from benchmarks.lib.timed_maps import straight_map


def test_walks_go_straight() -> None:
    data = weighted_grid('open', side=30, costs='wide', seed=3)
    starts, goals = sample_queries(data, 200, seed=3)
    straight = (data.pos[starts] - data.pos[goals]).abs().sum(dim=1)
    for readout in (Greedy(), VisitedGreedy()):
        planner = Planner(straight_map(64), data, readout)
        assert keeps_edges(planner, int(starts[0]), int(goals[0]))
        plan = planner(starts, goals)
        assert plan.success.all()
        assert torch.equal(plan.hops, straight.long())
        assert torch.equal(plan.expansions, plan.hops)


def test_its_layers_are_of_the_width_asked_for() -> None:
    phi = straight_map(64).transition
    assert (phi.hidden_channels, phi.out_channels) == (64, 64)

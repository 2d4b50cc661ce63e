from __future__ import annotations

import torch
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner, planning_graph
from bcm_pyg.planning import VisitedGreedy


def test_visited_greedy_escapes_a_circle(diamond: Data) -> None:
    assert str(VisitedGreedy()) == 'VisitedGreedy()'
    # All scores are 0: 0 -> 1 -> 3, back to 0 as 3 has no other way, and then
    # to 2, the one neighbour of 0 that is new.
    model = BCM.from_data(diamond)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    plan = Planner(model, diamond, VisitedGreedy())([0, 1], [2, 2])
    assert plan.path(0) == [0, 1, 3, 0, 2]
    assert plan.path(1) == [1, 3, 0, 2]
    assert plan.cost.tolist() == [17, 16]
    assert plan.hops.tolist() == [4, 3]
    assert plan.expansions.tolist() == [3, 3]


def test_the_start_counts_as_visited() -> None:
    # 0 <-> 1 -> 2 with the way back scored best: not taken, 0 is visited.
    data = planning_graph(
        Data(
            pos=torch.tensor([[0.0], [1.0], [2.0], [3.0]]),
            edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 3]]),
            edge_cost=torch.ones(4),
        )
    )
    model = BCM.from_data(data)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    plan = Planner(model, data, VisitedGreedy())(0, 3)
    assert plan.path(0) == [0, 1, 2, 3]


def test_the_planner_reads_so_by_default(diamond: Data) -> None:
    planner = Planner(BCM.from_data(diamond), diamond)
    assert planner.readout == VisitedGreedy()

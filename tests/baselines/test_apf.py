import math

import pytest
import torch
from baseline_walks import all_pairs_hops, check_plan, slow_walk
from helpers import random_graphs
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import APF, APSP
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.utils import Adjacency, Reachability


def slow_potential(data, attraction=1.0, repulsion=1.0, radius=2.0):
    pos = data.pos.tolist()
    blocked = data.get('blocked', torch.zeros(data.num_nodes)).bool()
    obstacles = [pos[n] for n in blocked.nonzero().flatten().tolist()]

    def potential(node, goal):
        value = 0.5 * attraction * math.dist(pos[node], pos[goal]) ** 2
        rho = min((math.dist(pos[node], o) for o in obstacles), default=9e9)
        if rho <= radius:
            value += 0.5 * repulsion * (1 / rho - 1 / radius) ** 2
        return value

    return potential


def test_line():
    data = planning_graph(
        Data(
            pos=torch.tensor([[0.0], [1.0], [2.0], [3.5]]),
            edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
            edge_cost=torch.tensor([1.0, 1.0, 5.0, 5.0]),
            blocked=torch.tensor([False, False, False, True]),
        )
    )
    planner = APF(data)
    assert str(planner) == 'APF(attraction=1.0, repulsion=1.0, radius=2.0)'
    assert planner.storage_bytes() == 0
    value = planner.potential(torch.tensor([0, 1, 2]), torch.tensor(0))
    near = 0.5 * (1 / 1.5 - 1 / 2) ** 2
    assert value.tolist() == pytest.approx([0.0, 0.5, 2.0 + near])

    plan = planner([0, 2, 1, 0], [2, 0, 1, 3])
    assert plan.success.tolist() == [True, True, True, False]
    assert plan.cost.tolist() == [6.0, 6.0, 0.0, float('inf')]
    assert plan.lower_bound.tolist() == [0.0, 0.0, 0.0, float('inf')]
    assert [plan.path(q) for q in range(4)] == [[0, 1, 2], [2, 1, 0], [1], []]

    # Enough repulsion keeps the walk away from the goal.
    shy = APF(data, repulsion=1000.0)([0, 2], [2, 0])
    assert shy.success.tolist() == [False, True]


@pytest.mark.parametrize(
    'settings', [{}, {'attraction': 0.5, 'repulsion': 3.0, 'radius': 3.0}]
)
def test_agrees_with_one_query_at_a_time(grid, settings):
    planner = APF(grid, **settings)
    free = (~grid.blocked).nonzero().squeeze(1)
    pairs = torch.cartesian_prod(free[::4], free[1::3])
    starts, goals = pairs.T
    plan = planner(starts, goals)
    check_plan(plan, planner.adjacency, starts, goals)
    potential = slow_potential(grid, **settings)
    for query, (start, goal) in enumerate(pairs.tolist()):
        path = slow_walk(planner.adjacency, potential, start, goal)
        assert plan.path(query) == path
    assert 0.5 < float(plan.success.double().mean()) < 1.0  # the U is a trap


@given(random_graphs())
@settings(max_examples=30, deadline=None)
def test_directed_float_graphs(data):
    data = planning_graph(data)
    adjacency = Adjacency.from_data(data)
    nodes = torch.arange(data.num_nodes)
    starts, goals = torch.cartesian_prod(nodes, nodes).T
    plan = APF(data)(starts, goals)
    check_plan(plan, adjacency, starts, goals)
    assert bool(plan.success[starts == goals].all())
    connected = Reachability(adjacency).pairs(starts, goals)
    assert not bool(plan.success[~connected].any())
    assert bool(plan.lower_bound[~connected].isinf().all())
    potential = slow_potential(data)
    for query in range(len(plan)):
        ends = int(starts[query]), int(goals[query])
        path = slow_walk(adjacency, potential, *ends)
        assert plan.path(query) == path


def test_three_axes():
    cells = torch.cartesian_prod(*[torch.arange(4)] * 3)
    near = torch.cdist(cells.float(), cells.float()) == 1
    blocked = (cells == 1).all(1)
    near[blocked] = False
    near[:, blocked] = False
    edge_index = near.nonzero().T
    data = Data(
        pos=cells.float(),
        edge_index=edge_index,
        edge_cost=torch.ones(edge_index.size(1)),
        blocked=blocked,
    )
    plan = APF(data)([0, 63, 0], [63, 0, 21])
    assert plan.hops.tolist() == [9, 9, 0]
    assert plan.success.tolist() == [True, True, False]


def test_node_on_an_obstacle():
    data = Data(
        pos=torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]),
        edge_index=torch.tensor([[0, 1], [1, 3]]),
        edge_cost=torch.ones(2),
        blocked=torch.tensor([False, False, True, False]),
    )
    assert APF(data)(0, 3).path(0) == [0, 1, 3]  # the only way
    assert bool(APF(data).potential(torch.arange(4), 3).isfinite().all())
    assert APF(data, repulsion=0.0)(0, 3).path(0) == [0, 1, 3]


def test_success_rates_of_the_paper():
    """Over all pairs, see sections 3 and 5 of baselines.md."""
    data = weighted_grid('ushape', side=40, costs='uniform')
    planner, table = APF(data), APSP(data)
    free = (~data.blocked).nonzero().squeeze(1)
    assert free.numel() == 1536
    score = planner.potential(torch.arange(1600), free[:, None])
    hops = all_pairs_hops(planner.adjacency, score, free)
    best = table.distance[free][:, free].T.numpy()
    found = (hops > 0)[best > 0]
    assert found.mean() == pytest.approx(0.813, abs=1e-3)
    gap = 100 * (hops[hops > 0] / best[hops > 0] - 1).mean()
    assert 0 <= gap < 0.02

    # The planner itself agrees, on a sample of the pairs.
    pick = torch.randint(1536, (500, 2))
    plan = planner(free[pick[:, 0]], free[pick[:, 1]])
    expected = torch.from_numpy(hops)[pick[:, 1], pick[:, 0]]
    assert plan.success.equal(expected >= 0)
    assert plan.hops.equal(expected.clamp(min=0))


def test_costs_play_no_part():
    plans = [
        APF(weighted_grid('block', side=20, costs=costs))([0, 5], [399, 390])
        for costs in ('uniform', 'wide')
    ]
    assert plans[0].nodes.equal(plans[1].nodes)


@pytest.mark.parametrize('name', ['attraction', 'repulsion', 'radius'])
@pytest.mark.parametrize('value', [-1.0, float('nan'), float('inf'), '1', True])
def test_bad_gains(grid, name, value):
    with pytest.raises(BCMError, match=name):
        APF(grid, **{name: value})


def test_bad_input(grid):
    with pytest.raises(BCMError, match='radius must be finite and positive'):
        APF(grid, radius=0.0)
    with pytest.raises(BCMError, match='is not a node'):
        APF(grid)(-1, 3)
    assert len(APF(grid)([], [])) == 0
    for blocked in (grid.blocked.long(), grid.blocked[:50], 'none'):
        grid.blocked = blocked
        with pytest.raises(BCMError, match='blocked must be a bool tensor'):
            APF(grid)

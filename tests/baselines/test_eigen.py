import numpy as np
import pytest
import torch
from baseline_walks import all_pairs_hops, check_plan, slow_walk
from helpers import random_graphs
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import BCMError, evaluate, planning_graph
from bcm_pyg.baselines import APSP, EigenAgent
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.utils import Adjacency, Reachability


def slow_potential(data, weight, modes, epsilon=3e-3):
    """The formula on the whole graph at once, for one component."""
    num_nodes = data.num_nodes
    affinity = np.zeros((num_nodes, num_nodes))
    tail, head = data.edge_index.numpy()
    affinity[tail, head] = weight(data.edge_cost.double().numpy())
    scale = affinity[tail, head].mean()
    affinity = (affinity + affinity.T) / 2
    free = np.flatnonzero(affinity.sum(0))
    block = affinity[np.ix_(free, free)]
    value, vector = np.linalg.eigh(np.diag(block.sum(0)) - block)
    phi = np.zeros((num_nodes, num_nodes))
    for k in range(modes):
        if value[k] > 1e-6 * scale:
            term = np.outer(vector[:, k], vector[:, k])
            phi[np.ix_(free, free)] += term / (value[k] + epsilon * scale)
    return phi * scale  # weights of mean 1


def test_path_of_three_nodes():
    data = Data(
        pos=torch.tensor([[0.0], [1.0], [2.0], [9.0]]),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_cost=torch.tensor([1.0, 1.0, 5.0, 5.0]),
    )
    agent = EigenAgent(data, epsilon=0.0)
    assert str(agent) == "EigenAgent('binary', epsilon=0.0, modes=2)"
    # Eigenvalues 0, 1, 3; the Fiedler vector is (1, 0, -1) / sqrt 2.
    assert agent.eigenvalues.tolist() == pytest.approx([0.0, 1.0], abs=1e-6)
    assert agent.eigenvectors.shape == (4, 2)
    assert agent.storage_bytes() == (4 * 2 + 2) * 4
    phi = agent.potential([0, 3]).flatten().tolist()
    assert phi == pytest.approx([0.5, 0, -0.5, 0] + [0] * 4, abs=1e-6)

    plan = agent([0, 2, 1, 0, 3], [2, 0, 1, 3, 3])
    assert plan.success.tolist() == [True, True, True, False, True]
    inf = float('inf')
    assert plan.cost.tolist() == [6.0, 6.0, 0.0, inf, 0.0]
    assert plan.lower_bound.tolist() == [0.0, 0.0, 0.0, inf, 0.0]
    assert plan.path(0) == [0, 1, 2]
    assert plan.path(3) == []


@pytest.mark.parametrize(
    'weights, weight',
    [
        ('binary', np.ones_like),
        ('inverse', lambda c: 1 / c),
        ('rbf', lambda c: np.exp(-(c**2) / 8)),
    ],
)
def test_agrees_with_the_formula(grid, weights, weight):
    agent = EigenAgent(grid, weights)
    free = (~grid.blocked).nonzero().squeeze(1)
    assert agent.modes == free.numel() - 2
    phi = slow_potential(grid, weight, agent.modes)
    mine = agent.potential(torch.arange(100)).double().numpy()
    assert np.abs(mine - phi).max() < 1e-5 * np.abs(phi).max()

    pairs = torch.cartesian_prod(free[::5], free[2::5])
    plan = agent(*pairs.T)
    check_plan(plan, agent.adjacency, *pairs.T)
    # A product of another shape would round, and break ties, otherwise.
    rows = -agent.potential(free[2::5]).numpy()
    table = dict(zip(free[2::5].tolist(), rows, strict=True))
    for query, (start, goal) in enumerate(pairs.tolist()):
        path = slow_walk(agent.adjacency, lambda i, g: table[g][i], start, goal)
        assert plan.path(query) == path
    assert bool(plan.success.all())


@pytest.fixture(scope='module')
def ushape():
    """The U of the paper, its free cells, and all distances."""
    data = weighted_grid('ushape', side=40, costs='uniform')
    free = (~data.blocked).nonzero().squeeze(1)
    best = APSP(data).distance[free][:, free].T.numpy()
    return data, free, best, EigenAgent(data)


@pytest.mark.parametrize(
    'epsilon, expected', [(0.0, 6.08), (1e-3, 4.89), (3e-3, 3.5)]
)
def test_gaps_over_all_pairs(ushape, epsilon, expected):
    """See section 5 of baselines.md."""
    data, free, best, agent = ushape
    agent.epsilon = epsilon
    hops = all_pairs_hops(agent.adjacency, -agent.potential(free), free)
    assert (hops >= 0).all()  # a success rate of 1
    gap = 100 * (hops[best > 0] / best[best > 0] - 1).mean()
    assert gap == pytest.approx(expected, abs=0.05)

    # The agent itself agrees, on a sample of the pairs.
    pick = torch.randint(1536, (300, 2))
    plan = agent(free[pick[:, 0]], free[pick[:, 1]])
    expected_hops = torch.from_numpy(hops)[pick[:, 1], pick[:, 0]]
    same = plan.hops == expected_hops
    assert bool(plan.success.all())
    # Products of other shapes round otherwise, which decides ties.
    assert float(same.double().mean()) > 0.98


def test_counts_of_the_paper(ushape, monkeypatch):
    data, free, _, agent = ushape
    assert int(data.blocked.sum()) == 64
    assert data.edge_index.size(1) == 2 * 2958
    assert agent.modes == 1534
    assert agent.storage_bytes() == 9_823_736
    tables = agent.eigenvalues, agent.eigenvectors
    assert sum(t.numel() * t.element_size() for t in tables) == 9_823_736
    assert EigenAgent(weighted_grid(side=20)).storage_bytes() == 612_728

    # Counting at side 60 needs no solution.
    monkeypatch.setattr(
        np.linalg, 'eigh', lambda a: (np.zeros(len(a)), np.zeros(a.shape))
    )
    large = EigenAgent(weighted_grid(side=60))
    assert large.modes == 3454
    assert large.storage_bytes() == 49_751_416


def test_weights_that_know_costs_help():
    data = weighted_grid('ushape', side=20, costs='wide', seed=3)
    starts, goals = sample_queries(data, 500)
    gap = {}
    for weights in ('binary', 'inverse'):
        report = evaluate(EigenAgent(data, weights), data, starts, goals)
        assert report.success_rate == 1.0
        gap[weights] = report.gap
    assert 20 < gap['inverse'] < gap['binary'] < 60


def test_few_modes(grid):
    agent = EigenAgent(grid, modes=5)
    assert agent.storage_bytes() == (100 * 5 + 5) * 4
    assert agent.eigenvalues.equal(EigenAgent(grid).eigenvalues[:5])


def test_components():
    """A wall without a gap: two rooms, each solved alone."""
    mask = np.zeros((8, 9), dtype=bool)
    mask[:, 4] = True
    data = weighted_grid(mask, costs='mild')
    agent = EigenAgent(data)
    assert agent.modes == 62
    assert int((agent.eigenvalues < 1e-6).sum()) == 2
    left = data.pos[:, 1] < 4
    phi = agent.potential(torch.arange(72))
    assert not bool(phi[left][:, ~left].any())
    free = (~data.blocked).nonzero().squeeze(1)
    pairs = torch.cartesian_prod(free, free)
    plan = agent(*pairs.T)
    assert plan.success.equal(left[pairs[:, 0]] == left[pairs[:, 1]])


@given(random_graphs())
@settings(max_examples=30, deadline=None)
def test_directed_float_graphs(data):
    data = planning_graph(data)
    adjacency = Adjacency.from_data(data)
    nodes = torch.arange(data.num_nodes)
    starts, goals = torch.cartesian_prod(nodes, nodes).T
    connected = Reachability(adjacency).pairs(starts, goals)
    for weights in ('binary', 'inverse', 'rbf'):  # there are costs of 0
        agent = EigenAgent(data, weights)
        assert bool(agent.eigenvectors.isfinite().all())
        plan = agent(starts, goals)
        check_plan(plan, adjacency, starts, goals)
        assert bool(plan.success[starts == goals].all())
        assert not bool(plan.success[~connected].any())
        assert bool(plan.lower_bound[~connected].isinf().all())
        table = -agent.potential(nodes).numpy()
        for query in range(0, len(plan), 7):
            ends = int(starts[query]), int(goals[query])
            path = slow_walk(adjacency, lambda i, g, t=table: t[g, i], *ends)
            assert plan.success[query] == bool(path)


def test_directed_weights_are_the_mean_of_both_ways():
    data = Data(
        pos=torch.tensor([[0.0], [1.0], [2.0]]),
        edge_index=torch.tensor([[0, 1, 1], [1, 0, 2]]),
        edge_cost=torch.ones(3),
    )
    values = EigenAgent(data, modes=3).eigenvalues.double()
    half = torch.tensor([[1.0, -1.0, 0.0], [-1.0, 1.5, -0.5], [0.0, -0.5, 0.5]])
    expected = torch.linalg.eigvalsh(half.double())
    assert torch.allclose(values, expected, atol=1e-6)


def test_three_axes():
    cells = torch.cartesian_prod(*[torch.arange(4)] * 3).float()
    edge_index = (torch.cdist(cells, cells) == 1).nonzero().T
    cost = torch.ones(edge_index.size(1))
    data = Data(pos=cells, edge_index=edge_index, edge_cost=cost)
    pairs = torch.cartesian_prod(torch.arange(64), torch.arange(64))
    assert bool(EigenAgent(data)(*pairs.T).success.all())


def test_goals_in_chunks(grid, monkeypatch):
    starts, goals = sample_queries(grid, 50)
    # Random costs leave no ties.
    whole = EigenAgent(grid, 'inverse')(starts, goals)
    monkeypatch.setattr('bcm_pyg.baselines.eigen.MAX_BYTES', 4 * 100 * 8)
    parts = EigenAgent(grid, 'inverse')
    assert parts.batch_size == 8
    assert parts(starts, goals).nodes.equal(whole.nodes)


@pytest.mark.parametrize(
    'settings, message',
    [
        ({'weights': 'cubic'}, 'weights must be one of'),
        ({'epsilon': -1e-3}, 'epsilon must be finite'),
        ({'sigma': 0.0}, 'sigma must be finite and positive'),
        ({'modes': 0}, 'modes must be an int of at least 1'),
        ({'modes': 101}, 'modes must be at most 84'),
        ({'weights': 'rbf', 'sigma': 1e-3}, 'all weights vanish'),
    ],
)
def test_bad_settings(grid, settings, message):
    with pytest.raises(BCMError, match=message):
        EigenAgent(grid, **settings)


def test_refuses_what_is_too_large(grid, monkeypatch):
    monkeypatch.setattr('bcm_pyg.baselines.eigen.MAX_DENSE', 83)
    with pytest.raises(BCMError, match='component of 84 nodes is too large'):
        EigenAgent(grid)
    monkeypatch.setattr('bcm_pyg.baselines.eigen.MAX_TABLE_BYTES', 1000)
    with pytest.raises(BCMError, match='needs 3636 bytes'):
        EigenAgent(grid, modes=9)


def test_queries(grid):
    agent = EigenAgent(grid)
    assert len(agent([], [])) == 0
    assert agent(0, [1, 99]).success.tolist() == [True, True]
    with pytest.raises(BCMError, match='is not a node'):
        agent([0], [100])
    with pytest.raises(BCMError, match='integer node ids'):
        agent.potential([0.5])

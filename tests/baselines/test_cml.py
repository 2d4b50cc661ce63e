import numpy as np
import pytest
import torch
from baseline_walks import check_plan
from helpers import random_graph, random_graphs
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import BCMError, evaluate, planning_graph
from bcm_pyg.baselines import CML
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.utils import Adjacency, Reachability

SMALL = {'walks': 60, 'length': 12, 'epochs': 3, 'dim': 24}


def slow_update(Q, V, W, walk):
    """One walk of (o, a, o'), from the formulas, one transition at a time."""
    before_q, before_v = Q.copy(), V.copy()
    for o, a, o_next in walk:
        delta = before_q[o_next] - before_q[o]
        error = delta - before_v[a]
        Q[o_next] = before_q[o_next] - 0.1 * error  # the last write survives
        V[a] = before_v[a] + 0.01 * error
        W[a] += 0.01 * delta  # all of them add up


def slow_walk(cml, start, goal):
    """The planner from its description, for one query, in float64."""
    adjacency = cml.adjacency
    Q, V, W = (m.astype(np.float64) for m in (cml.Q, cml.V, cml.W))
    cost = adjacency.cost.double().numpy()
    least = cost[cost > 0].min() if (cost > 0).any() else 1.0
    used, path = set(), [start]
    for _ in range(adjacency.num_nodes):
        node = path[-1]
        if node == goal:
            break
        delta = Q[goal] - Q[node]
        begin, end = adjacency.rowptr[node : node + 2].tolist()
        outgoing = list(range(begin, end))
        if not outgoing:
            return []
        f = {
            a: 1 / max(cost[a], least) if cml.weighted else 1.0
            for a in outgoing
        }
        u = {a: W[a] @ delta * f[a] for a in outgoing if a not in used}
        if not any(value > 0 for value in u.values()):
            u = {a: V[a] @ delta * f[a] for a in outgoing}
        action = max(u, key=lambda a: u[a])
        used.add(action)
        path.append(int(adjacency.dst[action]))
    return path if path[-1] == goal else []


def test_update_rule(grid):
    cml = CML(grid, epochs=0, dim=8)
    Q, V, W = (m.astype(np.float64) for m in (cml.Q, cml.V, cml.W))
    tail, head = grid.edge_index.numpy()
    # To and fro, so that nodes and actions come several times.
    there = int(np.flatnonzero((tail == 0) & (head == 1))[0])
    back = int(np.flatnonzero((tail == 1) & (head == 0))[0])
    on = int(np.flatnonzero((tail == 1) & (head == 2))[0])
    rng = np.random.default_rng(0)
    walks = [np.array([there, back, there, back, there, on])]
    for _ in range(20):
        node, actions = int(rng.integers(10)), []
        for _ in range(31):
            action = int(rng.choice(np.flatnonzero(tail == node)))
            actions.append(action)
            node = int(head[action])
        walks.append(np.array(actions))
    for actions in walks:
        cml.update(actions)
        slow_update(Q, V, W, [(tail[a], a, head[a]) for a in actions.tolist()])
    for mine, slow in ((cml.Q, Q), (cml.V, V), (cml.W, W)):
        assert mine.dtype == np.float32
        assert np.abs(mine - slow).max() < 1e-4


def test_first_values_of_the_authors(grid):
    """Standard deviations of 1, 0.1 and 0.1."""
    cml = CML(grid, epochs=0)
    assert str(cml) == (
        'CML(walks=5000, length=32, epochs=0, dim=1000, weighted=False)'
    )
    for table, deviation in ((cml.Q, 1.0), (cml.V, 0.1), (cml.W, 0.1)):
        assert abs(table.mean()) < 0.01 * deviation
        assert table.std() == pytest.approx(deviation, rel=0.01)


def test_every_walk_is_learned_from_ten_times_in_random_order(
    grid, monkeypatch
):
    learned = []
    monkeypatch.setattr(
        CML, 'update', lambda cml, walk: learned.append(tuple(walk.tolist()))
    )
    CML(grid, walks=40, dim=1)
    assert len(learned) == 400
    assert {len(walk) for walk in learned} == {31}
    epochs = [learned[i : i + 40] for i in range(0, 400, 40)]
    assert len(set(epochs[0])) == 40
    for epoch in epochs[1:]:
        assert sorted(epoch) == sorted(epochs[0])
    assert len(set(map(tuple, epochs))) == 10


def test_update_by_hand():
    """Node 0 -> 1 -> 0 -> 1 in one dimension."""
    data = Data(
        pos=torch.tensor([[0.0], [1.0]]),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_cost=torch.ones(2),
    )
    cml = CML(data, epochs=0, dim=1)
    cml.Q[:], cml.V[:], cml.W[:] = [[0.0], [1.0]], [[0.5], [0.0]], 0.0
    cml.update(np.array([0, 1, 0]))
    # delta 1, -1, 1; error 0.5, -1, 0.5.
    assert cml.Q.flatten().tolist() == pytest.approx([0.1, 0.95])
    assert cml.V.flatten().tolist() == pytest.approx([0.505, -0.01])
    assert cml.W.flatten().tolist() == pytest.approx([0.02, -0.01])


@pytest.mark.parametrize('weighted', [False, True])
def test_agrees_with_one_query_at_a_time(grid, weighted):
    cml = CML(grid, seed=3, weighted=weighted, **SMALL)
    free = (~grid.blocked).nonzero().squeeze(1)
    starts, goals = torch.cartesian_prod(free[::6], free[1::6]).T
    plan = cml(starts, goals)
    check_plan(plan, cml.adjacency, starts, goals)
    for query in range(len(plan)):
        path = slow_walk(cml, int(starts[query]), int(goals[query]))
        assert plan.path(query) == path
    rate = float(plan.success.double().mean())
    assert 0.1 < rate < 1.0  # both kinds of answers were compared
    longer = plan.hops > plan.expansions
    assert bool(longer[plan.success].any())  # routes may cross themselves


def test_reaches_every_goal_of_an_easy_graph():
    """On a ring with enough walks, the map knows where to go."""
    node = torch.arange(8)
    edge_index = torch.cat(
        [
            torch.stack([node, (node + 1) % 8]),
            torch.stack([(node + 1) % 8, node]),
        ],
        dim=1,
    )
    angle = node * torch.pi / 4
    data = Data(
        pos=torch.stack([angle.cos(), angle.sin()], dim=1),
        edge_index=edge_index,
        edge_cost=torch.ones(16),
    )
    cml = CML(data, walks=200, length=16, dim=200)
    starts, goals = sample_queries(data, 56)
    report = evaluate(cml, data, starts, goals)
    assert report.success_rate == 1.0
    assert report.gap < 10


@given(random_graphs())
@settings(max_examples=25, deadline=None)
def test_directed_float_graphs(data):
    data = planning_graph(data)
    adjacency = Adjacency.from_data(data)
    nodes = torch.arange(data.num_nodes)
    starts, goals = torch.cartesian_prod(nodes, nodes).T
    connected = Reachability(adjacency).pairs(starts, goals)
    for weighted in (False, True):  # there are costs of 0
        cml = CML(data, walks=5, length=6, epochs=2, dim=8, weighted=weighted)
        assert all(np.isfinite(m).all() for m in (cml.Q, cml.V, cml.W))
        plan = cml(starts, goals)
        check_plan(plan, adjacency, starts, goals)
        assert bool(plan.success[starts == goals].all())
        assert not bool(plan.success[~connected].any())
        assert bool(plan.lower_bound[~connected].isinf().all())
        for query in range(0, len(plan), 5):
            if connected[query]:
                ends = int(starts[query]), int(goals[query])
                assert plan.path(query) == slow_walk(cml, *ends)


def test_small_facts(diamond):
    cml = CML(diamond, walks=4, length=5, epochs=1, dim=3)
    assert str(cml) == (
        'CML(walks=4, length=5, epochs=1, dim=3, weighted=False)'
    )
    assert cml.num_parameters() == 3 * (5 + 2 * 5)
    assert cml.storage_bytes() == 4 * 45
    plan = cml([0, 4, 0, 1], [4, 4, 0, 3])
    assert plan.success.tolist() == [False, True, True, True]
    assert plan.cost.tolist() == [float('inf'), 0.0, 0.0, 1.0]
    assert [plan.path(q) for q in range(4)] == [[], [4], [0], [1, 3]]
    assert len(cml([], [])) == 0
    with pytest.raises(BCMError, match='is not a node'):
        cml(0, 5)


def test_seed_decides(grid):
    one, same = CML(grid, seed=1, **SMALL), CML(grid, seed=1, **SMALL)
    other = CML(grid, seed=2, **SMALL)
    for name in ('Q', 'V', 'W'):
        assert np.array_equal(getattr(one, name), getattr(same, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_costs_play_no_part_in_learning():
    kinds = [
        CML(weighted_grid('open', side=6, costs=costs), **SMALL)
        for costs in ('uniform', 'wide')
    ]
    assert np.array_equal(kinds[0].Q, kinds[1].Q)
    assert np.array_equal(kinds[0].W, kinds[1].W)


def test_without_positive_costs(diamond):
    diamond.edge_cost = torch.zeros(5)
    plain = CML(diamond, **SMALL)
    weighted = CML(diamond, weighted=True, **SMALL)
    starts, goals = [0, 1, 2, 3], [3, 2, 1, 1]
    assert plain(starts, goals).nodes.equal(weighted(starts, goals).nodes)


def test_too_large_a_map_is_refused_before_it_is_made(grid, monkeypatch):
    monkeypatch.setattr('bcm_pyg.baselines.cml.MAX_TABLE_BYTES', 10_000)
    with pytest.raises(BCMError, match='bytes, more than 10000: pass a sm'):
        CML(grid, dim=100)


def test_queries_in_chunks(grid, monkeypatch):
    cml = CML(grid, **SMALL)
    starts, goals = sample_queries(grid, 40)
    whole = cml(starts, goals)
    room = 5 * (17 * 262 + 100)
    monkeypatch.setattr('bcm_pyg.baselines.cml.MAX_BYTES', room)
    parts = cml(starts, goals)
    assert parts.nodes.equal(whole.nodes)
    assert parts.expansions.equal(whole.expansions)


def test_three_axes_and_dead_ends():
    data = random_graph(30, 45, seed=5, axes=3)
    cml = CML(data, **SMALL)  # walks end where no edge leads on
    assert bool((cml.adjacency.degree() == 0).any())
    starts = torch.arange(30)
    plan = cml(starts, starts.flip(0))
    check_plan(plan, cml.adjacency, starts, starts.flip(0))


def test_progress_bar(diamond, capsys):
    CML(diamond, walks=4, length=5, epochs=2, dim=3)
    assert capsys.readouterr().err == ''
    CML(diamond, walks=4, length=5, epochs=2, dim=3, progress=True)
    assert '8/8' in capsys.readouterr().err


def test_numbers_of_the_paper():
    """The count is exact; of the rest only the order is known."""
    data = weighted_grid('ushape', side=40, costs='uniform')
    cml = CML(data)
    assert cml.num_parameters() == 13_432_000
    assert cml.storage_bytes() == 4 * 13_432_000
    starts, goals = sample_queries(data, 100)
    report = evaluate(cml, data, starts, goals)
    assert 0.05 < report.success_rate < 0.4
    assert report.gap > 100


@pytest.mark.parametrize(
    'name, value',
    [
        ('seed', -1),
        ('seed', 1.0),
        ('walks', -1),
        ('length', 1),
        ('epochs', True),
        ('dim', 0),
    ],
)
def test_bad_settings(grid, name, value):
    with pytest.raises(BCMError, match=f'{name} must be an int'):
        CML(grid, **{name: value})

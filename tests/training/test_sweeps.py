from __future__ import annotations

import networkx as nx
import pytest
import torch
from helpers import out_edges, random_graphs, to_nx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training import sweeps
from bcm_pyg.training.sweeps import Sweeper, hop_diameter
from bcm_pyg.utils import Adjacency

INFINITE = float('inf')
TERMINALS = ['calibrated', 'paper']
WAYS = ['plain', 'all', 'changes']


def make_sweeper(data: Data, terminal: str, way: str | None = None) -> Sweeper:
    out = Sweeper(Adjacency.from_data(data), data.edge_cost, terminal)
    assert out.kernels is not None
    if way == 'plain':  # as on a GPU
        out.kernels = None
    elif way is not None:
        out._by_changes = lambda times: way == 'changes'  # type: ignore
    return out


def slow_sweep(
    data: Data,
    value: list[list[float]],
    goals: list[int],
    terminal: str,
    times: int,
) -> list[list[float]]:
    """The backup, node by node."""
    ways, cost = out_edges(data), data.edge_cost.tolist()

    def pin(node: int, goal: int, number: float) -> float:
        before = any(head == goal for _, head in ways[node])
        last = terminal == 'paper' and before
        return 0.0 if node == goal or last else number

    nodes = range(data.num_nodes)
    value = [
        [pin(node, goal, value[node][k]) for k, goal in enumerate(goals)]
        for node in nodes
    ]
    for _ in range(times):
        swept = []
        for node in nodes:
            line = []
            for k, goal in enumerate(goals):
                backup = [
                    cost[edge] + value[head][k] for edge, head in ways[node]
                ]
                line.append(pin(node, goal, min([value[node][k], *backup])))
            swept.append(line)
        value = swept
    return value


def exact(data: Data, goals: list[int], terminal: str) -> list[list[float]]:
    """The fixed point by networkx."""
    columns = []
    for goal in goals:
        graph = to_nx(data).reverse()
        sources = {goal}
        if terminal == 'paper':  # the last edge is free
            sources = set(graph.successors(goal))
            graph.remove_node(goal)
        found = {goal: 0.0}
        if sources:
            found |= nx.multi_source_dijkstra_path_length(
                graph, sources, weight='cost'
            )
        columns.append([found.get(n, INFINITE) for n in range(data.num_nodes)])
    return [list(line) for line in zip(*columns, strict=True)]


@pytest.mark.parametrize('terminal', TERMINALS)
@settings(deadline=None, max_examples=25)
@given(
    graph=random_graphs(),
    seed=st.integers(0, 99),
    times=st.integers(0, 4),
)
def test_as_the_definition(
    terminal: str, graph: Data, seed: int, times: int
) -> None:
    data = planning_graph(graph)  # costs are halves, so all sums are exact
    generator = torch.Generator().manual_seed(seed)
    goals = torch.randint(data.num_nodes, (3,), generator=generator)
    value = torch.randint(20, (data.num_nodes, 3), generator=generator).float()
    value[torch.rand(value.shape, generator=generator) < 0.3] = INFINITE
    before = value.clone()
    expected = slow_sweep(
        data, before.tolist(), goals.tolist(), terminal, times
    )
    for way in WAYS:
        swept = make_sweeper(data, terminal, way)(value, goals, times)
        assert swept.tolist() == expected
        assert torch.equal(value, before)


@pytest.mark.parametrize('terminal', TERMINALS)
@settings(deadline=None, max_examples=25)
@given(graph=random_graphs())
def test_converges_to_shortest_paths(terminal: str, graph: Data) -> None:
    data = planning_graph(graph)
    goals = torch.arange(data.num_nodes)
    value = torch.full((data.num_nodes, data.num_nodes), INFINITE)
    for way in WAYS:
        swept = make_sweeper(data, terminal, way)(value, goals, None)
        assert swept.tolist() == exact(data, goals.tolist(), terminal)


def test_by_hand(diamond: Data) -> None:
    unknown = torch.full((5, 1), INFINITE)
    goal = torch.tensor([3])

    def run(terminal: str, times: int | None) -> list[float]:
        sweeper = make_sweeper(diamond, terminal)
        return sweeper(unknown, goal, times).squeeze(1).tolist()

    assert run('calibrated', 0) == [INFINITE, INFINITE, INFINITE, 0, INFINITE]
    assert run('calibrated', 1) == [INFINITE, 1, 0, 0, INFINITE]
    assert run('calibrated', 2) == [2, 1, 0, 0, INFINITE]
    assert run('calibrated', None) == [2, 1, 0, 0, INFINITE]
    assert run('paper', 1) == [1, 0, 0, 0, INFINITE]
    assert run('paper', None) == [1, 0, 0, 0, INFINITE]


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('threads', [1, 3])
def test_compiled_is_plain_to_the_bit(
    terminal: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, 'COLUMNS', 4)
    monkeypatch.setattr(torch, 'get_num_threads', lambda: threads)
    data = weighted_grid('ushape', side=10, costs='wide', seed=1)
    goals = data.edge_index[0].unique()[:11]
    value = torch.rand(100, 11) * 50
    value[torch.rand(100) < 0.8] = INFINITE
    for times in (0, 1, 6, None):
        out = [
            make_sweeper(data, terminal, way)(value, goals, times)
            for way in WAYS
        ]
        for other in out[1:]:
            assert torch.equal(other, out[0])
            assert other.is_contiguous()


def test_long_backups_look_at_changes() -> None:
    data = weighted_grid('ushape', side=10, costs='wide', seed=1)
    edges, most = data.num_edges, sweeps.CHANGED * 100
    adjacency = Adjacency.from_data(data)
    few = most // edges
    assert sweeps.backup_work(adjacency, few) == few * edges
    assert sweeps.backup_work(adjacency, few + 1) == most
    sweeper = make_sweeper(data, 'calibrated')
    assert not sweeper._by_changes(few)
    assert sweeper._by_changes(few + 1)
    assert sweeper._by_changes(-1)


def test_a_goal_may_come_twice(diamond: Data) -> None:
    goals = torch.tensor([3, 0, 3])
    value = torch.rand(5, 3)
    value[:, 2] = value[:, 0]
    swept: Tensor = make_sweeper(diamond, 'paper')(value, goals, 2)
    assert swept[:, 0].tolist() == swept[:, 2].tolist()


@pytest.mark.parametrize('cost', [0.0, 2.0])
def test_hop_diameter(cost: float) -> None:
    node = torch.arange(5)
    chain = torch.stack([node, node + 1])
    data = planning_graph(
        Data(
            pos=torch.randn(8, 2),  # 0 to 5 in a row, 6 and 7 alone
            edge_index=torch.cat([chain, chain.flip(0)], dim=1),
            edge_cost=torch.full((10,), cost),
        )
    )
    assert hop_diameter(Adjacency.from_data(data)) == 5
    grid = weighted_grid('open', side=4)
    assert hop_diameter(Adjacency.from_data(grid)) == 6


@settings(deadline=None, max_examples=20)
@given(graph=random_graphs())
def test_hop_diameter_is_a_lower_bound(graph: Data) -> None:
    data = planning_graph(graph)
    hops = dict(nx.all_pairs_shortest_path_length(to_nx(data)))
    most = max(max(line.values()) for line in hops.values())
    assert 0 <= hop_diameter(Adjacency.from_data(data)) <= most

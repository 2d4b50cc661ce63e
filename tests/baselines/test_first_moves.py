from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from helpers import out_edges, random_graphs, to_nx
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.baselines import CPD, _first_moves
from bcm_pyg.baselines._first_moves import first_move_runs, goal_order
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.utils import Adjacency


def slow_runs(data: Data, goals: list[int]) -> list[tuple[int, int]]:
    """Node and first column of each run, where all costs are positive."""
    lengths = dict(
        nx.all_pairs_dijkstra_path_length(to_nx(data), weight='cost')
    )
    cost, runs = data.edge_cost.tolist(), []
    for node, ways in enumerate(out_edges(data)):
        right: set[int] = set()
        for column, goal in enumerate(goals):
            if goal == node:
                continue
            if goal not in lengths[node]:
                fits = {-1}
            else:
                fits = {
                    edge
                    for edge, head in ways
                    if cost[edge] + lengths[head].get(goal, float('inf'))
                    == lengths[node][goal]
                }
            if ways and not right & fits:
                # A run begins where the last ended, be it at the node itself.
                runs.append((node, column if right else 0))
                right = fits
            right &= fits
    return runs


@given(random_graphs())
@settings(max_examples=60, deadline=None)
def test_runs_are_as_few_as_can_be(data: Data) -> None:
    data.edge_attr = data.edge_attr + 0.5
    data = planning_graph(data)
    adjacency = Adjacency.from_data(data)
    goals = goal_order(adjacency)
    node, column, move = first_move_runs(adjacency, goals)
    found = list(zip(node.tolist(), column.tolist(), strict=True))
    expected = slow_runs(data, goals.tolist())
    # A node whose only goal is itself keeps one run that is never asked.
    idle = set(node.tolist()) - {node for node, _ in expected}
    assert found == sorted(expected + [(node, 0) for node in idle])
    assert (move >= 0).all()
    assert (move <= adjacency.degree().numpy()[node]).all()


@given(random_graphs(max_nodes=20))
@settings(max_examples=40, deadline=None)
def test_goals_are_the_nodes_with_a_way_in(data: Data) -> None:
    adjacency = Adjacency.from_data(planning_graph(data))
    goals = goal_order(adjacency).tolist()
    assert sorted(goals) == sorted(set(adjacency.dst.tolist()))


def test_order_leaves_no_stragglers() -> None:
    # A comb: the teeth 4 and 5 come before the way on along the back.
    edges = torch.tensor([[0, 1, 1, 2, 2], [1, 4, 2, 5, 3]])
    data = Data(
        pos=torch.zeros(6, 2),
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_cost=torch.ones(10),
    )
    adjacency = Adjacency.from_data(planning_graph(data))
    assert goal_order(adjacency).tolist() == [0, 1, 4, 2, 3, 5]
    # On a grid, each goal but few is next to the one before.
    grid = weighted_grid('ushape', side=20, costs='wide')
    pos = grid.pos.numpy()[goal_order(Adjacency.from_data(grid))]
    jumps = np.abs(np.diff(pos, axis=0)).sum(axis=1) > 1
    assert jumps.mean() < 0.05


def test_chunks(grid: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CPD(grid)
    for chunk_bytes in (1, 7 * 12 * 100):  # one goal and seven at a time
        monkeypatch.setattr(_first_moves, 'CHUNK_BYTES', chunk_bytes)
        parts = CPD(grid)
        assert parts.runs.tolist() == whole.runs.tolist()
        assert parts.rowptr.tolist() == whole.rowptr.tolist()


def test_progress(grid: Data, capsys: pytest.CaptureFixture[str]) -> None:
    CPD(grid)
    assert capsys.readouterr().err == ''
    CPD(grid, progress=True)
    num_goals = int(grid.edge_index.unique().numel())
    assert f'{num_goals}/{num_goals}' in capsys.readouterr().err

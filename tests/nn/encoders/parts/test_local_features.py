from __future__ import annotations

import math

import pytest
import torch
from helpers import random_graphs
from hypothesis import given, settings
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.nn.encoders.parts.local_features import (
    edge_features,
    local_features,
    num_edge_features,
    num_local_features,
)


def log_cost(cost: float) -> float:
    return math.log(cost + 1e-3) / 7


def slow_bearing(data: Data, edge: int) -> list[float]:
    tail, head = data.edge_index[:, edge].tolist()
    step = (data.pos[head].double() - data.pos[tail].double()).tolist()
    length = math.hypot(*step)
    return [part / length for part in step] if length > 0 else step


def slow_features(data: Data, mean_cost: float, node: int) -> list[float]:
    out: list[float] = []
    num_axes = data.pos.size(1)
    for ends in data.edge_index.tolist():
        edges = [edge for edge, end in enumerate(ends) if end == node]
        out.append(math.log(1 + len(edges)))
        if not edges:
            out += [0.0] * (3 + num_axes + num_axes * (num_axes + 1) // 2)
            continue
        costs = [float(data.edge_cost[edge]) / mean_cost for edge in edges]
        mean = sum(costs) / len(costs)
        out += [log_cost(min(costs)), log_cost(mean), log_cost(max(costs))]
        units = [slow_bearing(data, edge) for edge in edges]
        for axis in range(num_axes):
            out.append(sum(unit[axis] for unit in units) / len(units))
        for a in range(num_axes):
            for b in range(a, num_axes):
                out.append(sum(u[a] * u[b] for u in units) / len(units))
    return out


@settings(deadline=None, max_examples=30)
@given(random_graphs())
def test_features_against_a_loop(data: Data) -> None:
    data = planning_graph(data)
    out = local_features(data, mean_cost=2.5)
    assert out.shape == (data.num_nodes, num_local_features(2))
    for node in range(data.num_nodes):
        expected = slow_features(data, 2.5, node)
        assert out[node].tolist() == pytest.approx(expected, abs=1e-4)
    edges = edge_features(data, mean_cost=2.5)
    assert edges.shape == (data.num_edges, num_edge_features(2))
    for edge, cost in enumerate((data.edge_cost / 2.5).tolist()):
        expected = [log_cost(cost), 1 / (1 + cost), *slow_bearing(data, edge)]
        assert edges[edge].tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize('num_axes', [1, 3, 5])
def test_any_number_of_axes(num_axes: int) -> None:
    data = planning_graph(
        Data(
            pos=torch.rand(4, num_axes),
            edge_index=torch.tensor([[0, 1, 0], [1, 0, 2]]),
            edge_cost=torch.tensor([1.0, 2.0, 3.0]),
        )
    )
    out = local_features(data, 1.0)
    assert out.shape == (4, num_local_features(num_axes))
    assert out[0].tolist() == pytest.approx(
        slow_features(data, 1.0, 0), abs=1e-4
    )
    assert out[3].tolist() == [0.0] * out.size(1)


def test_tiny_steps_and_nodes_at_one_place() -> None:
    data = Data(
        pos=torch.tensor([[0.0, 0.0], [3e-30, -4e-30], [3e-30, -4e-30]]),
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        edge_cost=torch.tensor([1.0, 0.0]),
    )
    out = edge_features(data, 1.0)
    assert out[0, 2:].tolist() == pytest.approx([0.6, -0.8])
    assert out[1, 2:].tolist() == [0.0, 0.0]
    assert torch.isfinite(local_features(data, 1.0)).all()

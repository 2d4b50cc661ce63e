"""Graphs as a map reads them: raw, canonical, changed since."""

from __future__ import annotations

import sys

import pytest
import torch
from helpers import random_graph, tiny_map
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, planning_graph
from bcm_pyg.graph import fingerprint
from bcm_pyg.nn import OneHotEncoder


def test_from_raw_data() -> None:
    raw = random_graph(12, 30, seed=5, axes=3)
    model = BCM.from_data(raw)
    assert model.info.fingerprint == fingerprint(planning_graph(raw))
    assert Planner(model, raw).distance(0, [1, 2]).shape == (2,)


def test_raw_data_everywhere() -> None:
    """Unsorted edges, loops, parallel edges, float64: alike in all methods."""
    raw = random_graph(12, 30, seed=5)
    data = planning_graph(raw)
    model = tiny_map(raw, 'gnn')
    block = *torch.randint(12, (3, 4)), torch.arange(4)
    with torch.no_grad():
        assert torch.equal(model.encode(raw), model.encode(data))
        assert torch.equal(model.project_nodes(raw), model.project_nodes(data))
        assert torch.equal(model(raw, *block), model(data, *block))
    for bad in (Data(pos=raw.pos), 'graph'):
        for call in (model.encode, model.project_nodes):
            with pytest.raises(BCMError):
                call(bad)  # type: ignore[arg-type]
        with pytest.raises(BCMError):
            model(bad, *block)


def test_a_graph_that_changed_is_looked_at_again(grid: Data) -> None:
    model = tiny_map(grid, 'gnn')
    model.encode(grid)
    before = grid.edge_cost.clone()
    grid.edge_cost[0] = -1.0
    with pytest.raises(BCMError, match='edge_cost'):
        model.encode(grid)
    grid.edge_cost = before
    model.encode(grid)
    grid.edge_cost = -before
    with pytest.raises(BCMError, match='edge_cost'):
        model.project_nodes(grid)


@pytest.mark.parametrize('attributes', [False, True])
def test_a_canonical_graph_is_checked_once(
    grid: Data, monkeypatch: pytest.MonkeyPatch, attributes: bool
) -> None:
    if attributes:
        grid.node_height = torch.rand(grid.num_nodes)
        grid.edge_lanes = torch.rand(grid.num_edges)
        grid.edge_name = [*map(str, range(grid.num_edges))]
    model, data = tiny_map(grid), planning_graph(grid)
    calls = []

    def counted(graph: Data) -> Data:
        calls.append(graph)
        return planning_graph(graph)

    module = sys.modules[planning_graph.__module__]
    monkeypatch.setattr(module, 'planning_graph', counted)
    for _ in range(3):
        model.encode(data)
        model.project_nodes(data)
    assert len(calls) == 1


def test_zero_costs(diamond: Data) -> None:
    diamond.edge_cost = torch.zeros(5)
    model = BCM.from_data(diamond)
    assert float(model.cost_scale) == 1
    assert Planner(model, diamond).distance(1, 3).item() == 0


def test_costs_next_to_zero(diamond: Data) -> None:
    """Their mean is 0 in float32, though not in float64."""
    diamond.edge_cost = torch.tensor([1e-45, 0.0, 0.0, 0.0, 0.0])
    assert diamond.edge_cost.double().mean() > 0
    model = BCM.from_data(diamond)
    assert float(model.cost_scale) == 1
    assert torch.isfinite(Planner(model, diamond).distance(0, 3)).all()
    diamond.edge_cost = torch.full([5], 1e-42)  # 1 / mean is infinite
    model = BCM.from_data(diamond)
    assert float(model.cost_scale) == 1
    assert bool(Planner(model, diamond)(0, 3).success)
    with pytest.raises(BCMError, match='cost_scale must be positive'):
        BCM(OneHotEncoder(5), cost_scale=1e-42)


@pytest.mark.parametrize(
    ('name', 'value'),
    [('transition', 256), ('cost_scale', ''), ('cost_scale', [1])],
)
def test_parts_of_other_types(name: str, value: object) -> None:
    with pytest.raises(BCMError, match=rf'(?s){name} must be .*got'):
        BCM(OneHotEncoder(5), **{name: value})

"""A map belongs to a graph, whatever the order of its edges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers import tiny_map
from map_folders import assert_same
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError
from bcm_pyg.graph import fingerprint


def cost_changed(data: Data) -> None:
    data.edge_cost = data.edge_cost + torch.tensor([0, 0, 0, 1e-6, 0])


def edge_removed(data: Data) -> None:
    data.edge_index = data.edge_index[:, 1:]
    data.edge_cost = data.edge_cost[1:]


def edge_turned(data: Data) -> None:
    data.edge_index = data.edge_index.flip(0)


def node_moved(data: Data) -> None:
    data.pos = data.pos + 0.5 * torch.eye(5, 2)


def node_added(data: Data) -> None:
    data.pos = torch.cat([data.pos, torch.ones(1, 2)])
    data.num_nodes = 6


@pytest.mark.parametrize(
    'change',
    [cost_changed, edge_removed, edge_turned, node_moved, node_added],
)
def test_another_graph_is_refused(
    diamond: Data, saved: Path, change: Callable[[Data], None]
) -> None:
    model = BCM.load(saved, diamond)
    other = diamond.clone()
    change(other)
    with pytest.raises(BCMError, match='belongs to another graph.*force=True'):
        BCM.load(saved, other)
    forced = BCM.load(saved, other, force=True)
    assert_same(model, forced, diamond)
    # Still the one it was made for:
    assert forced.info.fingerprint == fingerprint(diamond)


def test_order_of_edges_does_not_matter(diamond: Data, saved: Path) -> None:
    order = torch.tensor([3, 0, 4, 2, 1])
    other = Data(
        pos=diamond.pos,
        edge_index=diamond.edge_index[:, order],
        edge_attr=diamond.edge_cost[order],
    )
    assert_same(BCM.load(saved, diamond), BCM.load(saved, other), diamond)


def test_a_map_without_a_graph_loads_for_any(
    diamond: Data, tmp_path: Path
) -> None:
    model = tiny_map(diamond)
    assert model.info.fingerprint is None
    model.save(tmp_path)
    node_moved(diamond)
    assert_same(model, BCM.load(tmp_path, diamond), diamond)


def test_a_forced_map_that_does_not_fit_says_so(
    diamond: Data, grid: Data, tmp_path: Path
) -> None:
    BCM.from_data(diamond, 'one_hot').save(tmp_path)
    with pytest.raises(BCMError, match='for 5 nodes .got a graph of 100'):
        BCM.load(tmp_path, grid, force=True)

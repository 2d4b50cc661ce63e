"""Maps that readouts are timed with, in ``maps/``, and one made by hand."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import SimplifiedGraph, largest_component, simplify_graph
from bcm_pyg.nn import NodeEncoder, Transition
from benchmarks.lib.graphs import load
from benchmarks.lib.trained_maps import MAPS

#: Side of a U and width of its map; name of a road network and width of its.
TIMED_GRIDS = ((40, 128), (40, 256), (60, 128), (60, 256))
TIMED_ROADS = (
    ('sydney', 128),
    ('malta_full', 128),
    ('rome_length', 128),
    ('seattle_length', 128),
)


def timed_grid(side: int) -> Data:
    """The U with wide costs whose maps readouts are timed with."""
    return planning_graph(weighted_grid('ushape', side, 'wide', 7))


def timed_road(name: str) -> SimplifiedGraph:
    """The largest strong component of a road network, simplified."""
    return simplify_graph(largest_component(load(name, 1)[0]))


def timed_map_folder(name: str, width: int) -> Path:
    """Where a map is kept that readouts are timed with."""
    return MAPS / f'{name}-{width}'


def timed_map(name: str, width: int, data: Data) -> BCM | None:
    """Such a map, if there is one."""
    folder = timed_map_folder(name, width)
    return BCM.load(folder, data) if folder.exists() else None


class Coordinates(NodeEncoder):
    """Embeds a node by its coordinates in the plane."""

    out_channels = 2
    per_node = True

    def forward(self, data: Data) -> Tensor:
        """The coordinates."""
        return data.pos


@torch.no_grad()
def straight_map(width: int) -> BCM:
    r"""A map with :math:`D_i(j; g) = \lVert x_j - x_g \rVert^2`, by hand.

    Its walks go straight to their goals on grids without walls. How long a
    walk takes depends on its hops and the size of the layers, not on the
    weights, so that large graphs can be timed without training a map of them.

    As :math:`x = \sigma(x) - \sigma(-x)`, four hidden values carry both
    coordinates through a layer. The others are drawn and do not count.
    """
    seed_everything(0)
    phi = Transition(2, width, width)
    signs = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    phi.lin1.weight[:4] = signs
    phi.lin2.weight[:4] = 0.0
    phi.lin2.weight[:4, :4] = signs @ signs.T
    phi.lin3.weight.zero_()
    phi.lin3.weight[:2, :4] = signs.T
    return BCM(Coordinates(), phi, terminal='paper')

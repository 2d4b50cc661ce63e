"""Tiny graphs and the place of third-party data, shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.datasets import weighted_grid


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def grid() -> Data:
    """A wide-cost U-shape of side 10."""
    return weighted_grid('ushape', side=10, costs='wide', seed=1)


@pytest.fixture
def diamond() -> Data:
    r"""Five nodes, hand-written; node 4 is isolated.

    ::

        0 -1-> 1 -1-> 3      3 -10-> 0
        0 -5-> 2 -0-> 3
    """
    return planning_graph(
        Data(
            pos=torch.tensor(
                [[0.0, 0.0], [1.0, 1.5], [1.0, -1.5], [2.0, 0.0], [9.0, 9.0]]
            ),
            edge_index=torch.tensor([[0, 0, 1, 2, 3], [1, 2, 3, 3, 0]]),
            edge_cost=torch.tensor([1.0, 5.0, 1.0, 0.0, 10.0]),
        )
    )


@pytest.fixture(scope='session')
def data_dir() -> Path:
    """The folder with real graphs, beside the checkout or in $BCM_PYG_DATA."""
    default = Path(__file__).parents[2] / 'shared' / 'data'
    folder = Path(os.environ.get('BCM_PYG_DATA', default))
    if not folder.is_dir():
        pytest.skip(f'no real graphs in {folder}: set BCM_PYG_DATA')
    return folder


@pytest.fixture(scope='session')
def andorra(data_dir: Path) -> Data:
    """A directed road network of 1,697 nodes with float64 positions."""
    file = np.load(data_dir / 'road' / 'andorra.npz')
    return Data(
        pos=torch.from_numpy(file['pos']),
        edge_index=torch.from_numpy(file['edge_index']),
        edge_attr=torch.from_numpy(file['edge_cost']),
    )

"""A map lives on one device, and scores there."""

from __future__ import annotations

import pytest
import torch
from helpers import ALL_ENCODERS
from torch_geometric.data import Data

from bcm_pyg import BCM
from bcm_pyg.nn import InteractionEncoder


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_everything_moves_to_another_device(grid: Data, encoder: str) -> None:
    model = BCM.from_data(grid, encoder)
    assert model.device == torch.device('cpu')
    model = model.to('meta')
    assert model.device == torch.device('meta')
    tensors = model.state_dict()
    assert 'cost_scale' in tensors
    assert {value.device.type for value in tensors.values()} == {'meta'}


@pytest.mark.parametrize('encoder', ['interaction', 'one_hot', 'k_hot'])
def test_scores_come_from_the_device_of_the_map(
    diamond: Data, encoder: str
) -> None:
    """A tensor made elsewhere on the way would be an error."""
    model = BCM.from_data(diamond, encoder).to('meta')
    data = diamond.clone().to('meta')
    ids = torch.empty(7, dtype=torch.long, device='meta')
    out = model(data, ids, ids, ids, ids)
    assert (out.device.type, out.shape) == ('meta', (7, 7))
    assert model.project_nodes(data, ids).shape == (7, 128)


def test_built_on_another_device() -> None:
    with torch.device('meta'):
        model = BCM(InteractionEncoder([4, 4]))
    assert {p.device.type for p in model.parameters()} == {'meta'}
    assert model.cost_scale.device.type == 'meta'

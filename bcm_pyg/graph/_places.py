"""Where nodes are, in the terms of a graph's source."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError


def known_lonlat(data: Data) -> np.ndarray | None:
    """Longitudes and latitudes, float64 [N, 2], if the graph has them."""
    lonlat = data.get('lonlat')
    if lonlat is None:
        return None
    lonlat = torch.as_tensor(lonlat).detach().cpu().double()
    if lonlat.shape != (data.num_nodes, 2):
        raise BCMError(
            f'data.lonlat must have shape [{data.num_nodes}, 2] (got '
            f'{tuple(lonlat.shape)})'
        )
    return lonlat.numpy()


def source_positions(data: Data) -> np.ndarray:
    """Coordinates as they were before they were centred, float64 [N, A]."""
    pos = data.pos.detach().cpu().double()
    if data.get('pos_origin') is not None:
        pos = pos + data.pos_origin.cpu()
    return pos.numpy()

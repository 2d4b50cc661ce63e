from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from . import _validate as check
from ._places import known_lonlat, source_positions


def nearest_nodes(data: Data, points: Any) -> Tensor:
    """The nodes that are nearest to given places, :obj:`[B]`.

    Args:
        data (torch_geometric.data.Data): The graph. Of a network with streets
            that lead nowhere take the
            :func:`~bcm_pyg.graph.largest_component` first.
        points (array): The places, :obj:`[B, A]`, or one of them,
            :obj:`[A]`: longitudes and latitudes, in this order, if the graph
            has :obj:`lonlat`, otherwise in the coordinates of its source,
            which are :obj:`pos` (plus :obj:`pos_origin` if it has one).
    """
    check.is_homogeneous(data)
    nodes = lonlat = known_lonlat(data)
    if nodes is None:
        check.position('data.pos', data.get('pos'))
        nodes = source_positions(data)
    try:
        wanted = np.atleast_2d(np.asarray(points, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise BCMError(f'points must hold numbers: {error}') from None
    if wanted.ndim != 2 or wanted.shape[1] != nodes.shape[1]:
        raise BCMError(
            f'points must have shape [num_points, {nodes.shape[1]}] (got '
            f'{np.shape(points)})'
        )
    if lonlat is not None:
        nodes = _on_sphere('data.lonlat', nodes)
        wanted = _on_sphere('points', wanted)
    elif not np.isfinite(wanted).all():
        raise BCMError('points must be finite')
    _, nearest = cKDTree(nodes).query(wanted)
    return torch.from_numpy(nearest).long().to(data.edge_index.device)


def _on_sphere(name: str, lonlat: np.ndarray) -> np.ndarray:
    """Places in space: straight lines there are as short as great circles."""
    bad = ~(np.abs(lonlat) <= (360, 90)).all(axis=1)
    if bad.any():
        place = int(bad.argmax())
        raise BCMError(
            f'{name} must be longitudes and latitudes, in this order (entry '
            f'{place} is {lonlat[place].tolist()})'
        )
    lon, lat = np.radians(lonlat).T
    ring = np.cos(lat)
    return np.stack([ring * np.cos(lon), ring * np.sin(lon), np.sin(lat)], 1)

"""Longitudes and latitudes: projection to metres, and nearest nodes."""

import re
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import first_true

__all__ = ['local_metres', 'nearest_nodes']

#: Mean radius of the Earth in metres.
EARTH_RADIUS = 6_371_008.8


def local_metres(lonlat: np.ndarray) -> np.ndarray:
    r"""Metres east and north of the middle of a region, from degrees.

    The equirectangular projection, accurate to a fraction of a percent over a
    city. Project a country far from the equator with a projection made for it.
    The region may cross the 180th meridian.

    Args:
        lonlat (numpy.ndarray): Longitudes and latitudes, :obj:`[N, 2]`.

    Returns:
        Metres, float64 :obj:`[N, 2]`.
    """
    degrees = np.asarray(lonlat, dtype=np.float64)
    if degrees.ndim != 2 or degrees.shape[1] != 2 or len(degrees) == 0:
        raise BCMError(
            f'lonlat must have shape [num_nodes, 2] (got {degrees.shape})'
        )
    lon, lat = _radians('lonlat', degrees)
    middle = np.arctan2(np.sin(lon).mean(), np.cos(lon).mean())
    east = (lon - middle + np.pi) % (2 * np.pi) - np.pi
    north = lat - lat.mean()
    return EARTH_RADIUS * np.stack([east * np.cos(lat.mean()), north], axis=1)


def warn_of_degrees(stacklevel: int) -> None:
    """Warns that coordinates are degrees, which are not lengths."""
    warnings.warn(
        'the coordinates are degrees, and a degree of longitude is shorter '
        'than one of latitude: pass project=True for metres about the middle '
        'of the graph, or project the graph first',
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def are_degrees(crs: Any, xy: np.ndarray, guess: bool = True) -> bool:
    """Whether coordinates :obj:`[N, 2]` are longitude and latitude.

    :obj:`crs` is the coordinate reference system as OSMnx keeps it: a name, a
    text, a pyproj object or :obj:`None`. If it does not say, as with most EPSG
    codes, the range of the coordinates decides, unless :obj:`guess` is False.
    """
    is_geographic = getattr(crs, 'is_geographic', None)
    if not isinstance(is_geographic, bool):
        is_geographic = _is_geographic(str(crs).lower())
    if is_geographic is None:
        return guess and bool((np.abs(xy) <= (180, 90)).all())
    return is_geographic and bool((np.abs(xy) <= (360, 90)).all())


def _is_geographic(text: str) -> bool | None:
    """Whether a coordinate reference system is in degrees; None if unknown."""
    # A projected system names its base in degrees too.
    if re.search('projc|projectedcrs|boundcrs|engcrs|local_cs', text):
        return False
    named = re.search(r'\bproj[\'"]?\s*[=:]\s*[\'"]?(\w+)', text)
    if named is not None:
        return named[1] in ('longlat', 'latlong', 'lonlat', 'latlon')
    return True if re.search('geogc|geographiccrs|crs84|4326', text) else None


def nearest_nodes(data: Data, points: Any) -> Tensor:
    """The nodes nearest to points, :obj:`[B]`.

    Args:
        data (torch_geometric.data.Data): The graph. If some nodes cannot be
            reached, call :func:`~bcm_pyg.graph.largest_component` first.
        points (array): Points :obj:`[B, A]`, or one, :obj:`[A]`: longitude
            and latitude, in this order, if the graph has :obj:`lonlat`;
            otherwise as :obj:`pos` (plus :obj:`pos_origin` if it has one).
    """
    if not isinstance(data, Data):
        hint = ': pass its .full or .data' if hasattr(data, 'full') else ''
        raise BCMError(
            f'expected a torch_geometric.data.Data (got {type(data).__name__})'
            f'{hint}'
        )
    nodes = lonlat = node_lonlat(data)
    if nodes is None:
        nodes = source_positions(data)
        if not np.isfinite(nodes).all():
            raise BCMError('data.pos must be finite')
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
        nodes = _on_sphere(_radians('data.lonlat', nodes))
        wanted = _on_sphere(_radians('points', wanted))
    elif not np.isfinite(wanted).all():
        raise BCMError('points must be finite')
    from scipy.spatial import cKDTree  # slow to import

    _, nearest = cKDTree(nodes).query(wanted)
    return torch.from_numpy(nearest).long().to(data.edge_index.device)


def node_lonlat(data: Data) -> np.ndarray | None:
    """Longitudes and latitudes, float64 [N, 2], if the graph has them."""
    lonlat = data.get('lonlat')
    if lonlat is None:
        return None
    try:
        lonlat = torch.as_tensor(lonlat).detach().cpu().double()
    except (TypeError, ValueError, RuntimeError) as error:  # of text
        raise BCMError(
            f'data.lonlat must hold numbers ({error!s:.80})'
        ) from None
    if lonlat.shape != (data.num_nodes, 2):
        raise BCMError(
            f'data.lonlat must have shape [{data.num_nodes}, 2] (got '
            f'{tuple(lonlat.shape)})'
        )
    return lonlat.numpy()


def source_positions(data: Data) -> np.ndarray:
    """Coordinates as they were before they were centred, float64 [N, A]."""
    pos = data.get('pos')
    if not isinstance(pos, Tensor) or pos.dim() != 2:
        raise BCMError(
            'data.pos must be a tensor of shape [N, A] (got '
            f'{getattr(pos, "shape", pos)!s:.80})'
        )
    out = pos.detach().cpu().double()
    if data.get('pos_origin') is not None:
        out = out + data.pos_origin.cpu()
    return out.numpy()


def _radians(name: str, lonlat: np.ndarray) -> np.ndarray:
    """Longitudes and latitudes [2, N], checked."""
    bad = ~(np.abs(lonlat) <= (360, 90)).all(axis=1)
    if (entry := first_true(bad)) is not None:
        raise BCMError(
            f'{name} must be longitudes and latitudes in degrees, in this '
            f'order (entry {entry} is {lonlat[entry].tolist()})'
        )
    out: np.ndarray = np.radians(lonlat).T
    return out


def _on_sphere(radians: np.ndarray) -> np.ndarray:
    """Points in space: the nearest there are nearest on the globe, too."""
    lon, lat = radians
    ring = np.cos(lat)
    return np.stack([ring * np.cos(lon), ring * np.sin(lon), np.sin(lat)], 1)

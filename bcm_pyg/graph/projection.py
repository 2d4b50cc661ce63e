from __future__ import annotations

import warnings

import numpy as np

from bcm_pyg.errors import BCMError

#: Mean radius of the Earth in metres.
EARTH_RADIUS = 6_371_008.8


def local_metres(lonlat: np.ndarray) -> np.ndarray:
    r"""Degrees to metres east and north of the middle of a region.

    The equirectangular projection about the mean longitude and latitude. Over a
    city it is true to a fraction of a percent; a country far from the equator
    deserves a projection made for it.

    Args:
        lonlat (numpy.ndarray): Longitudes and latitudes, :obj:`[N, 2]`.

    Returns:
        Metres, float64 :obj:`[N, 2]`. A region may lie across the 180th
        meridian.
    """
    degrees = np.asarray(lonlat, dtype=np.float64)
    if degrees.ndim != 2 or degrees.shape[1] != 2 or len(degrees) == 0:
        raise BCMError(
            f'lonlat must have shape [num_nodes, 2] (got {degrees.shape})'
        )
    bad = ~(np.abs(degrees) <= (360, 90)).all(axis=1)
    if bad.any():
        node = int(bad.argmax())
        raise BCMError(
            'lonlat must hold degrees of longitude and latitude, in this order '
            f'(node {node} is at {degrees[node].tolist()})'
        )
    lon, lat = np.radians(degrees).T
    middle = np.arctan2(np.sin(lon).mean(), np.cos(lon).mean())
    east = (lon - middle + np.pi) % (2 * np.pi) - np.pi
    north = lat - lat.mean()
    return EARTH_RADIUS * np.stack([east * np.cos(lat.mean()), north], axis=1)


def warn_of_degrees(stacklevel: int) -> None:
    """Degrees are no lengths: one of longitude shrinks towards the poles."""
    warnings.warn(
        'the coordinates are degrees, and a degree of longitude is not as long '
        'as one of latitude: pass project=True for metres about the middle of '
        'the graph, or project the graph first',
        UserWarning,
        stacklevel=stacklevel + 1,
    )

from __future__ import annotations

import re
import warnings
from typing import Any

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


def are_degrees(crs: Any, xy: np.ndarray, guess: bool = True) -> bool:
    """Whether coordinates are longitude and latitude.

    Args:
        crs (Any): The coordinate reference system as OSMnx keeps it: a name, a
            definition as text, a pyproj object; or nothing.
        xy (numpy.ndarray): The coordinates. They decide where the system does
            not tell, as codes of EPSG, whose numbers mean nothing; and what
            lies outside the range of degrees is none.
        guess (bool, optional): Whether they may decide. (default: :obj:`True`)
    """
    is_geographic = getattr(crs, 'is_geographic', None)
    if not isinstance(is_geographic, bool):
        is_geographic = _is_geographic(str(crs).lower())
    if is_geographic is None:
        return guess and bool((np.abs(xy) <= (180, 90)).all())
    return is_geographic and bool((np.abs(xy) <= (360, 90)).all())


def _is_geographic(text: str) -> bool | None:
    """What the text of a coordinate reference system says, if it does."""
    # A projected system names its base in degrees too.
    if re.search('projc|projectedcrs|boundcrs|engcrs|local_cs', text):
        return False
    named = re.search(r'\bproj[\'"]?\s*[=:]\s*[\'"]?(\w+)', text)
    if named is not None:
        return named[1] in ('longlat', 'latlong', 'lonlat', 'latlon')
    if re.search('geogc|geographiccrs|crs84|4326', text):
        return True
    return None

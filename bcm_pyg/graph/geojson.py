from __future__ import annotations

import json
import math
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import replace_file

from ._places import known_lonlat, source_positions
from ._routes import Routes
from .labels import source_routes


def to_geojson(
    plan: Routes, data: Data, path: str | PathLike[str] | None = None
) -> dict[str, Any]:
    """Routes as GeoJSON, for maps and geographic information systems.

    One feature per query, in order: a line string (several across the 180th
    meridian, a point where start and goal are the same, no geometry where no
    route was found) with the properties :obj:`query`, :obj:`success`,
    :obj:`cost`, :obj:`hops`, :obj:`start` and :obj:`goal`, the last two in the
    ids of the graph's source. What a query without a route would have costs and
    ends at is null.

    Args:
        plan (Plan): The routes.
        data (torch_geometric.data.Data): The graph that was planned on. Its
            :obj:`lonlat` is drawn if it has one, as GeoJSON wants it:
            longitudes from -180 to 180, and a route across that meridian cut
            there, into a multi line string. Otherwise its coordinates as they
            were in the source, up to three axes.
        path (str or os.PathLike, optional): Where to write it, in full or not
            at all. (default: :obj:`None`)

    Returns:
        The feature collection.
    """
    routes = source_routes(plan, data)  # checks the plan too
    places, on_globe = _places(data)
    _check_drawn(plan, places, on_globe)
    geometry = _geometry_on_globe if on_globe else _geometry
    features = []
    for query, route in enumerate(routes):
        cost = float(plan.cost[query])
        features.append(
            {
                'type': 'Feature',
                'geometry': geometry(places[plan.path(query)].tolist()),
                'properties': {
                    'query': query,
                    'success': bool(plan.success[query]),
                    'cost': cost if math.isfinite(cost) else None,
                    'hops': int(plan.hops[query]) if route else None,
                    'start': _plain(route[0]) if route else None,
                    'goal': _plain(route[-1]) if route else None,
                },
            }
        )
    out = {'type': 'FeatureCollection', 'features': features}
    if path is not None:
        text = json.dumps(out, allow_nan=False)
        try:
            replace_file(Path(path), text.encode() + b'\n')
        except (OSError, ValueError) as error:
            raise BCMError(f'cannot write {path}: {error}') from error
    return out


def _places(data: Data) -> tuple[np.ndarray, bool]:
    """Where each node is drawn, [N, 2 or 3], and whether that is in degrees."""
    lonlat = known_lonlat(data)
    if lonlat is not None:
        lon, lat = lonlat.T
        # Some sources count to 360 degrees east, GeoJSON to 180 either way.
        beyond = (np.abs(lon) > 180) & (np.abs(lon) <= 360)
        lon = np.where(beyond, lon - np.copysign(360, lon), lon)
        return np.stack([lon, lat], axis=1).round(7), True  # a centimetre
    if data.get('pos') is None or data.pos.dim() != 2 or data.pos.size(1) < 2:
        raise BCMError(
            'GeoJSON needs data.lonlat [N, 2], or data.pos of at least two axes'
        )
    places = source_positions(data)[:, :3]
    return np.stack([_rounded(axis) for axis in places.T], axis=1), False


def _rounded(axis: np.ndarray) -> np.ndarray:
    """To seven digits of the span: float32 does not hold more."""
    span = float(np.ptp(axis)) if axis.size else 0.0
    if not 0 < span < math.inf:
        return axis
    return axis.round(min(max(7 - math.floor(math.log10(span)), 0), 15))


def _check_drawn(plan: Routes, places: np.ndarray, on_globe: bool) -> None:
    """Refuses routes over nodes whose place is unknown, or not on Earth."""
    drawn = plan.nodes[plan.nodes >= 0].unique().cpu().numpy()
    bad = ~np.isfinite(places[drawn]).all(axis=1)
    if on_globe:  # longitudes up to 360 are within 180 by now
        bad |= (np.abs(places[drawn]) > (180, 90)).any(axis=1)
    if bad.any():
        node = int(drawn[bad.argmax()])
        raise BCMError(
            f'node {node} of a route cannot be drawn: it is at '
            f'{places[node].tolist()}'
        )


def _geometry(places: list[list[float]]) -> dict[str, Any] | None:
    if len(places) == 0:
        return None
    if len(places) == 1:  # a line has two positions or more
        return {'type': 'Point', 'coordinates': places[0]}
    return {'type': 'LineString', 'coordinates': places}


def _geometry_on_globe(places: list[list[float]]) -> dict[str, Any] | None:
    """Lines that go the short way, cut where that crosses 180 degrees."""
    parts = _cut(places)
    if len(parts) == 1:
        return _geometry(parts[0])
    return {'type': 'MultiLineString', 'coordinates': parts}


def _cut(places: list[list[float]]) -> list[list[list[float]]]:
    parts = [places[:1]]
    for lon, lat in places[1:]:
        last_lon, last_lat = parts[-1][-1]
        if abs(lon - last_lon) > 180:
            edge = math.copysign(180.0, last_lon - lon)
            span = lon + 2 * edge - last_lon  # zero from -180 to 180
            share = (edge - last_lon) / span if span else 0.0
            crossing = round(last_lat + share * (lat - last_lat), 7)
            parts[-1].append([edge, crossing])
            parts.append([[-edge, crossing]])
        parts[-1].append([lon, lat])
    # A node on the meridian itself leaves a part of no length behind.
    long = [part for part in parts if any(place != part[0] for place in part)]
    return long or parts[:1]


def _plain(name: object) -> object:
    """An id as JSON has it: numbers and strings as they are."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, float) and not math.isfinite(name):
        return str(name)
    return name if isinstance(name, (int, float, str)) else str(name)

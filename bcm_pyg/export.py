"""Routes as GeoJSON and as tables with geometry."""

from __future__ import annotations

import json
import math
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import node_lonlat, source_positions
from bcm_pyg.graph import route_lines
from bcm_pyg.graph.planning_graph import check_pos
from bcm_pyg.planning import Plan
from bcm_pyg.utils import as_path, replace_file

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ['to_geodataframe', 'to_geojson']


def to_geojson(
    plan: Plan, data: Data, path: str | PathLike[str] | None = None
) -> dict[str, Any]:
    """Routes as GeoJSON, for maps and geographic information systems.

    There is one feature per query, in order: a line string (a point if start
    and goal are the same, no geometry if no route was found). Its properties
    are :obj:`query`, :obj:`success`, :obj:`cost`, :obj:`hops`, and the labels
    of :obj:`start` and :obj:`goal`; the last four are null without a route.

    Args:
        plan (Plan): The routes.
        data (torch_geometric.data.Data): The graph that was planned on. If it
            has :obj:`lonlat`, these are written, longitudes from -180 to 180; a
            route across the 180th meridian is cut into a multi line string.
            Otherwise the coordinates of the source are written, at most three;
            on a grid these are row and column.
        path (str or os.PathLike, optional): The file to write, in full or not
            at all. (default: :obj:`None`)

    Returns:
        The feature collection.
    """
    if not isinstance(plan, Plan):
        raise BCMError(f'plan must be a Plan (got {type(plan).__name__})')
    routes = plan.to_labels(data)
    lines, on_globe = _lines(plan, data)
    features = []
    for query, labels in enumerate(routes):
        cost = float(plan.cost[query])
        line = lines[query].tolist()
        features.append(
            {
                'type': 'Feature',
                'geometry': _geometry(line, on_globe),
                'properties': {
                    'query': query,
                    'success': bool(plan.success[query]),
                    'cost': cost if math.isfinite(cost) else None,
                    'hops': int(plan.hops[query]) if labels else None,
                    'start': _json_label(labels[0]) if labels else None,
                    'goal': _json_label(labels[-1]) if labels else None,
                },
            }
        )
    out = {'type': 'FeatureCollection', 'features': features}
    if path is not None:
        text = json.dumps(out, allow_nan=False)
        try:
            replace_file(as_path('path', path), text.encode() + b'\n')
        except (OSError, ValueError) as error:
            raise BCMError(f'cannot write {path}: {error}') from error
    return out


def to_geodataframe(plan: Plan, data: Data) -> gpd.GeoDataFrame:
    """Routes as a table of geopandas, for analysis and for any file format.

    It is :meth:`Plan.to_frame <bcm_pyg.Plan.to_frame>` with the labels of
    :obj:`data`, plus the :obj:`geometry` of :func:`to_geojson`.

    Args:
        plan (Plan): The routes.
        data (torch_geometric.data.Data): The graph that was planned on. If it
            has :obj:`lonlat`, the table is in degrees (EPSG:4326); otherwise
            it has no coordinate reference system.
    """
    try:
        import geopandas as gpd
        from shapely.geometry import shape
    except ImportError:
        raise BCMError(
            "to_geodataframe needs geopandas: run 'pip install bcm_pyg[geo]'"
        ) from None
    found = [item['geometry'] for item in to_geojson(plan, data)['features']]
    lines = [None if line is None else shape(line) for line in found]
    crs = None if data.get('lonlat') is None else 'EPSG:4326'
    return gpd.GeoDataFrame(plan.to_frame(data), geometry=lines, crs=crs)


def _lines(plan: Plan, data: Data) -> tuple[list[np.ndarray], bool]:
    """The points of each route, [P, 2 or 3], and whether in degrees."""
    points = node_lonlat(data)
    on_globe = points is not None
    if points is None:
        check_pos(data, 'GeoJSON')
        points = source_positions(data)[:, :3]
        if points.shape[1] < 2:
            raise BCMError(
                'GeoJSON needs data.lonlat [N, 2], or data.pos of at least two '
                'axes'
            )
        digits = [_digits(axis) for axis in points.T]
    else:
        digits = [7, 7]  # a centimetre
        points = points.copy()
        points[:, 0] = _about(points[:, 0], 0.0)
    _check_drawn(plan, points, on_globe)
    if on_globe and data.get('edge_bends') is not None:
        # In one piece, also across the 180th meridian.
        radians = np.radians(points[np.isfinite(points[:, 0]), 0])
        middle = np.arctan2(np.sin(radians).mean(), np.cos(radians).mean())
        points[:, 0] = _about(points[:, 0], float(np.degrees(middle)))
    lines = route_lines(data, plan.nodes, points)
    for line in lines:
        if on_globe:
            line[:, 0] = _about(line[:, 0], 0.0)
        for axis, num in enumerate(digits):
            line[:, axis] = line[:, axis].round(num)
    return lines, on_globe


def _about(lon: np.ndarray, middle: float) -> np.ndarray:
    """Longitudes up to 180 degrees either way; impossible ones stay."""
    # Some sources count to 360 degrees east, GeoJSON to 180 either way.
    off = lon - middle
    beyond = (np.abs(off) > 180) & (np.abs(lon) <= 360)
    return np.where(beyond, lon - np.copysign(360, off), lon)


def _digits(axis: np.ndarray) -> int:
    """Seven of the span: float32 does not hold more."""
    span = float(np.ptp(axis)) if axis.size else 0.0
    if not 0 < span < math.inf:
        return 15
    return min(max(7 - math.floor(math.log10(span)), 0), 15)


def _check_drawn(plan: Plan, points: np.ndarray, on_globe: bool) -> None:
    """Refuses routes over nodes whose point is unknown, or not on Earth."""
    drawn = plan.nodes[plan.nodes >= 0].unique().cpu().numpy()
    bad = ~np.isfinite(points[drawn]).all(axis=1)
    if on_globe:  # longitudes up to 360 are within 180 by now
        bad |= (np.abs(points[drawn]) > (180, 90)).any(axis=1)
    if bad.any():
        node = int(drawn[bad.argmax()])
        raise BCMError(
            f'node {node} of a route cannot be drawn: its position is '
            f'{points[node].tolist()}'
        )


def _geometry(
    points: list[list[float]], on_globe: bool
) -> dict[str, Any] | None:
    parts = _cut(points) if on_globe else [points]
    if len(parts) > 1:
        return {'type': 'MultiLineString', 'coordinates': parts}
    if len(parts[0]) > 1:
        return {'type': 'LineString', 'coordinates': parts[0]}
    return {'type': 'Point', 'coordinates': points[0]} if points else None


def _cut(points: list[list[float]]) -> list[list[list[float]]]:
    """Lines that go the short way, cut where that crosses 180 degrees."""
    parts = [points[:1]]
    for lon, lat in points[1:]:
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
    long = [part for part in parts if any(point != part[0] for point in part)]
    return long or parts[:1]


def _json_label(label: object) -> object:
    """A label as JSON has it: numbers and strings as they are."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and not math.isfinite(label):
        return str(label)
    return label if isinstance(label, (int, float, str)) else str(label)

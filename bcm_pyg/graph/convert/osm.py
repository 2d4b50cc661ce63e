import os
import re
from array import array
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import EARTH_RADIUS, local_metres
from bcm_pyg.utils import check_choice, memory_for, reading

from .._bends import carry, ranges
from .arrays import from_arrays

#: Bytes of memory for a point of a street.
POINT_BYTES = 800
#: Nodes that any file may hold, and below which size one for each byte: osmium
#: keeps them all, and a few bytes can unpack to any number.
FEW_NODES, SMALL = 10**6, 10**7

CAR = {
    'motorway': 110,
    'trunk': 90,
    'primary': 65,
    'secondary': 60,
    'tertiary': 50,
    'unclassified': 40,
    'road': 40,
    'residential': 30,
    'service': 15,
    'living_street': 10,
}
CAR |= {f'{kind}_link': CAR[kind] * 2 // 3 for kind in list(CAR)[:5]}
PATHS = ['path', 'track', 'pedestrian', 'footway', 'cycleway', 'steps']
SLOW = [kind for kind in CAR if not kind.startswith(('motorway', 'trunk'))]
#: Kilometres per hour by mode and kind of street.
SPEEDS: dict[str, dict[str, int]] = {
    'drive': CAR,
    'bike': dict.fromkeys(SLOW + PATHS[:2] + ['cycleway'], 15),
    'walk': dict.fromkeys(SLOW + PATHS, 5),
}
#: What may say who has access, the most special first.
ACCESS = {
    'drive': ('motorcar', 'motor_vehicle', 'vehicle', 'access'),
    'bike': ('bicycle', 'vehicle', 'access'),
    'walk': ('foot', 'access'),
}


class _Ways(NamedTuple):
    """All streets, one after the other."""

    node: np.ndarray  # [P] OSM ids of their points
    lonlat: np.ndarray  # [P, 2]
    size: np.ndarray  # [W] points of each
    speed: np.ndarray  # [W] kilometres per hour
    direction: np.ndarray  # [W] 1 or -1 if it is one-way, else 0


def read_osm(
    path: str | PathLike[str],
    mode: str = 'drive',
    *,
    max_bytes: int | None = None,
) -> Data:
    r"""A planning graph of the streets in a file of OpenStreetMap.

    Nodes are crossings and ends of streets, points between are bends (see
    :func:`~bcm_pyg.graph.route_points`). Costs are travel times in seconds: by
    :obj:`maxspeed`, or by the kind of street. One-way streets and access are
    respected, turn restrictions are not. :obj:`node_id` holds the OSM ids,
    :obj:`edge_length` metres, :obj:`pos` metres about the middle. Needs the
    package :obj:`osmium`.

    Args:
        path (str or os.PathLike): The file, :obj:`.osm.pbf`, :obj:`.osm`, or
            another that osmium reads.
        mode (str, optional): :obj:`"drive"`, :obj:`"bike"` or :obj:`"walk"`.
            (default: :obj:`"drive"`)
        max_bytes (int, optional): Files are refused whose streets take more
            memory. (default: 1 GiB, or 100 times the size of the file)
    """
    check_choice('mode', mode, tuple(SPEEDS))
    with reading(path, 'streets') as (_, size):
        ways = _read(path, size, mode, memory_for(size, max_bytes))
        if ways.size.size == 0:
            raise BCMError(f'it has no streets to {mode} on')
        return _graph(ways)


def _read(
    path: str | PathLike[str], size: int, mode: str, max_bytes: int
) -> _Ways:
    try:
        import osmium
    except ImportError:
        raise BCMError(
            "read_osm needs osmium: run 'pip install bcm_pyg[osm]'"
        ) from None
    name = os.path.abspath(path)  # '-' and 'http:...' are no files to osmium
    if size < SMALL:
        most = max(FEW_NODES, size)
        for number, _ in enumerate(osmium.FileProcessor(name, osmium.osm.NODE)):
            if number >= most:
                raise BCMError(
                    f'it has {size:,} bytes, but over {most:,} nodes'
                )
    node, lonlat = array('q'), array('d')
    ways: list[tuple[int, float, int]] = []
    way: Any
    kinds = osmium.osm.NODE | osmium.osm.WAY
    found = osmium.FileProcessor(name, kinds).with_locations()
    found.with_filter(osmium.filter.EntityFilter(osmium.osm.WAY))
    for way in found.with_filter(osmium.filter.KeyFilter('highway')):
        speed = _speed(way.tags, mode)
        points = [point for point in way.nodes if point.location.valid()]
        if speed is None or len(points) < 2:
            continue
        node.extend(point.ref for point in points)
        for point in points:
            lonlat.extend((point.lon, point.lat))
        ways.append((len(points), speed, _direction(way.tags, mode)))
        if POINT_BYTES * len(node) > max_bytes:
            raise BCMError(
                f'its streets take more than {max_bytes:,} bytes of memory: '
                'raise max_bytes'
            )
    sizes, speeds, direction = np.array(ways).reshape(-1, 3).T
    return _Ways(
        np.array(node),
        np.array(lonlat).reshape(-1, 2),
        *(sizes.astype(np.int64), speeds, direction.astype(np.int64)),
    )


def _speed(tags: Any, mode: str) -> float | None:
    """Kilometres per hour on a street; None if it is not for this mode."""
    speed = SPEEDS[mode].get(tags.get('highway'))
    access = (tags.get(name) for name in ACCESS[mode])
    allowed = next((value for value in access if value is not None), 'yes')
    if (
        speed is None
        or allowed in ('no', 'private')
        or tags.get('area') == 'yes'
    ):
        return None
    limit = re.fullmatch(r'([0-9]{1,3}) ?(mph)?', tags.get('maxspeed') or '')
    if mode != 'drive' or limit is None or int(limit[1]) == 0:
        return speed
    return int(limit[1]) * (1.609344 if limit[2] else 1.0)


def _direction(tags: Any, mode: str) -> int:
    """1 if a street goes one way, -1 against its points, 0 both ways."""
    if mode == 'walk' or (
        mode == 'bike' and tags.get('oneway:bicycle') == 'no'
    ):
        return 0
    is_round = tags.get('junction') in ('roundabout', 'circular')
    is_round |= tags.get('highway') == 'motorway'
    value = tags.get('oneway') or ('yes' if is_round else 'no')
    return {'yes': 1, 'true': 1, '1': 1, '-1': -1, 'reverse': -1}.get(value, 0)


def _graph(ways: _Ways) -> Data:
    """Streets cut at crossings; what lies between becomes bends."""
    end = ways.size.cumsum()
    begin = end - ways.size
    osm_id, first, node, count = np.unique(
        ways.node, return_index=True, return_inverse=True, return_counts=True
    )
    is_stop = count > 1
    is_stop[node[begin]] = is_stop[node[end - 1]] = True
    # A part from each stop to the next on its way.
    stop = np.flatnonzero(is_stop[node])
    way = np.repeat(np.arange(begin.size), ways.size)
    same = way[stop[:-1]] == way[stop[1:]]
    low, high = stop[:-1][same], stop[1:][same]
    along = np.append(0.0, _metres(ways.lonlat).cumsum())
    length, way = along[high] - along[low], way[low]
    there, back = ways.direction[way] >= 0, ways.direction[way] <= 0

    tail = np.concatenate([node[low[there]], node[high[back]]])
    head = np.concatenate([node[high[there]], node[low[back]]])
    lonlat = ways.lonlat[first]
    owner, at = ranges(low + 1, high)
    bends = [ways.lonlat[at[there[owner]]]]
    size = high - low - 1
    turned = low[owner] + high[owner] - at
    bends.append(ways.lonlat[turned[back[owner]]])
    size = np.concatenate([size[there], size[back]])
    last = size.cumsum()
    edge = np.repeat(np.arange(size.size), size)

    new_node = is_stop.cumsum() - 1
    tail, head, lonlat = new_node[tail], new_node[head], lonlat[is_stop]
    pos = local_metres(lonlat)
    inner = carry(np.concatenate(bends), tail[edge], head[edge], lonlat, pos)
    length = np.concatenate([length[there], length[back]])
    speed = np.concatenate([ways.speed[way[there]], ways.speed[way[back]]])
    return from_arrays(
        pos,
        np.stack([tail, head]),
        length / (speed / 3.6),
        node_id=osm_id[is_stop],
        lonlat=lonlat,
        edge_length=length,
        edge_bends=np.stack([last - size, last], axis=1),
        bends=inner[None],
    )


def _metres(lonlat: np.ndarray) -> np.ndarray:
    """From each point to the next, on the globe."""
    lon, lat = np.radians(lonlat).T
    share = np.sin(np.diff(lat) / 2) ** 2
    share += np.cos(lat[1:]) * np.cos(lat[:-1]) * np.sin(np.diff(lon) / 2) ** 2
    out: np.ndarray = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(share))
    return out

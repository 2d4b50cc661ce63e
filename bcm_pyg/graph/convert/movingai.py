"""Maps of the MovingAI benchmarks, in two and three dimensions.

N. Sturtevant, "Benchmarks for Grid-Based Pathfinding", 2012.
"""

from __future__ import annotations

import codecs
import io
import re
from os import PathLike

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_int, read_file

from .occupancy import MAX_EDGES, check_cells, from_occupancy

#: Bytes of text that a file may hold.
MAX_BYTES = 2**28
#: Characters of a cell: ground and swamp; out of bounds, trees and water.
FREE, BLOCKED = b'.GS', b'@OTW'


def read_movingai(
    path: str | PathLike[str], *, max_edges: int = MAX_EDGES
) -> Data:
    r"""A planning graph from a MovingAI map.

    Nodes are the free cells; :obj:`pos` and :obj:`coord` are their
    :math:`(x, y)` in a :obj:`.map` (y downward, as published) or
    :math:`(x, y, z)` in a :obj:`.3dmap`. Steps are those of
    :func:`~bcm_pyg.graph.from_occupancy`: to all neighbours, no cutting of
    corners, as the published lengths want it. Some maps fall into several
    components. :obj:`map_name` is the name of the file without its ending.

    Args:
        path (str or os.PathLike): The map, gzipped or not.
        max_edges (int, optional): Maps of more directed edges are refused.
            (default: :obj:`2 ** 26`)
    """
    check_int('max_edges', max_edges, 1)
    content = read_file(path, MAX_BYTES).removeprefix(codecs.BOM_UTF8)
    try:
        if content.startswith(b'voxel'):
            voxels = _voxels(content, max_edges)
            return _named(from_occupancy(voxels, max_edges=max_edges), path)
        data = from_occupancy(_cells(content), max_edges=max_edges)
    except BCMError as error:
        raise BCMError(f'{path}: {error}') from None
    for name in ('pos', 'coord', 'grid_size'):  # rows and columns to x and y
        data[name] = data[name].flip(1)
    return _named(data, path)


def _named(data: Data, path: str | PathLike[str]) -> Data:
    """With the name by which scenarios call the map."""
    data.map_name = map_name(str(path))
    return data


def map_name(path: str) -> str:
    """The name of a map without folders and endings, in small letters."""
    name = re.split(r'[\\/]', path)[-1].strip().lower()
    return re.sub(r'(\.gz|\.map|\.3dmap)+$', '', name)


def _cells(content: bytes) -> np.ndarray:
    """Which cells of a .map are blocked, [H, W]."""
    head, *bodies = re.split(rb'\nmap[ \t\r]*(?=\n|$)', content, maxsplit=1)
    fields = dict(
        line.split() for line in head.splitlines() if len(line.split()) == 2
    )
    if not bodies or fields.get(b'type') != b'octile':
        raise BCMError(
            'this is no MovingAI map: it must begin with "type octile", '
            '"height", "width" and "map" (or with "voxel")'
        )
    height, width = (
        _number(name.decode(), fields.get(name))
        for name in (b'height', b'width')
    )
    rows = [line.rstrip() for line in bodies[0].rstrip().splitlines()[1:]]
    if len(rows) != height:
        raise BCMError(f'height is {height}, but the map has {len(rows)} rows')
    for row, line in enumerate(rows):
        if len(line) != width:
            raise BCMError(
                f'width is {width}, but row {row} has {len(line)} cells'
            )
    cells = np.frombuffer(b''.join(rows), np.uint8).reshape(height, width)
    blocked = np.isin(cells, list(BLOCKED))
    unknown = ~blocked & ~np.isin(cells, list(FREE))
    if unknown.any():
        row, column = np.argwhere(unknown)[0].tolist()
        raise BCMError(
            f'row {row}, column {column} holds {chr(cells[row, column])!r}: '
            'cells are . G S (free) or @ O T W (blocked)'
        )
    return blocked


def _voxels(content: bytes, max_edges: int) -> np.ndarray:
    """Which voxels of a .3dmap are blocked, [X, Y, Z]."""
    head, _, body = content.partition(b'\n')
    words = head.split()
    if len(words) != 4:
        raise BCMError(
            'a voxel map begins with "voxel" and three sizes (got '
            f'{head[:40].decode(errors="replace")!r})'
        )
    shape = tuple(_number('voxel', word) for word in words[1:])
    check_cells(shape, max_edges)
    blocked = np.zeros(shape, dtype=np.bool_)
    if not body.strip():
        return blocked
    voxels = number_table(body, range(3))
    bad = ((voxels < 0) | (voxels >= shape) | (voxels % 1 != 0)).any(axis=1)
    if bad.any():
        line = int(bad.argmax())
        raise BCMError(
            f'voxel {line}, {voxels[line].tolist()}, lies outside the map of '
            f'{list(shape)}'
        )
    blocked[tuple(voxels.astype(np.int64).T)] = True
    return blocked


def number_table(
    text: bytes, columns: range, delimiter: str | None = None
) -> np.ndarray:
    """Columns of numbers, float64 [rows, columns]."""
    try:
        return np.loadtxt(
            io.BytesIO(text),
            comments=None,
            delimiter=delimiter,
            usecols=columns,
            ndmin=2,
        )
    except (ValueError, IndexError) as error:
        raise BCMError(str(error)) from None


def _number(name: str, text: bytes | None) -> int:
    """A size that a header gives."""
    if text is None or not text.isdigit() or len(text) > 9:
        shown = None if text is None else text[:40].decode(errors='replace')
        raise BCMError(f'{name} must be a size (got {shown!r})')
    return int(text)

"""Maps and scenarios of the MovingAI benchmarks, in two and three dimensions.

N. Sturtevant, "Benchmarks for Grid-Based Pathfinding", 2012.
"""

import codecs
import io
import re
import warnings
from os import PathLike
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_int, first_true, read_file

from .occupancy import check_cells, from_occupancy

#: Directed edges of a map unless more are asked for: 1024 x 1024 free cells,
#: and less than 1 GB of memory to read them.
MAX_EDGES = 2**23
#: Bytes of text for each of them.
EDGE_BYTES = 8
#: Bytes of text of a scenario file unless more are asked for.
MAX_BYTES = 2**26
#: Bytes of a header, or of a line of numbers: longer ones are refused.
LINE_BYTES = 2**12
#: Characters of a cell: ground and swamp; out of bounds, trees and water.
FREE, BLOCKED = b'.GS', b'@OTW'


class Scenarios(NamedTuple):
    """Queries with their published answers.

    Attributes:
        starts: :obj:`[B]` long.
        goals: :obj:`[B]` long.
        optimal_cost: :obj:`[B]` float64, the length of the shortest route.
    """

    starts: Tensor
    goals: Tensor
    optimal_cost: Tensor


def read_movingai(
    path: str | PathLike[str], *, max_edges: int = MAX_EDGES
) -> Data:
    r"""A planning graph from a MovingAI map.

    Nodes are the free cells; :obj:`pos` and :obj:`coord` are their
    :math:`(x, y)` in a :obj:`.map` (y downward, as published) or
    :math:`(x, y, z)` in a :obj:`.3dmap`. Steps are those of
    :func:`~bcm_pyg.graph.from_occupancy`, as the published lengths assume.
    :obj:`matrix_axes` says that a picture has columns first, and
    :obj:`map_name` is the name of the file without its endings.

    Args:
        path (str or os.PathLike): The map, gzipped or not.
        max_edges (int, optional): Maps of more directed edges are refused.
            Reading one takes about 90 bytes of memory per edge. (default:
            :obj:`2 ** 23`)
    """
    check_int('max_edges', max_edges, 1)
    content = read_file(path, EDGE_BYTES * max_edges).removeprefix(
        codecs.BOM_UTF8
    )
    is_3d = content.startswith(b'voxel')
    try:
        blocked = (_voxels if is_3d else _cells)(content, max_edges)
        data = from_occupancy(blocked, max_edges=max_edges)
    except BCMError as error:
        raise BCMError(f'{path}: {error}') from None
    if not is_3d:  # from row and column to x and y
        for name in ('pos', 'coord', 'grid_size'):
            data[name] = data[name].flip(1)
        data.matrix_axes = torch.tensor([[1, 0]])  # rows, columns
    data.map_name = _map_name(str(path))
    return data


def read_scenarios(
    path: str | PathLike[str], data: Data, *, max_bytes: int = MAX_BYTES
) -> Scenarios:
    """Queries on a MovingAI map, with the lengths of their shortest routes.

    Args:
        path (str or os.PathLike): The :obj:`.scen` or :obj:`.3dscen` file,
            gzipped or not.
        data (torch_geometric.data.Data): Its map, from
            :func:`~bcm_pyg.graph.read_movingai`. A map of another size is
            refused; a map of another name gives a warning.
        max_bytes (int, optional): Files with more text are refused. Reading one
            takes about 5 times as much memory. (default: 64 MiB)
    """
    check_int('max_bytes', max_bytes, 1)
    if data.get('coord') is None or data.get('grid_size') is None:
        raise BCMError('data is not a map: pass the result of read_movingai')
    content = read_file(path, max_bytes).removeprefix(codecs.BOM_UTF8)
    try:
        if data.coord.size(1) == 3:  # the map's name has a line of its own
            name, _, lines = _scenario_lines(content, 2).partition(b'\n')
            out = _scenarios(_number_table(lines, range(7)), data)
        else:
            lines = _scenario_lines(content, 1)
            separator = b'\t' if b'\t' in lines else None  # names have spaces
            out = _scenarios(_scenarios_2d(lines, separator, data), data)
            name = lines.strip().partition(b'\n')[0].split(separator)[1]
    except BCMError as error:
        raise BCMError(f'{path}: {error}') from None
    meant, own = _map_name(name.decode(errors='replace')), data.get('map_name')
    if own is not None and meant != own:
        text = f'{path} is for the map {meant!r}, this one is {own!r}'
        warnings.warn(text, UserWarning, stacklevel=2)
    return out


def _map_name(path: str) -> str:
    """The name of a map without folders and endings, in lower case."""
    name = re.split(r'[\\/]', path)[-1].strip().lower().split('.')
    while len(name) > 1 and name[-1] in ('gz', 'map', '3dmap'):
        name.pop()
    return '.'.join(name)


def _cells(content: bytes, max_edges: int) -> np.ndarray:
    """Which cells of a .map are blocked, [H, W]."""
    mark = re.compile(rb'\nmap[ \t\r]*(?=\n)').search(content, 0, LINE_BYTES)
    head = content[: mark.start()] if mark else b''
    fields = dict(
        line.split() for line in head.splitlines() if len(line.split()) == 2
    )
    if mark is None or fields.get(b'type') != b'octile':
        raise BCMError(
            'this is not a MovingAI map: it must begin with "type octile", '
            '"height", "width" and "map" (or with "voxel")'
        )
    height = _size('height', fields.get(b'height'))
    width = _size('width', fields.get(b'width'))
    body = content[mark.end() + 1 :].rstrip()
    num_rows = body.count(b'\n') + bool(body)
    if num_rows != height:
        raise BCMError(f'height is {height}, but the map has {num_rows} rows')
    text = bytearray()
    for row, cells in enumerate(map(bytes.rstrip, io.BytesIO(body))):
        if len(cells) != width:
            raise BCMError(
                f'width is {width}, but row {row} has {len(cells)} cells'
            )
        if row == 0:  # the rest is not worth reading
            check_cells((height, width), max_edges)
        text += cells
    return _is_blocked(np.frombuffer(text, np.uint8).reshape(height, width))


def _is_blocked(cells: np.ndarray) -> np.ndarray:
    """Which cells are blocked; refuses unknown characters."""
    table = np.full(256, 2, np.uint8)
    table[list(FREE)], table[list(BLOCKED)] = 0, 1
    kind = table[cells]
    unknown = kind == 2
    if unknown.any():
        row, column = np.argwhere(unknown)[0].tolist()
        raise BCMError(
            f'row {row}, column {column} holds {chr(cells[row, column])!r}: '
            'cells are . G S (free) or @ O T W (blocked)'
        )
    blocked: np.ndarray = kind == 1
    return blocked


def _voxels(content: bytes, max_edges: int) -> np.ndarray:
    """Which voxels of a .3dmap are blocked, [X, Y, Z]."""
    head, _, body = content.partition(b'\n')
    words = head[:LINE_BYTES].split()
    if len(words) != 4:
        raise BCMError(
            'a voxel map begins with "voxel" and three sizes (got '
            f'{head[:40].decode(errors="replace")!r})'
        )
    shape = tuple(_size('voxel', word) for word in words[1:])
    check_cells(shape, max_edges)
    blocked = np.zeros(shape, dtype=np.bool_)
    if not body.strip():
        return blocked
    _check_lines(body)
    voxels = _number_table(body, range(3))
    bad = ((voxels < 0) | (voxels >= shape) | (voxels % 1 != 0)).any(axis=1)
    if (line := first_true(bad)) is not None:
        raise BCMError(
            f'voxel {line}, {voxels[line].tolist()}, lies outside the map of '
            f'{list(shape)}'
        )
    blocked[tuple(voxels.astype(np.int64).T)] = True
    return blocked


def _scenario_lines(content: bytes, least: int) -> bytes:
    """All lines but the first, which is checked."""
    first, _, lines = content.partition(b'\n')
    if not re.fullmatch(rb'version\s+1(\.0)?\s*', first):
        shown = first[:40].decode(errors='replace')
        raise BCMError(f'this is not a scenario file: it begins with {shown!r}')
    if len(lines.strip().split(b'\n', 1)) < least or not lines.strip():
        raise BCMError('there are no scenarios in the file')
    _check_lines(lines)
    return lines


def _scenarios_2d(
    lines: bytes, separator: bytes | None, data: Data
) -> np.ndarray:
    """Start, goal and length, after the size of the map was compared."""
    table = _number_table(lines, range(2, 9), separator)
    size = table[:, :2]
    bad = (size != data.grid_size.cpu().numpy()).any(axis=1)
    if (query := first_true(bad)) is not None:
        raise BCMError(
            f'scenario {query} is for a map of {size[query].tolist()} cells, '
            f'this one has {data.grid_size[0].tolist()}'
        )
    return table[:, 2:]


def _scenarios(table: np.ndarray, data: Data) -> Scenarios:
    size = data.grid_size[0].tolist()
    axes = len(size)
    node = np.full(size, -1)
    node[tuple(data.coord.cpu().numpy().T)] = np.arange(len(data.coord))
    ends: list[Tensor] = []
    for name, xyz in (('start', table[:, :axes]), ('goal', table[:, axes:-1])):
        inside = ((xyz >= 0) & (xyz < size) & (xyz % 1 == 0)).all(axis=1)
        cell = np.where(inside[:, None], xyz, 0).astype(np.int64)
        ids = np.where(inside, node[tuple(cell.T)], -1)
        if (query := first_true(ids < 0)) is not None:
            raise BCMError(
                f'the {name} of scenario {query}, {xyz[query].tolist()}, is '
                'not a free cell of the map'
            )
        ends.append(torch.from_numpy(ids).to(data.coord.device))
    cost = table[:, -1].copy()
    bad = ~np.isfinite(cost) | (cost < 0)
    if (query := first_true(bad)) is not None:
        raise BCMError(f'the length of scenario {query} is {cost[query]}')
    return Scenarios(ends[0], ends[1], torch.from_numpy(cost))


def _check_lines(text: bytes) -> None:
    """Refuses lines of millions of numbers, which would be parsed at once."""
    size = len(text) // LINE_BYTES * LINE_BYTES
    blocks = np.frombuffer(text[:size], np.uint8).reshape(-1, LINE_BYTES)
    if not (blocks == ord('\n')).any(axis=1).all():
        raise BCMError(f'there is a line of more than {LINE_BYTES:,} bytes')


def _number_table(
    text: bytes, columns: range, separator: bytes | None = None
) -> np.ndarray:
    """Columns of numbers, float64 [lines, columns]."""
    try:
        return np.loadtxt(
            io.BytesIO(text),
            comments=None,
            delimiter=None if separator is None else separator.decode(),
            usecols=columns,
            ndmin=2,
        )
    except (ValueError, IndexError) as error:
        raise BCMError(str(error)) from None


def _size(name: str, text: bytes | None) -> int:
    """A size that a header gives."""
    if text is None or not text.isdigit() or len(text) > 9:
        shown = None if text is None else text[:40].decode(errors='replace')
        raise BCMError(f'{name} must be a size (got {shown!r})')
    return int(text)

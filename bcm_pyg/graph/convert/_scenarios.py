from __future__ import annotations

import codecs
import re
import warnings
from os import PathLike
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import read_file

from .movingai import MAX_BYTES, map_name, number_table


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


def read_scenarios(path: str | PathLike[str], data: Data) -> Scenarios:
    """Queries on a MovingAI map, with the lengths of their shortest routes.

    Args:
        path (str or os.PathLike): The :obj:`.scen` or :obj:`.3dscen` file,
            gzipped or not.
        data (torch_geometric.data.Data): Its map, from
            :func:`~bcm_pyg.graph.read_movingai`. A map of another size is
            refused; of one of another name a warning tells.
    """
    if data.get('coord') is None or data.get('grid_size') is None:
        raise BCMError('data is no map: pass what read_movingai gives')
    content = read_file(path, MAX_BYTES).removeprefix(codecs.BOM_UTF8)
    try:
        if data.coord.size(1) == 3:
            out = _scenarios(_read_3d(content), data)
            name = _body(content, 1).partition(b'\n')[0]
        else:
            out = _scenarios(_read_2d(content, data), data)
            name = _second_column(_body(content, 1).strip().partition(b'\n')[0])
    except BCMError as error:
        raise BCMError(f'{path}: {error}') from None
    meant, own = map_name(name.decode(errors='replace')), data.get('map_name')
    if own is not None and meant != own:
        warnings.warn(
            f'{path} is for the map {meant!r}, this one is {own!r}',
            UserWarning,
            stacklevel=2,
        )
    return out


def _read_2d(content: bytes, data: Data) -> np.ndarray:
    """Start, goal and length, after the size of the map was compared."""
    body = _body(content, 1)
    delimiter = '\t' if b'\t' in body else None  # a map's name may have spaces
    table = number_table(body, range(2, 9), delimiter)
    size = table[:, :2]
    bad = (size != data.grid_size.cpu().numpy()).any(axis=1)
    if bad.any():
        query = int(bad.argmax())
        raise BCMError(
            f'scenario {query} is for a map of {size[query].tolist()} cells, '
            f'this one has {data.grid_size[0].tolist()}'
        )
    return table[:, 2:]


def _read_3d(content: bytes) -> np.ndarray:
    """Start, goal and length."""
    return number_table(_body(content, 2), range(7))


def _second_column(line: bytes) -> bytes:
    """The name of the map, which may have spaces."""
    words = line.split(b'\t') if b'\t' in line else line.split()
    return words[1] if len(words) > 1 else b''


def _body(content: bytes, skip: int) -> bytes:
    """All lines but the first, which is checked, and what else to skip."""
    lines = content.split(b'\n', skip)
    if not re.fullmatch(rb'version\s+1(\.0)?\s*', lines[0]):
        shown = lines[0][:40].decode(errors='replace')
        raise BCMError(f'this is no scenario file: it begins with {shown!r}')
    if len(lines) <= skip or not lines[skip].strip():
        raise BCMError('there are no scenarios in the file')
    return lines[skip]


def _scenarios(table: np.ndarray, data: Data) -> Scenarios:
    size = data.grid_size[0].tolist()
    axes = len(size)
    node = np.full(size, -1)
    coord = data.coord.cpu().numpy()
    node[tuple(coord.T)] = np.arange(len(coord))
    ends: list[Tensor] = []
    for name, first in (('start', 0), ('goal', axes)):
        place = table[:, first : first + axes]
        inside = ((place >= 0) & (place < size) & (place % 1 == 0)).all(axis=1)
        cell = np.where(inside[:, None], place, 0).astype(np.int64)
        ids = np.where(inside, node[tuple(cell.T)], -1)
        if (ids < 0).any():
            query = int((ids < 0).argmax())
            raise BCMError(
                f'the {name} of scenario {query}, {place[query].tolist()}, is '
                'no free cell of the map'
            )
        ends.append(torch.from_numpy(ids).to(data.coord.device))
    cost = table[:, -1].copy()
    bad = ~(np.isfinite(cost) & (cost >= 0))
    if bad.any():
        query = int(bad.argmax())
        raise BCMError(f'the length of scenario {query} is {cost[query]}')
    starts, goals = ends
    return Scenarios(starts, goals, torch.from_numpy(cost))

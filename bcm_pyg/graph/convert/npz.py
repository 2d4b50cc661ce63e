import math
import zipfile
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import as_queries, memory_for, naming, reading

from .._extras import check_extras
from ..planning_graph import COST_NAMES, num_entries
from .arrays import from_arrays, graph_sizes
from .movingai import Scenarios

#: Bytes of memory to make a graph for each byte of its numbers as float64.
COPIES = 8
#: Attributes of nodes: another length is an error.
OF_NODES = {'node_id', 'lonlat', 'coord'}


def read_npz(
    path: str | PathLike[str],
    cost: str | None = None,
    *,
    max_bytes: int | None = None,
) -> Data:
    """A planning graph from a file of numpy arrays.

    The file holds :obj:`pos` :obj:`[N, A]`, :obj:`edge_index` :obj:`[2, E]` and
    costs :obj:`[E]`. Other arrays are kept if they have one entry per node or
    per edge (see :func:`~bcm_pyg.graph.from_arrays`), such as :obj:`node_id`
    and :obj:`lonlat`, or are single strings or numbers. Arrays of objects are
    refused, so that no code in the file is run.

    Args:
        path (str or os.PathLike): The file.
        cost (str, optional): The array to take costs from. (default:
            :obj:`edge_cost`, else :obj:`edge_weight`, else :obj:`edge_attr`)
        max_bytes (int, optional): Files whose arrays take more memory are
            refused. (default: 1 GiB, or 100 times the size of the file)
    """
    if not isinstance(cost, str | None):
        raise BCMError(f'cost must be the name of an array (got {cost!r})')
    arrays = _read(path, max_bytes)
    for name in ('pos', 'edge_index'):
        if name not in arrays:
            raise BCMError(f'{path} has no {name!r}: {_listed(arrays)}')
    names = COST_NAMES if cost is None else (cost,)
    cost = next((name for name in names if name in arrays), None)
    if cost is None:
        wanted = ' or '.join(map(repr, names))
        raise BCMError(
            f'{path} has no {wanted}: {_listed(arrays)}; name one of '
            "them with cost='...'"
        )
    edge_cost = arrays[cost]
    if edge_cost.ndim > 1 and edge_cost.shape[1:] != (1,):
        raise BCMError(
            f'{path}: {cost!r} must hold one number per edge (got shape '
            f'{edge_cost.shape}): name another array with cost=...'
        )
    pos, edge_index = arrays.pop('pos'), arrays.pop('edge_index')
    arrays.pop('edge_cost', None)  # it will hold the costs asked for
    sizes = graph_sizes(pos, edge_index)
    for name in OF_NODES & arrays.keys():
        if arrays[name].shape[:1] != sizes[:1]:
            raise BCMError(
                f'{path}: {name} must have one entry per node, {sizes[0]} (got '
                f'shape {arrays[name].shape})'
            )
    if 'node_id' in arrays and arrays['node_id'].dtype.kind == 'S':
        with naming(path):
            arrays['node_id'] = _decoded(arrays['node_id'])
    extras: dict[str, Any] = {}
    for name, value in arrays.items():
        if value.ndim == 0 and value.dtype.kind in 'Ubiuf':
            extras[name] = value.item()
        elif name == 'bends' or num_entries(name, value) in sizes:
            extras[name] = value
    with naming(path):
        out = from_arrays(pos, edge_index, edge_cost, **extras)
        check_extras(out)
        return out


def read_queries(path: str | PathLike[str], data: Data) -> Scenarios:
    """Queries with their answers from a file of numpy arrays.

    Args:
        path (str or os.PathLike): The file. It holds :obj:`source`,
            :obj:`target` and :obj:`optimal_cost`, one entry per query each.
        data (torch_geometric.data.Data): The graph.
    """
    arrays = _read(path, None)
    try:
        ends = as_queries(
            arrays['source'], arrays['target'], int(data.num_nodes)
        )
        cost = torch.from_numpy(arrays['optimal_cost'].astype(np.float64))
        if cost.shape != ends[0].shape or not bool((cost >= 0).all()):
            raise BCMError('optimal_cost must hold one cost per query')
    except KeyError as error:
        raise BCMError(f'{path} has no {error}: {_listed(arrays)}') from None
    except ValueError as error:  # ours, or of text in place of numbers
        raise BCMError(f'{path}: {error}') from None
    return Scenarios(*ends, cost)


def _read(
    path: str | PathLike[str], max_bytes: int | None
) -> dict[str, np.ndarray]:
    """All arrays of a file, after a look at their sizes."""
    with reading(path, 'arrays') as (file, size):
        room = max_bytes = memory_for(size, max_bytes)
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                # The header comes first, and it may lie.
                least = COPIES * entry.file_size
                room -= _size(archive, entry) if least <= room else least
                if room < 0:
                    raise BCMError(
                        f'its arrays take more than {max_bytes:,} bytes of '
                        'memory: raise max_bytes'
                    )
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


def _decoded(names: np.ndarray) -> np.ndarray:
    """Names as text: as bytes they could not be saved, or typed."""
    try:
        return np.char.decode(names, 'utf-8')
    except UnicodeDecodeError as error:
        raise BCMError(f'node_id is no UTF-8: {error}') from None


def _listed(arrays: dict[str, np.ndarray]) -> str:
    return f'it has {sorted(arrays)!s:.200}'


def _size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Bytes that an array takes, by its own header."""
    with archive.open(entry) as file:
        version = npy.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = npy.read_array_header_1_0(file)
        else:
            shape, _, dtype = npy.read_array_header_2_0(file)
    count = math.prod(map(int, shape))
    if dtype.hasobject:
        raise ValueError(
            f'{entry.filename} is an array of objects, which could run code'
        )
    if count * dtype.itemsize > entry.file_size:
        raise ValueError(
            f'{entry.filename} is said to be of shape {shape} and type {dtype}'
        )
    return COPIES * count * max(int(dtype.itemsize), 8)

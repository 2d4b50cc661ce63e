"""Graphs as tensors and JSON, with the names of their nodes."""

import json
import math
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.io import DTYPES, strict_json

from ._extras import check_extras, fits
from .convert.arrays import copied
from .labels import as_node_id, check_distinct, labels_of
from .planning_graph import planning_graph

#: The tensor of names that are not all integers: JSON, byte by byte.
NAMES = 'names'
#: In the file of a cognitive map, the nodes that stay where it is simplified.
STAYS = 'simplified_nodes'
#: Attributes of the class that hold what a graph holds.
KNOWN = {'edge_index', 'edge_attr', 'edge_weight', 'pos', 'x', 'y', 'time'}
#: Characters of a string.
MAX_LENGTH = 10_000


def graph_to_tensors(data: Data) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Single values and tensors of a canonical graph.

    Node names (:obj:`node_id`) may be strings, numbers, and tuples of them.
    Other attributes are left out unless they are tensors, arrays of numbers,
    finite numbers or strings of up to 10,000 characters, under a name that
    :class:`~torch_geometric.data.Data` does not take for itself. Nodes of a
    graph without coordinates get names if they have none.
    """
    values: dict[str, Any] = {}
    tensors: dict[str, Tensor] = {}
    for key, value in data.to_dict().items():
        if isinstance(value, np.ndarray) and value.dtype.kind in 'biuf':
            value = copied(key, value)
        if not _is_free(key) or not fits(key, value, data):
            continue
        if isinstance(value, Tensor):
            if value.layout == torch.strided and value.dtype in DTYPES:
                tensors[key] = value.detach().cpu()
        elif _is_plain(value):
            values[key] = value
    if 'node_id' in data and 'node_id' not in tensors:
        names = [_as_json(name) for name in labels_of(data)]
        content = json.dumps(names, allow_nan=False).encode()
        tensors[NAMES] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    elif 'node_id' not in tensors and 'pos' not in tensors:
        # A number alone could claim any size.
        tensors['node_id'] = torch.arange(int(data.num_nodes))
    return values, tensors


def graph_from_tensors(
    values: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> Data:
    """The inverse of :func:`graph_to_tensors`; all is checked."""
    out = Data()
    for key, value in {**values, **tensors}.items():
        if key == NAMES:
            continue
        if not _is_free(key) or not (
            isinstance(value, Tensor) or _is_plain(value)
        ):
            raise BCMError(f'there is an unknown attribute {key!r:.80}')
        out[key] = value
    if NAMES in tensors:
        names = strict_json(tensors[NAMES].numpy().tobytes())
        if not isinstance(names, list):
            raise BCMError('the names of nodes are not a list')
        out.node_id = as_node_id([_from_json(name) for name in names])
    if 'pos' not in tensors and 'node_id' in out:
        out.num_nodes = len(out.node_id)
    out = planning_graph(out)
    check_extras(out)
    if 'node_id' in out:
        check_distinct(labels_of(out))
    return out


def _is_free(key: str) -> bool:
    """Whether an attribute may have this name."""
    if key in (NAMES, STAYS) or not key.isidentifier() or key.startswith('_'):
        return False
    return key in KNOWN or not hasattr(Data, key)


def _is_plain(value: Any) -> bool:
    """Whether JSON holds it, and it is short."""
    if isinstance(value, str):
        return len(value) <= MAX_LENGTH
    if isinstance(value, int):
        return abs(value) < 10**100
    return isinstance(value, float) and math.isfinite(value)


def _as_json(name: Any) -> Any:
    """A name of JSON types, if it has an equal one."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, tuple):
        return [_as_json(part) for part in name]
    if isinstance(name, Integral) and not isinstance(name, bool):
        if abs(int(name)) < 10**100:
            return int(name)
    elif isinstance(name, (float, np.floating)) and math.isfinite(name):
        return float(name)
    raise BCMError(
        f'a node is called {name!r:.80} ({type(name).__name__}): names that '
        'are saved must be strings, finite numbers or tuples of them'
    )


def _from_json(name: Any) -> Any:
    if isinstance(name, list):
        return tuple(_from_json(part) for part in name)
    if isinstance(name, bool) or not isinstance(name, (str, int, float)):
        raise BCMError(f'{name!r:.80} is not the name of a node')
    return name

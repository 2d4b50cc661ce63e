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
from bcm_pyg.io import strict_json

from .labels import as_node_id, check_distinct, labels_of
from .planning_graph import planning_graph

#: The tensor of names that are not all integers: JSON, byte by byte.
NAMES = 'names'
#: Attributes of the class that hold what a graph holds.
KNOWN = {'edge_index', 'edge_attr', 'edge_weight', 'pos', 'x', 'y', 'time'}


def graph_to_tensors(data: Data) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Single values and tensors of a canonical graph.

    Node names (:obj:`node_id`) may be strings, numbers, and tuples of them.
    Attributes that are not tensors, arrays of numbers, numbers or strings are
    left out. Nodes of a graph without coordinates get names if they have none.
    """
    values: dict[str, Any] = {}
    tensors: dict[str, Tensor] = {}
    for key, value in data.to_dict().items():
        if isinstance(value, np.ndarray) and value.dtype.kind in 'biuf':
            value = torch.from_numpy(value)
        if isinstance(value, Tensor) and value.layout == torch.strided:
            tensors[key] = value.detach().cpu()
        elif isinstance(value, (bool, int, float, str)) and key != 'num_nodes':
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
        is_plain = isinstance(value, (bool, int, float, str, Tensor))
        if not is_plain or not key.isidentifier() or key.startswith('_'):
            raise BCMError(f'there is an unknown attribute {key!r:.80}')
        if hasattr(Data, key) and key not in KNOWN:
            raise BCMError(f'the attribute name {key!r:.80} is reserved')
        out[key] = value
    if NAMES in tensors:
        names = strict_json(tensors[NAMES].numpy().tobytes())
        if not isinstance(names, list):
            raise BCMError('the names of nodes are not a list')
        out.node_id = as_node_id([_from_json(name) for name in names])
    if 'pos' not in tensors and 'node_id' in out:
        out.num_nodes = len(out.node_id)
    out = planning_graph(out)
    check_distinct(labels_of(out))
    return out


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

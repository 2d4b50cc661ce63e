"""Attributes of graphs that have an entry per node or per edge."""

from __future__ import annotations

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

#: Says by which axis PyG joins attributes; subclasses may say otherwise.
PLAIN = Data()


def num_entries(key: str, value: object, data: Data = PLAIN) -> int:
    """Entries along the axis by which PyG joins attributes; -1 if none."""
    if isinstance(value, (list, tuple)):
        return len(value)
    if not isinstance(value, (Tensor, np.ndarray)) or value.ndim == 0:
        return -1
    dim = data.__cat_dim__(key, value)
    return value.shape[dim] if isinstance(dim, int) else -1


def entries(data: Data, key: str, ids: Tensor) -> object:
    """Some entries of an attribute."""
    value = data[key]
    if isinstance(value, (list, tuple)):
        return [value[entry] for entry in ids.tolist()]
    dim = data.__cat_dim__(key, value)
    if isinstance(value, np.ndarray):
        return value.take(ids.cpu().numpy(), axis=dim)
    return value.index_select(dim, ids.to(value.device))

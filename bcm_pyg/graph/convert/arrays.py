from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from ..labels import as_node_id, check_distinct
from ..planning_graph import num_entries, planning_graph

#: What users hand in for an array.
Array = Any


def from_arrays(
    pos: Array,
    edge_index: Array,
    edge_cost: Array,
    *,
    node_id: Sequence[Any] | np.ndarray | Tensor | None = None,
    **extras: Any,
) -> Data:
    r"""A planning graph from arrays, lists or tensors, which are copied.

    Edges, costs and coordinates follow :func:`~bcm_pyg.planning_graph`.

    Args:
        pos (array): Coordinates, :obj:`[N, A]` with any :math:`A \geq 1`.
        edge_index (array): Tail and head of each directed edge, :obj:`[2, E]`.
        edge_cost (array): Cost of each edge, :obj:`[E]`.
        node_id (array, optional): Labels of the nodes, for
            :func:`~bcm_pyg.graph.labels_of`. (default: :obj:`None`)
        **extras (optional): Other attributes with one entry per node or per
            edge, such as :obj:`lonlat`. If there are as many nodes as edges,
            names of edge attributes must contain "edge". A string or a number
            belongs to the whole graph, and so do :obj:`bends`.
    """
    raw = Data()
    arrays = {'pos': pos, 'edge_index': edge_index, 'edge_cost': edge_cost}
    for name, value in arrays.items():
        raw[name] = copied(name, value)
        if not isinstance(raw[name], Tensor):
            raise BCMError(f'{name} must hold numbers (got {raw[name].dtype})')
    for name, value in extras.items():
        raw[name] = _extra(name, value, raw)
    if node_id is not None:
        raw.node_id = as_node_id(node_id)
        num, nodes = len(raw.node_id), len(raw.pos)
        if num != nodes:
            raise BCMError(f'node_id has {num} entries for {nodes} nodes')
        check_distinct(raw.node_id)
    return planning_graph(raw)


def _extra(name: str, value: Array, raw: Data) -> Any:
    if isinstance(value, (str, bool, int, float)):
        return value
    out = copied(name, value)
    nodes, edges = graph_sizes(raw.pos, raw.edge_index)
    if name == 'bends':  # has a check of its own
        return out
    if num_entries(name, out) not in (nodes, edges):
        raise BCMError(
            f'{name} must have one entry per node ({nodes}) or per edge '
            f'({edges}) (got shape {tuple(out.shape)})'
        )
    return out


def graph_sizes(
    pos: Tensor | np.ndarray, edge_index: Tensor | np.ndarray
) -> tuple[int, int]:
    """Numbers of nodes and edges, of arrays that are not checked yet."""
    nodes = pos.shape[0] if pos.ndim else 0
    return nodes, edge_index.shape[-1] if edge_index.ndim else 0


def copied(name: str, value: Array) -> Tensor | np.ndarray:
    """A new tensor, or an array if it does not hold numbers."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    try:
        out = np.array(value)
    except ValueError as error:  # rows of different lengths
        raise BCMError(f'{name} is not an array: {error}') from None
    if out.dtype.kind == 'f' and out.dtype.itemsize > 8:
        out = out.astype(np.float64)
    if out.dtype.kind == 'u' and out.dtype.itemsize > 1:
        if (most := out.max(initial=0)) >= 2**63:
            raise BCMError(f'{name} reaches {most}, beyond 64-bit integers')
        out = out.astype(np.int64)
    if out.dtype.kind not in 'biuf':
        return out
    return torch.from_numpy(out.astype(out.dtype.newbyteorder('=')))

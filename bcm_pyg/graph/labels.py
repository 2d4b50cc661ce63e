"""Labels: what nodes 0 to N - 1 are called in the source of a graph."""

from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.typing import Ids
from bcm_pyg.utils import as_ids

from ._validate import is_homogeneous


def nodes_from_labels(data: Data, labels: Hashable | Iterable[Hashable]) -> Any:
    """The nodes that have these labels.

    As in networkx, a value that is itself a label counts as one, even a tuple;
    other iterables hold labels.

    Args:
        data (torch_geometric.data.Data): The graph. Its :obj:`node_id` holds
            the labels; without it the label of a node is its number.
        labels (Hashable or Iterable): OSM ids, nodes of a networkx graph,
            names, ...

    Returns:
        An int for one label, a tensor :obj:`[B]` for several.
    """
    known = labels_of(data)
    check_distinct(known)
    node = {label: node for node, label in enumerate(known)}
    if getattr(labels, 'ndim', 1) == 0:  # of numpy or torch
        labels = cast(Tensor, labels).item()
    if isinstance(labels, Hashable) and not isinstance(labels, Tensor):
        try:
            return node[labels]
        except (KeyError, TypeError):  # a tuple may hold a list
            if isinstance(labels, (str, bytes)):
                raise BCMError(f'{labels!r:.80} is not a node') from None
    if not isinstance(labels, Iterable):
        raise BCMError(f'{labels!r:.80} is not a node')
    out = []
    for index, label in enumerate(_as_list(labels)):
        try:
            out.append(node[label])
        except (KeyError, TypeError):
            raise BCMError(
                f'labels[{index}] = {label!r:.80} is not a node'
            ) from None
    edges = data.edge_index
    device = None if edges is None else edges.device
    return torch.tensor(out, dtype=torch.long, device=device)


def labels_of(data: Data, nodes: Ids | None = None) -> Any:
    """The labels of nodes: a list, or a single label for a single node.

    Args:
        data (torch_geometric.data.Data): The graph. Its :obj:`node_id` holds
            the labels; without it the label of a node is its number.
        nodes (int, list, numpy.ndarray or torch.Tensor, optional): The nodes.
            (default: all nodes)
    """
    if not isinstance(data, Data):
        is_homogeneous(data)  # says what to pass instead
    labels = data.get('node_id')
    if labels is None:
        labels = range(int(data.num_nodes))
    elif not isinstance(labels, (list, tuple, Tensor, np.ndarray)) or (
        len(labels := _as_list(labels)) != data.num_nodes
    ):
        raise BCMError(
            'data.node_id must hold one label for each of '
            f'{data.num_nodes} nodes'
        )
    if nodes is None:
        return list(labels)
    found = [labels[node] for node in as_ids(nodes, len(labels)).tolist()]
    return found[0] if np.ndim(nodes) == 0 else found


def as_node_id(labels: Sequence[Any] | np.ndarray | Tensor) -> Any:
    """Labels in a form that PyG does not change: a tensor or an array."""
    if isinstance(labels, Tensor):
        return labels.detach().clone()
    labels = _as_list(labels)
    if all(
        isinstance(label, Integral)
        and not isinstance(label, bool)
        and -(2**63) <= int(label) < 2**63
        for label in labels
    ):
        return torch.tensor([int(label) for label in labels], dtype=torch.long)
    # In a list, Data.to would make lists of tuples.
    return np.fromiter(labels, dtype=object, count=len(labels))


def check_distinct(labels: Sequence[Any] | np.ndarray | Tensor) -> None:
    """Refuses labels that several nodes share."""
    first: dict[Any, int] = {}
    for node, label in enumerate(_as_list(labels)):
        try:
            is_known = first.setdefault(label, node) != node
        except TypeError as error:
            raise BCMError(f'node_id must hold labels: {error}') from None
        if is_known:
            raise BCMError(
                f'node_id has the same label for several nodes ({label!r:.80} '
                f'also belongs to node {node})'
            )


def _as_list(labels: Iterable[Any]) -> list[Any]:
    """Labels as a list. Several numbers in an array are one label, a tuple."""
    if not isinstance(labels, (Tensor, np.ndarray)):
        return list(labels)
    entries = labels.tolist() if labels.ndim else []
    return [tuple(x) if isinstance(x, list) else x for x in entries]

"""Labels: what nodes 0 to N - 1 are called in the source of a graph."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.typing import Ids
from bcm_pyg.utils import as_ids

from ._validate import is_homogeneous


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
        len(labels := as_list(labels)) != data.num_nodes
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
    labels = as_list(labels)
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
    for node, label in enumerate(as_list(labels)):
        try:
            is_known = first.setdefault(label, node) != node
        except TypeError as error:
            raise BCMError(f'node_id must hold labels: {error}') from None
        if is_known:
            raise BCMError(
                f'node_id has the same label for several nodes ({label!r:.80} '
                f'also belongs to node {node})'
            )


def as_list(labels: Iterable[Any]) -> list[Any]:
    """Labels as a list. Several numbers in an array are one label, a tuple."""
    if not isinstance(labels, (Tensor, np.ndarray)):
        return list(labels)
    entries = labels.tolist() if labels.ndim else []
    return [tuple(x) if isinstance(x, list) else x for x in entries]

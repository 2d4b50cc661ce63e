"""Between nodes 0 to N - 1 and the names that a graph's source gave them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.typing import Ids
from bcm_pyg.utils import as_ids

from ._routes import Routes, check_routes
from ._validate import is_homogeneous


def find_nodes(data: Data, ids: Iterable[Hashable]) -> Tensor:
    """Nodes by the names that the graph's source gave them, :obj:`[B]`.

    Args:
        data (torch_geometric.data.Data): The graph. Without :obj:`node_id`
            nodes are their own names.
        ids (Iterable): The names: OSM ids, labels of a networkx graph, ...
    """
    if (
        isinstance(ids, (str, bytes))
        or not isinstance(ids, Iterable)
        or getattr(ids, 'ndim', 1) == 0
    ):
        raise BCMError(
            f'ids must be a list of node ids (got {ids!r}): pass [{ids!r}]'
        )
    if isinstance(ids, (Tensor, np.ndarray)):
        ids = _rows(ids)
    names = _names(data)
    check_distinct(names)
    node = {name: place for place, name in enumerate(names)}
    out = []
    for place, name in enumerate(ids):
        try:
            out.append(node[name])
        except (KeyError, TypeError):
            raise BCMError(f'ids[{place}] = {name!r} is no node') from None
    return torch.tensor(out, dtype=torch.long, device=data.edge_index.device)


def source_ids(data: Data, nodes: Ids) -> list[Any]:
    """The names that the graph's source gave to nodes.

    Args:
        data (torch_geometric.data.Data): The graph. Without :obj:`node_id`
            nodes are their own names.
        nodes (int, list, numpy.ndarray or torch.Tensor): The nodes.
    """
    names = _names(data)
    return [names[node] for node in as_ids(nodes, len(names)).tolist()]


def source_routes(plan: Routes, data: Data) -> list[list[Any]]:
    """Routes as lists of the names that the graph's source gave to nodes.

    For a graph from networkx these are paths as networkx has them; a query
    without a route has an empty one.

    Args:
        plan (Plan): The routes.
        data (torch_geometric.data.Data): The graph that was planned on.
    """
    names = _names(data)
    check_routes(plan, data)
    return [
        [names[node] for node in plan.path(query)] for query in range(len(plan))
    ]


def as_node_id(labels: Sequence[Any] | np.ndarray | Tensor) -> Any:
    """Labels in a form that every step of PyG carries along unchanged.

    Integers become a tensor, all else an array of objects: in a list,
    :meth:`Data.to` would make lists of tuples.
    """
    if isinstance(labels, Tensor):
        return labels.detach().clone()
    if isinstance(labels, np.ndarray):
        labels = _rows(labels)
    if all(_is_int64(label) for label in labels):
        return torch.tensor([int(label) for label in labels], dtype=torch.long)
    return np.fromiter(labels, dtype=object, count=len(labels))


def check_distinct(names: Sequence[Any] | np.ndarray | Tensor) -> None:
    """Refuses names by which nodes could not be told apart."""
    if isinstance(names, (Tensor, np.ndarray)):
        names = _rows(names)
    seen: set[Any] = set()
    for place, name in enumerate(names):
        try:
            again = name in seen
            seen.add(name)
        except TypeError as error:
            raise BCMError(f'node_id must hold names: {error}') from None
        if again:
            raise BCMError(
                f'node_id has the same id for several nodes ({name!r} is that '
                f'of node {place} too)'
            )


def _is_int64(label: object) -> bool:
    return (
        isinstance(label, Integral)
        and not isinstance(label, bool)
        and -(2**63) <= int(label) < 2**63
    )


def _names(data: Data) -> Sequence[Any]:
    if not isinstance(data, Data):
        is_homogeneous(data)  # says what to pass instead
    names = data.get('node_id')
    if names is None:
        return range(int(data.num_nodes))
    if isinstance(names, (Tensor, np.ndarray)):
        names = _rows(names)
    if not isinstance(names, (list, tuple)) or len(names) != data.num_nodes:
        raise BCMError(
            f'data.node_id must hold one id for each of {data.num_nodes} nodes'
        )
    return names


def _rows(names: Tensor | np.ndarray) -> list[Any]:
    """Names as a list; a row of several numbers is one name, a tuple."""
    rows = names.tolist() if names.ndim else []
    return [tuple(row) if isinstance(row, list) else row for row in rows]

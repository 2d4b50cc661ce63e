"""Edges that are changed, by the names of their ends, and their new costs."""

import copy
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph.names import Names
from bcm_pyg.graph.planning_graph import owner_of, take
from bcm_pyg.utils import Adjacency, first_true


def edge_ids(
    pairs: Iterable[tuple[Any, Any]], data: Data, names: Names
) -> tuple[Tensor, Tensor]:
    """The edges between pairs of names, and the position of the pair of each.

    Self-loops are skipped, as planning graphs have none. If the source was
    undirected, an edge means both directions, unless the other one is named.
    """
    if not isinstance(pairs, Iterable):
        raise BCMError(
            'edges must be a list of pairs of names, tail and head (got '
            f'{pairs!r:.80})'
        )
    listed = list(pairs)
    for pair in listed:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise BCMError(
                f'an edge is a pair of names, tail and head (got {pair!r:.80})'
            )
    ends = [[names.node(pair[i]) for pair in listed] for i in (0, 1)]
    tail, head = torch.tensor(ends, dtype=torch.long)
    adjacency = Adjacency.from_data(data)
    edge = adjacency.edge_ids(tail, head)
    missing = (edge < 0) & (tail != head)
    if (bad := first_true(missing)) is not None:
        one, two = listed[bad]
        raise BCMError(f'there is no edge from {one!r} to {two!r}')
    position = (edge >= 0).nonzero().squeeze(1)
    edge = edge[position]
    if data.get('undirected') is True:
        back = adjacency.edge_ids(head[position], tail[position])
        more = (back >= 0) & ~torch.isin(back, edge)  # a view may lack some
        edge = torch.cat([edge, back[more]])
        position = torch.cat([position, position[more]])
    return edge, position


def without_edges(
    pairs: Iterable[tuple[Any, Any]], data: Data, names: Names
) -> Data:
    """The graph without some edges, and without what belongs to them."""
    is_open = torch.ones(int(data.num_edges), dtype=torch.bool)
    is_open[edge_ids(pairs, data, names)[0]] = False
    kept = is_open.nonzero().squeeze(1)
    sizes = int(data.num_nodes), int(data.num_edges)
    out = copy.copy(data)
    for key, value in data.to_dict().items():
        if owner_of(key, value, *sizes) == 'edge':
            out[key] = take(data, key, kept)
    return out


def with_costs(costs: Any, data: Data, names: Names) -> Data:
    """The graph with other costs of some edges, or of all."""
    data, num = copy.copy(data), int(data.num_edges)
    if isinstance(costs, Mapping):
        edge, position = edge_ids(costs, data, names)
        values = list(costs.values())
        given = [values[index] for index in position.tolist()]
        found = np.array([_number(value) for value in given])
    else:
        edge, found = torch.arange(num), _numbers(costs, num)
        given = found.tolist()
    with np.errstate(over='ignore'):
        single = found.astype(np.float32)
    bad = first_true(~(np.isfinite(single) & (found >= 0)))
    if bad is not None:
        ends = data.edge_index[:, int(edge[bad])].tolist()
        tail, head = (names.of[end] for end in ends)
        raise BCMError(
            'a cost must be a number, finite in float32 and not negative '
            f'(got {given[bad]!r:.80} from {tail!r} to {head!r})'
        )
    cost = data.edge_cost = data.edge_cost.clone()
    cost[edge] = torch.from_numpy(single).to(cost.device)
    return data


def _number(value: Any) -> float:
    """A number as a float, NaN for all else."""
    if isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0:
        value = value.item()
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        return float(value) if is_number else np.nan
    except OverflowError:  # of a huge int
        return np.inf


def _numbers(values: Any, num: int) -> np.ndarray:
    """A vector of so many numbers, float64."""
    got = type(values).__name__
    try:
        if isinstance(values, Tensor):
            values = values.detach().cpu()
            values = values.double() if values.is_floating_point() else values
        array = np.asarray(values)
        if array.dtype.kind in 'iuf' and array.shape == (num,):
            return array.astype(np.float64)
        if array.dtype.kind in 'biufc':
            got = f'shape {array.shape} of {array.dtype}'
    except (TypeError, ValueError, RuntimeError):  # no array can be made of it
        pass
    raise BCMError(
        'costs must be a dictionary, {(tail, head): cost}, or a vector of '
        f'{num} numbers, one for each edge (got {got})'
    )

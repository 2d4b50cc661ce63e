"""The graph contract: what a planning graph is, and how to get there."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.graph import _validate as check

#: Where a cost is looked for when none is named, in this order.
COST_NAMES = ('edge_cost', 'edge_weight', 'edge_attr')


def planning_graph(
    data: Data,
    cost: str | Tensor | None = None,
    pos: str | Tensor | None = None,
) -> Data:
    r"""Turns any PyG graph with coordinates into a canonical planning graph.

    The result holds :obj:`edge_index` (sorted by tail, then head),
    :obj:`edge_cost` (float32, finite, :math:`\geq 0`), :obj:`pos` (float32)
    and :obj:`num_nodes`; where coordinates are integers on a grid (up to a
    shift of each axis), also :obj:`coord`, the integer code of each node on
    each axis. Self-loops are dropped, of parallel edges the cheapest is kept
    (the first of several), isolated nodes stay. Further node and edge
    attributes come along: as everywhere in PyG, what has one entry per edge
    belongs to the edges, and where there are as many nodes as edges only if its
    name has "edge" in it. A float64 :obj:`pos` is centred before it becomes
    float32, and what to add to get it back is then :obj:`pos_origin`,
    :obj:`[1, A]`; a float32 one is taken as it is. The function is idempotent
    and leaves :obj:`data` untouched.

    Args:
        data (torch_geometric.data.Data): The graph. Edges are directed: an
            undirected graph holds both directions.
        cost (str or torch.Tensor, optional): The name of an edge attribute, the
            costs themselves, or :obj:`"length"` for straight-line length. By
            default :obj:`edge_cost`, else :obj:`edge_weight`, else
            :obj:`edge_attr` of shape :obj:`[E]` or :obj:`[E, 1]`. (default:
            :obj:`None`)
        pos (str or torch.Tensor, optional): The name of a node attribute with
            coordinates, or the coordinates. (default: :obj:`None`, that is
            :obj:`pos`)

    Raises:
        BCMError: If the graph cannot be planned on; the message names the
            attribute and the first offending node or edge.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from bcm_pyg import planning_graph
        >>> data = Data(
        ...     pos=torch.tensor([[0.0, 0.0], [3.0, 4.0]]),
        ...     edge_index=torch.tensor([[0, 1, 1], [1, 0, 1]]),
        ... )
        >>> planning_graph(data, cost='length').edge_cost  # without the loop
        tensor([5., 5.])
    """
    check.is_homogeneous(data)
    position = check.position(
        pos if isinstance(pos, str) else 'pos', _find_pos(data, pos)
    )
    num_nodes = position.size(0)
    check.num_nodes(data, num_nodes)
    edge_index = check.edge_index(data, num_nodes, position.device)
    name, values = _find_cost(data, cost, position, edge_index)
    edge_cost = check.edge_cost(name, values, edge_index)
    coord = check.coord(data, num_nodes, position.device)
    position, origin = _as_float32(position)
    if coord is None:
        coord = _integer_codes(position)

    keep = _cheapest_edges(edge_index, edge_cost, num_nodes)
    check.has_edges(keep)

    num_edges = edge_index.size(1)
    every = torch.arange(num_edges, device=keep.device)
    if not torch.equal(keep, every):
        edge_index, edge_cost = edge_index[:, keep], edge_cost[keep]
    # Else the very tensors: what is known of them is found again by them.

    # PyG takes the number of edges from the first attribute that may tell it.
    out = Data(edge_index=edge_index.contiguous(), num_nodes=num_nodes)
    reserved = {'num_nodes', 'num_edges', 'edge_index', 'edge_cost'}
    reserved |= {'pos', 'coord', 'pos_origin'}
    if cost is None:
        reserved.add(name)  # it lives on as edge_cost
    for key in data.keys():
        if key not in reserved:
            out[key] = _carried(data, key, num_nodes, num_edges, keep)
    out.edge_cost = edge_cost
    out.pos = position
    origin = _whole_origin(data, pos, origin, position.size(1))
    if origin is not None:
        out.pos_origin = origin
    if coord is not None:
        out.coord = coord
    return out


def _find_pos(data: Data, pos: str | Tensor | None) -> object:
    if pos is None:
        return check.attribute(
            data,
            'pos',
            'no coordinates found: set data.pos to a float tensor of shape '
            "[num_nodes, axes], or name another attribute with pos='...'",
        )
    if isinstance(pos, str):
        return check.attribute(
            data, pos, f'data has no attribute {pos!r} to take coordinates from'
        )
    return pos


def _find_cost(
    data: Data,
    cost: str | Tensor | None,
    position: Tensor,
    edge_index: Tensor,
) -> tuple[str, object]:
    if cost is None:
        for name in COST_NAMES:
            if data.get(name) is not None:
                return name, data[name]
        raise check.BCMError(
            f'no edge costs found: data has none of {COST_NAMES}. Name an '
            "attribute with cost='...', or pass cost='length' for "
            f'straight-line length{_candidates(data, edge_index)}'
        )
    if not isinstance(cost, str):
        return 'cost', cost
    if cost == 'length':
        if data.get('length') is not None:
            raise check.BCMError(
                "cost='length' means straight-line length, but data also has "
                'an attribute of that name: pass cost=data.length to use it, '
                'or remove it'
            )
        tail, head = position.double()[edge_index]
        return 'length', (head - tail).norm(dim=-1)
    value = check.attribute(
        data,
        cost,
        f'data has no attribute {cost!r} to take edge costs from'
        f'{_candidates(data, edge_index)}',
    )
    return cost, value


def _candidates(data: Data, edge_index: Tensor) -> str:
    """What might be meant, for an error message."""
    found = [
        key
        for key in data.keys()
        if isinstance(data[key], Tensor)
        and data[key].shape == (edge_index.size(1),)
        and not data[key].is_complex()
    ]
    return f' (one entry per edge have: {", ".join(found)})' if found else ''


def _cheapest_edges(
    edge_index: Tensor, edge_cost: Tensor, num_nodes: int
) -> Tensor:
    """Ids of the edges to keep, sorted by tail, then head."""
    tail, head = edge_index
    key = tail * num_nodes + head
    ids = torch.arange(key.numel(), device=key.device)
    ids = ids[tail != head]
    # Two stable sorts: by cost, then by key. The first of each run is cheapest.
    ids = ids[edge_cost[ids].sort(stable=True).indices]
    ids = ids[key[ids].sort(stable=True).indices]
    first = torch.ones_like(ids, dtype=torch.bool)
    first[1:] = key[ids[1:]] != key[ids[:-1]]
    return ids[first]


def _carried(
    data: Data, key: str, num_nodes: int, num_edges: int, keep: Tensor
) -> object:
    """An attribute as it is, or its kept entries if it has one per edge.

    The rule of :meth:`Data.is_edge_attr`, which infers the number of nodes on
    its own and may be wrong about it.
    """
    value = data[key]
    if isinstance(value, Tensor) and value.is_meta:
        raise check.BCMError(
            f'{key} has no values (its device is {value.device}), which cannot '
            'be moved to where the graph is'
        )
    if num_nodes == num_edges and 'edge' not in key:
        return value
    if isinstance(value, list) and len(value) == num_edges:
        return [value[edge] for edge in keep.tolist()]
    if not isinstance(value, (Tensor, np.ndarray)) or value.ndim == 0:
        return value
    dim = data.__cat_dim__(key, value)
    if not isinstance(dim, int) or value.shape[dim] != num_edges:
        return value
    if isinstance(value, np.ndarray):
        return value.take(keep.cpu().numpy(), axis=dim)
    return value.index_select(dim, keep.to(value.device))


def _integer_codes(position: Tensor) -> Tensor | None:
    """Codes from 0 on each axis where positions are integers on a grid.

    A shift of an axis does not matter: cell centres at .5 are a grid, and so
    are integers after centring, whose middle may be a half. Integers that are
    merely a unit (map coordinates in metres) are no grid: one table row per
    code would be almost all unused. So the box that the nodes span must not be
    much larger than their number, unless it is small anyway.
    """
    exact = position.double()
    codes = exact - exact.min(0).values
    if not bool((codes == codes.round()).all()):
        return None
    sizes = (codes.max(0).values + 1).tolist()
    if max(sizes) > 64 and math.prod(sizes) > 16 * position.size(0):
        return None
    return codes.long()


def _as_float32(position: Tensor) -> tuple[Tensor, Tensor | None]:
    """Coordinates, and where they begin if they were centred, [1, A].

    One row, so that nothing takes it for an attribute of nodes or edges.
    """
    if position.dtype == torch.float32:
        return position, None
    exact = position.double()
    low, high = exact.aminmax(dim=0, keepdim=True)
    middle = (low + high) / 2
    return (exact - middle).float(), middle


def _whole_origin(
    data: Data, pos: str | Tensor | None, origin: Tensor | None, num_axes: int
) -> Tensor | None:
    """Where coordinates begin that may have been centred before, too."""
    before = data.get('pos_origin')
    is_named = isinstance(pos, str)
    is_own = pos == 'pos' if is_named else pos is None or pos is data.get('pos')
    if before is None or not is_own:  # it tells nothing of other coordinates
        return origin
    if not isinstance(before, Tensor) or before.shape != (1, num_axes):
        raise check.BCMError(
            'pos_origin, what was taken off the coordinates, must have shape '
            f'[1, {num_axes}] (got {getattr(before, "shape", before)!s:.80}): '
            'remove it'
        )
    if origin is None:
        return before
    return before.to(origin.device) + origin

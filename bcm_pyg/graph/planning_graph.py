"""The graph contract: what a planning graph is, and how to make one."""

import hashlib
import math
from weakref import ref

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import _validate as check
from bcm_pyg.graph._bends import are_loose, moved

#: Attributes that may hold costs when none is named, in this order.
COST_NAMES = ('edge_cost', 'edge_weight', 'edge_attr')
#: Of tensors in use that are the edges of a canonical graph, all tensors of
#: that graph, each with how often it was changed in place.
_CANONICAL = WeakTensorKeyDictionary()
#: Says by which axis PyG joins attributes; subclasses may say otherwise.
PLAIN = Data()


def planning_graph(
    data: Data,
    cost: str | Tensor | np.ndarray | None = None,
    pos: str | Tensor | np.ndarray | None = None,
) -> Data:
    r"""Turns any PyG graph into a canonical planning graph.

    The result holds :obj:`edge_index` (sorted by tail, then head),
    :obj:`edge_cost` (float32, finite, :math:`\geq 0`), :obj:`pos` (float32)
    and :obj:`num_nodes`; where coordinates are integers on a grid (up to a
    shift of each axis), also :obj:`coord`, the integer code of each node on
    each axis. Self-loops and all but the cheapest of parallel edges are
    dropped. Isolated nodes and other attributes stay. As in PyG, an attribute
    with one entry per edge belongs to the edges; if there are as many nodes as
    edges, its name must contain "edge". A float64 :obj:`pos` is centred before
    it becomes float32; :obj:`pos_origin`, :obj:`[1, A]`, is what was
    subtracted. Coordinates may be missing; the encoders :obj:`"landmark"`,
    :obj:`"node_table"` and :obj:`"one_hot"` do not need them. The function is
    idempotent and does not change :obj:`data`.

    Edges may be drawn with bends: :obj:`bends`, :obj:`[1, P, A]`, are points in
    the units of :obj:`pos`, and :obj:`edge_bends`, :obj:`[E, 2]`, says where
    those of an edge, from tail to head and without either, begin and end in it
    (see :func:`~bcm_pyg.graph.route_points`).

    Args:
        data (torch_geometric.data.Data): The graph. Edges are directed: an
            undirected graph holds both directions.
        cost (str or array, optional): The name of an edge attribute, the costs
            themselves (a tensor, an array, a pandas column), or
            :obj:`"length"` for straight-line length. (default:
            :obj:`edge_cost`, else :obj:`edge_weight`, else :obj:`edge_attr` of
            shape :obj:`[E]` or :obj:`[E, 1]`)
        pos (str or array, optional): The name of a node attribute with
            coordinates, or the coordinates. (default: :obj:`pos`)

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
    position, device = None, None
    found = _find_pos(data, pos)
    if found is None:
        num_nodes = check.num_nodes_alone(data)
    else:
        name = pos if isinstance(pos, str) else 'pos'
        position = check.position(name, found)
        num_nodes, device = position.size(0), position.device
        check.num_nodes(data, num_nodes)
    edge_index = check.edge_index(data, num_nodes, device)
    name, values = _find_cost(data, cost, position, edge_index)
    edge_cost = check.edge_cost(name, values, edge_index)
    coord = check.coord(data, num_nodes, edge_index.device)
    bends = None
    exact, shift = position, None
    if position is not None:
        bends = check.bends(data, edge_index)
        if data.get('lonlat') is None:
            check.warn_of_degrees(position, edge_index, edge_cost)
        position, shift = _as_float32(position)
        if coord is None:
            coord = _integer_codes(position)

    keep = _cheapest_edges(edge_index, edge_cost, num_nodes)
    if keep.numel() == 0:
        raise BCMError('the graph has no edges (self-loops do not count)')
    num_edges = edge_index.size(1)
    # If all edges stay, so do the tensors: Adjacency is shared by them, and
    # a graph that is known to be canonical is not checked again.
    all_stay = torch.equal(keep, torch.arange(num_edges, device=keep.device))
    if not all_stay:
        edge_index, edge_cost = edge_index[:, keep], edge_cost[keep]

    # PyG infers the number of edges from the first attribute.
    out = Data(edge_index=edge_index.contiguous(), num_nodes=num_nodes)
    reserved = {'num_nodes', 'num_edges', 'edge_index', 'edge_cost'}
    reserved |= {'pos', 'coord', 'pos_origin', 'edge_bends', 'bends'}
    if cost is None:
        reserved.add(name)  # it lives on as edge_cost
    for key in data.keys():
        if key not in reserved:
            value = check.has_values(key, data[key])
            owner = owner_of(key, value, num_nodes, num_edges, data)
            takes = owner == 'edge' and not all_stay
            out[key] = take(data, key, keep) if takes else value
    out.edge_cost = edge_cost
    if position is not None:
        out.pos = position
        origin = _whole_origin(data, pos, shift, position.size(1))
        if origin is not None:
            out.pos_origin = origin
    if coord is not None:
        out.coord = coord
    if bends is not None:
        span, points = bends[0][keep], bends[1]
        is_own = _is_own(data, pos)
        if not is_own or shift is not None or are_loose(span, points):
            own = None if is_own else exact
            span, points = moved(data, span, points, edge_index, own, shift)
        out.edge_bends, out.bends = span, points.float()
    return out


def fingerprint(data: Data) -> str:
    """A digest of edges, costs and coordinates of a canonical graph."""
    digest = hashlib.sha256(f'{data.num_nodes} {data.num_edges}'.encode())
    for name in ('edge_index', 'edge_cost', 'pos', 'coord'):
        value = data.get(name)
        if value is not None:
            digest.update(f'{name} {tuple(value.shape)}'.encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def canonical(data: Data) -> Data:
    """The canonical form of a graph; no check where it is known to be that."""
    if torch.compiler.is_compiling():
        return data
    tensors = _tensors(data)
    if any(value.is_meta for value in tensors.values()):
        return data  # there are no values to check
    edges = tensors.get('edge_index')
    known = None if edges is None else _CANONICAL.get(edges)
    if known is not None and known.keys() == tensors.keys():
        now = ((known[key], value) for key, value in tensors.items())
        if all(at[0]() is x and at[1] == version_of(x) for at, x in now):
            return data
    out = planning_graph(data)
    after = _tensors(out)
    if after.keys() == tensors.keys() and all(
        after[key] is value for key, value in tensors.items()
    ):
        _CANONICAL[edges] = {
            k: (ref(x), version_of(x)) for k, x in after.items()
        }
    return out


def _tensors(data: Data) -> dict[str, Tensor]:
    items = data.to_dict().items() if isinstance(data, Data) else ()
    return {key: value for key, value in items if isinstance(value, Tensor)}


def version_of(value: Tensor) -> int:
    """How often a tensor was changed in place."""
    return 0 if value.is_inference() else value._version


def check_pos(data: Data, what: str) -> None:
    """Refuses a graph without coordinates, for what needs them."""
    if data.get('pos') is None:
        raise BCMError(
            f'no coordinates found, but {what} needs them: set data.pos to a '
            'float tensor of shape [num_nodes, axes], or name another '
            "attribute with planning_graph(data, pos='...')"
        )


def _find_pos(data: Data, pos: str | Tensor | np.ndarray | None) -> object:
    if pos is None:
        return data.get('pos')
    if isinstance(pos, str):
        return check.attribute(
            data, pos, f'data has no attribute {pos!r} to take coordinates from'
        )
    return pos


def _find_cost(
    data: Data,
    cost: str | Tensor | np.ndarray | None,
    position: Tensor | None,
    edge_index: Tensor,
) -> tuple[str, object]:
    if cost is None:
        for name in COST_NAMES:
            if data.get(name) is not None:
                return name, data[name]
        raise BCMError(
            f'no edge costs found: data has none of {COST_NAMES}. Name an '
            "attribute with cost='...', or pass cost='length' for "
            f'straight-line length{_candidates(data, edge_index)}'
        )
    if not isinstance(cost, str):
        if not isinstance(cost, Tensor) and not hasattr(cost, '__array__'):
            raise BCMError(
                "cost must be the name of an edge attribute, 'length', or the "
                'costs themselves in a tensor or an array (got '
                f'{type(cost).__name__})'
            )
        return 'cost', cost
    if cost == 'length':
        if data.get('length') is not None:
            raise BCMError(
                "cost='length' means straight-line length, but data also has "
                'an attribute of that name: pass cost=data.length to use it, '
                'or remove it'
            )
        if position is None:
            raise BCMError("cost='length' needs coordinates, but data has none")
        tail, head = position.double()[edge_index]
        return 'length', (head - tail).norm(dim=-1)
    message = f'data has no attribute {cost!r} to take edge costs from'
    message += _candidates(data, edge_index)
    return cost, check.attribute(data, cost, message)


def _candidates(data: Data, edge_index: Tensor) -> str:
    """Attributes that may be meant, for an error message."""
    found = [
        key
        for key, value in data
        if isinstance(value, Tensor)
        and value.shape == edge_index[0].shape
        and not value.is_complex()
    ]
    return f' (with one entry per edge: {", ".join(found)})' if found else ''


def _cheapest_edges(
    edge_index: Tensor, edge_cost: Tensor, num_nodes: int
) -> Tensor:
    """Ids of the edges to keep, sorted by tail, then head."""
    tail, head = edge_index
    key = tail * num_nodes + head
    ids: Tensor = (tail != head).nonzero().squeeze(1)
    # Two stable sorts: by cost, then by key. The first of each run is cheapest.
    ids = ids[edge_cost[ids].sort(stable=True).indices]
    ids = ids[key[ids].sort(stable=True).indices]
    first = torch.ones_like(ids, dtype=torch.bool)
    first[1:] = key[ids[1:]] != key[ids[:-1]]
    return ids[first]


def num_entries(key: str, value: object, data: Data = PLAIN) -> int:
    """Entries along the axis by which PyG joins an attribute; -1 if none."""
    if isinstance(value, (list, tuple)):
        return len(value)
    if not isinstance(value, (Tensor, np.ndarray)) or value.ndim == 0:
        return -1
    dim = data.__cat_dim__(key, value)
    return value.shape[dim] if isinstance(dim, int) else -1


def owner_of(
    key: str, value: object, num_nodes: int, num_edges: int, data: Data = PLAIN
) -> str:
    """Whether an attribute has an entry per 'node', per 'edge' or neither."""
    # As Data.is_edge_attr, which may infer a wrong number of nodes.
    size = num_entries(key, value, data)
    if size == num_edges and (num_nodes != num_edges or 'edge' in key):
        return 'edge'
    return 'node' if size == num_nodes else 'graph'


def take(data: Data, key: str, ids: Tensor) -> object:
    """Some entries of an attribute of nodes or edges."""
    value = data[key]
    if isinstance(value, (list, tuple)):
        return [value[entry] for entry in ids.tolist()]
    dim = data.__cat_dim__(key, value)
    if isinstance(value, np.ndarray):
        return value.take(ids.cpu().numpy(), axis=dim)
    ids = ids.to(value.device)
    if value.dim() == 1 and not value.is_sparse:
        return value[ids]  # index_select lacks some types there
    return value.index_select(dim, ids)


def _integer_codes(position: Tensor) -> Tensor | None:
    """Codes from 0 on each axis where positions are integers on a grid."""
    # Up to a shift: cell centres at .5 are a grid, and so are centred integers.
    exact = position.double()
    codes = exact - exact.min(0).values
    if not bool((codes == codes.round()).all()):
        return None
    # Whole metres on a map are not a grid: few codes of a large box are in use.
    sizes = (codes.max(0).values + 1).tolist()
    if max(sizes) > 64 and math.prod(sizes) > 16 * position.size(0):
        return None
    return codes.long()


def _as_float32(position: Tensor) -> tuple[Tensor, Tensor | None]:
    """Coordinates, and what was subtracted from them, if anything."""
    if position.dtype == torch.float32:
        return position, None
    exact = position.double()
    low, high = exact.aminmax(dim=0, keepdim=True)
    middle = (low + high) / 2  # [1, A], so no attribute of nodes or edges
    return (exact - middle).float(), middle


def _whole_origin(
    data: Data,
    pos: str | Tensor | np.ndarray | None,
    origin: Tensor | None,
    num_axes: int,
) -> Tensor | None:
    """All that was subtracted from coordinates, now and before."""
    before = data.get('pos_origin')
    if before is None or not _is_own(data, pos):  # it is of other coordinates
        return origin
    if not isinstance(before, Tensor) or before.shape != (1, num_axes):
        raise BCMError(
            'pos_origin, what was subtracted from pos, must have shape '
            f'[1, {num_axes}] (got {getattr(before, "shape", before)!s:.80}): '
            'remove it'
        )
    return before if origin is None else before.to(origin.device) + origin


def _is_own(data: Data, pos: object) -> bool:
    """Whether the coordinates asked for are :obj:`data.pos`."""
    if isinstance(pos, str):
        return pos == 'pos'
    return pos is None or pos is data.get('pos')

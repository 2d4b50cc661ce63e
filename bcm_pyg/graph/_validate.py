"""Every check of a graph that comes from outside, in one place."""

import warnings
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData

from bcm_pyg.errors import BCMError
from bcm_pyg.geo import EARTH_RADIUS
from bcm_pyg.utils import check_int, first_true

#: Codes on an axis: a larger table is a mistake, not a map.
MAX_CODE = 2**24


def is_homogeneous(data: object) -> None:
    """Refuses everything but one plain :obj:`Data` with an edge_index."""
    if isinstance(data, HeteroData):
        raise BCMError(
            'got a HeteroData: a map is learned for one plain graph; pass '
            'data.to_homogeneous() with pos and costs set'
        )
    if isinstance(data, Batch):
        raise BCMError(
            'got a Batch of graphs: a map belongs to one graph; pass one '
            'element, batch[i]'
        )
    if not isinstance(data, Data):
        got = f'(got {type(data).__name__})'
        modules = {kind.__module__ for kind in type(data).__mro__}
        if 'networkx.classes.graph' in modules:
            got += (
                ': turn it into one with bcm_pyg.graph.from_networkx(graph), '
                'or from_osmnx(graph) for streets'
            )
        if hasattr(data, 'full'):
            got += (
                ': of a simplified graph pass .data for the map, and .full for '
                'queries, routes and evaluate'
            )
        raise BCMError(f'expected a torch_geometric.data.Data {got}')
    if data.get('edge_index') is None:
        if data.get('adj_t') is not None:
            raise BCMError(
                'data has adj_t but no edge_index: pass edge_index with one '
                'column (tail, head) per directed edge'
            )
        raise BCMError('data has no edge_index: set a long tensor [2, E]')


def attribute(data: Data, name: str, message: str) -> object:
    """The attribute, or an error with this message."""
    value = data.get(name)
    if value is None:
        raise BCMError(message)
    return value


def has_values(name: str, value: object) -> object:
    """Any attribute, unless it is a tensor without values."""
    if isinstance(value, Tensor) and value.is_meta:
        raise BCMError(
            f'{name} has no values (its device is {value.device}), so it '
            'cannot be moved to the device of the graph'
        )
    return value


def position(name: str, value: object) -> Tensor:
    """Coordinates: real, finite, of shape [N, A] with N, A >= 1."""
    pos = _plain_tensor(name, value)
    if pos.is_meta:  # so is all that is on the same device
        raise BCMError(f'{name} must have data (got a tensor on {pos.device})')
    if pos.dim() != 2 or pos.size(0) == 0 or pos.size(1) == 0:
        raise BCMError(
            f'{name} must have shape [num_nodes, axes] with at least one node '
            f'and one axis (got {tuple(pos.shape)})'
        )
    bad = ~torch.isfinite(pos).all(dim=1)
    if (node := first_true(bad)) is not None:
        raise BCMError(
            f'{name} must be finite (node {node} is at {pos[node].tolist()})'
        )
    span = float(pos.double().abs().max())
    if span > torch.finfo(torch.float32).max / 4:
        raise BCMError(f'{name} is too large for float32 (up to {span:g})')
    return pos


def num_nodes_alone(data: Data) -> int:
    """The number of nodes of a graph without coordinates."""
    stated, features = data.get('num_nodes'), data.get('x')
    if stated is None and isinstance(features, Tensor) and features.dim() > 0:
        stated = features.size(0)
    if stated is None:
        raise BCMError(
            'no coordinates found: set data.pos to a float tensor of shape '
            "[num_nodes, axes], or name another attribute with pos='...'; for "
            "encoders that need none ('node_table', 'landmark'), set "
            'data.num_nodes'
        )
    check_int('num_nodes', stated, 1)
    return int(stated)


def num_nodes(data: Data, expected: int) -> None:
    """An explicit num_nodes must agree with the coordinates."""
    stated = data.get('num_nodes')
    if stated is None:
        return
    try:
        agrees = bool(stated == expected)
    except (TypeError, ValueError, RuntimeError):
        agrees = False
    if not agrees:
        raise BCMError(f'pos has {expected} nodes, but num_nodes is {stated!r}')


def edge_index(
    data: Data, num_nodes: int, device: torch.device | None
) -> Tensor:
    """Edges: integers in range, of shape [2, E]."""
    index = _plain_tensor('edge_index', data.edge_index, device, is_long=True)
    if index.dim() != 2 or index.size(0) != 2:
        turned = index.dim() == 2 and index.size(1) == 2
        raise BCMError(
            f'edge_index must have shape [2, E] (got {tuple(index.shape)})'
            + (': transpose it' if turned else '')
        )
    index = index.long()
    bad = ((index < 0) | (index >= num_nodes)).any(dim=0)
    if (edge := first_true(bad)) is not None:
        raise BCMError(
            f'edge_index: edge {edge} is {index[:, edge].tolist()}, but node '
            f'ids lie in [0, {num_nodes})'
            + ('' if device is None else f', as pos has {num_nodes} rows')
        )
    return index


def edge_cost(name: str, value: object, index: Tensor) -> Tensor:
    """Costs: finite, not negative, one per edge; returned as float32."""
    cost = _plain_tensor(name, value, index.device)
    if cost.dim() == 2 and cost.size(1) == 1:
        cost = cost.squeeze(1)
    if cost.dim() != 1:
        raise BCMError(
            f'{name} must have shape [E] or [E, 1] to serve as edge costs (got '
            f'{tuple(cost.shape)}); pass one column, as cost=data.{name}[:, 0]'
        )
    if (num := cost.numel()) != index.size(1):
        raise BCMError(f'{name} has {num} entries for {index.size(1)} edges')
    single = cost.float()
    bad = ~torch.isfinite(single) | (cost.double() < 0)  # before underflow
    if (edge := first_true(bad)) is not None:
        raise BCMError(
            f'{name} must be finite in float32 and not negative (edge {edge}, '
            f'{index[:, edge].tolist()}, costs {cost[edge].item()})'
        )
    return single


def coord(data: Data, num_nodes: int, device: torch.device) -> Tensor | None:
    """Integer codes per axis: not negative, of shape [N, A]; or none."""
    if data.get('coord') is None:
        return None
    codes = _plain_tensor('coord', data.coord, device, is_long=True).long()
    if codes.dim() != 2 or codes.size(0) != num_nodes or codes.size(1) == 0:
        got = tuple(codes.shape)
        raise BCMError(f'coord must have shape [{num_nodes}, axes] (got {got})')
    if int(codes.max()) >= MAX_CODE:
        raise BCMError(
            f'coord reaches {int(codes.max())}: a map stores every code up to '
            f'the largest, so codes must lie below {MAX_CODE}'
        )
    bad = (codes < 0).any(dim=1)
    if (node := first_true(bad)) is not None:
        raise BCMError(
            f'coord must not be negative (node {node}: {codes[node].tolist()})'
        )
    return codes


def bends(data: Data, index: Tensor) -> tuple[Tensor, Tensor] | None:
    """Where the bends of edges begin and end [E, 2], and all [1, P, A]."""
    if data.get('edge_bends') is None:
        return None
    device = index.device
    span = _plain_tensor('edge_bends', data.edge_bends, device, is_long=True)
    span = span.long()
    points = _plain_tensor('bends', data.get('bends'), device)
    wanted = (index.size(1), 2)
    if span.shape != wanted:
        raise BCMError(
            f'edge_bends must have shape {list(wanted)}, where the bends of '
            f'each edge begin and end (got {tuple(span.shape)})'
        )
    axes = _plain_tensor('pos', data.get('pos')).size(-1)
    if points.dim() != 3 or (points.size(0), points.size(2)) != (1, axes):
        raise BCMError(
            f'bends must have shape [1, P, {axes}], points as in pos (got '
            f'{tuple(points.shape)})'
        )
    bad = (span[:, 0] < 0) | (span[:, 0] > span[:, 1])
    bad |= span[:, 1] > points.size(1)
    if (edge := first_true(bad)) is not None:
        raise BCMError(
            f'edge_bends: edge {edge} has bends {span[edge].tolist()}, but '
            f'there are {points.size(1)}'
        )
    if not bool(torch.isfinite(points).all()):
        raise BCMError('bends must be finite')
    return span, points


def warn_of_scales(data: Data, stacklevel: int) -> None:
    """Warns of valid numbers of a canonical graph that dwarf its others."""
    pos, cost, found = data.get('pos'), data.edge_cost, []
    num, few = int(data.num_nodes), -(-int(data.num_nodes) // 100)
    if pos is not None and data.get('coord') is None and num > 2 * few:
        most = float(pos.abs().max())
        apart = most * torch.finfo(torch.float32).eps
        tail, head = pos[data.edge_index]
        typical = float((head - tail).abs().amax(1).median())
        if data.get('pos_origin') is None and 0 < typical < 500 * apart:
            found.append(
                f'pos is float32, where numbers near {most:g} are {apart:g} '
                f'apart, and edges span {typical:g}: pass float64, which is '
                'centred before it is rounded'
            )
        inner = pos.kthvalue(num - few, 0).values - pos.kthvalue(few + 1, 0)[0]
        away = (pos - pos.median(0).values).abs()
        ratio, node = (away / inner).nan_to_num(posinf=0).max(dim=0)
        axis = int(ratio.argmax())
        if float(ratio[axis]) > 100:
            at = pos[int(node[axis])].tolist()
            found.append(
                f'node {int(node[axis])} at {at} lies so far from all others '
                'that a map cannot resolve these: remove it, or check its '
                'coordinates'
            )
    typical, mean = float(cost.median()), float(cost.double().mean())
    if 0 < typical < 1e-4 * mean:
        edge = int(cost.argmax())
        found.append(
            f'edge {edge} costs {float(cost[edge]):g}, but the median is '
            f'{typical:g}: a map cannot resolve small costs next to it. '
            'Remove the edge if it should not be used'
        )
    for text in found:
        warnings.warn(text, stacklevel=stacklevel + 1)


def warn_of_degrees(pos: Tensor, edges: Tensor, cost: Tensor) -> None:
    """Warns of coordinates that are degrees by their costs: these are then the
    lengths of most edges on the globe, in metres or kilometres.
    """
    few = slice(None, None, max(1, edges.size(1) // 1000))
    if pos.size(1) != 2 or bool((pos.abs() > 180).any()):
        return
    tail, head = (pos[end[few]].double().cpu().numpy() for end in edges)
    for lon, lat in ((0, 1), (1, 0)):
        north = np.radians(head[:, lat] - tail[:, lat])
        east = np.radians(head[:, lon] - tail[:, lon])
        east = east * np.cos(np.radians(tail[:, lat]))
        metres = EARTH_RADIUS * np.hypot(north, east)
        known = metres > 1
        share = cost[few].double().cpu().numpy()[known] / metres[known]
        if share.size < 10:
            continue
        low, middle = np.quantile(share, (0.05, 0.5))
        if any(0.99 < low * n and middle * n < 1.5 for n in (1, 1000)):
            warnings.warn(
                'pos looks like degrees, since costs look like lengths on the '
                'globe: a degree of longitude is shorter than one of latitude, '
                'so set data.pos to bcm_pyg.geo.local_metres(lonlat), and '
                'data.lonlat to the degrees',
                stacklevel=1,  # shown once, however often a graph is checked
            )
            return


def _plain_tensor(
    name: str,
    value: object,
    device: torch.device | None = None,
    is_long: bool = False,
) -> Tensor:
    if not isinstance(value, Tensor) and hasattr(value, '__array__'):
        with suppress(TypeError, ValueError):  # numpy's or pandas' own
            value = torch.tensor(np.asarray(value), device=device)
    if not isinstance(value, Tensor):
        got = type(value).__name__
        raise BCMError(f'{name} must be a tensor or an array (got {got})')
    if value.layout != torch.strided:
        raise BCMError(f'{name} must be a dense tensor (got {value.layout})')
    if value.is_complex():
        raise BCMError(f'{name} must be real (got {value.dtype})')
    is_eight_bit = value.is_floating_point() and value.element_size() == 1
    if is_eight_bit or value.is_quantized:
        raise BCMError(f'{name} must hold plain numbers (got {value.dtype})')
    if device is not None and value.device != device:
        raise BCMError(
            f'{name} is on {value.device} but pos is on {device}: move data '
            'to one device'
        )
    if value.dtype == torch.bool or (is_long and value.is_floating_point()):
        wanted = 'be of type long' if is_long else 'hold numbers'
        raise BCMError(f'{name} must {wanted} (got {value.dtype})')
    return value.detach() if value.requires_grad else value

"""What the page holds of a graph and a map, in few bytes."""

import base64
import zlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import edge_lines
from bcm_pyg.nn import BCM, InteractionEncoder, Transition
from bcm_pyg.nn.quantize import dequantize, quantize
from bcm_pyg.nn.scoring import evaluating

from ._layout import Layout

Arrays = dict[str, np.ndarray]

#: Error of stored nodes in shares of their deviation: that of 8 bits.
ERROR = 0.01


class Pairs(NamedTuple):
    """The edges of a graph by pairs of nodes, the lower one first.

    Attributes:
        edge: :obj:`[P]` an edge of each pair, from the lower node if there is.
        arrays: How the page stores them.
    """

    edge: np.ndarray
    arrays: Arrays


def pairs_of(data: Data) -> Pairs:
    """The pairs of a canonical graph.

    :obj:`way` is 0 for equal costs there and back, 1 or 2 for an edge from the
    lower or to the lower node alone, 3 for two costs.
    """
    tail, head = data.edge_index.cpu().numpy()
    cost = data.edge_cost.cpu().numpy().astype(np.float32)
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    key = low * np.int64(data.num_nodes) + high
    order = np.lexsort((tail > head, key))
    first = np.ones(key.size, dtype=bool)
    first[1:] = np.diff(key[order]) != 0
    last = np.append(first[1:], True)
    edge, back = order[first], order[last]
    way = np.where(cost[edge] == cost[back], 0, 3)
    way[edge == back] = np.where(tail < head, 1, 2)[edge][edge == back]
    count = np.bincount(low[edge], minlength=int(data.num_nodes))
    arrays = {
        'pair_count': count,
        'pair_gap': high[edge] - low[edge],
        'pair_way': way,
        'pair_cost': cost[edge],
        'pair_cost_back': cost[back][way == 3],
    }
    return Pairs(edge, arrays)


def bend_arrays(data: Data, pairs: Pairs, layout: Layout) -> Arrays:
    """Bends of all pairs from their lower node on, in steps from there."""
    begin, points = edge_lines(data, pairs.edge)
    tail, head = data.edge_index.cpu().numpy()[:, pairs.edge]
    size = np.diff(begin)
    line = np.repeat(np.arange(size.size), size)
    at = np.arange(line.size) - begin[:-1][line]
    order = np.where(tail < head, 0, size - 1)[line]  # one-way to the lower
    point = begin[:-1][line] + np.abs(order - at)
    is_bend = (at > 0) & (at < size[line] - 1)
    low = np.minimum(tail, head)[line[is_bend]]
    x, y = layout.steps_of(points[point[is_bend]]).T
    return {
        'bend_count': size - 2,
        'bend_x': x - layout.x[low],
        'bend_y': y - layout.y[low],
    }


def map_arrays(model: BCM, data: Data) -> Arrays:
    """A map in whole numbers, most of 8 bits, and their scales.

    An interaction encoder of integer codes is stored as its tables. Of any
    other encoder the projected nodes are stored.
    """
    phi = model.transition
    if type(phi) is not Transition:
        raise BCMError(
            'an explorer knows maps whose transition encoder is a Transition '
            f'(got {type(phi).__name__})'
        )
    out: Arrays = {}
    with torch.no_grad(), evaluating(model):
        encoder = model.encoder
        if type(encoder) is InteractionEncoder and encoder.coincident is None:
            for axis, table in enumerate(encoder.tables):
                out |= _codes(f'table{axis}', table)
                out[f'axis{axis}'] = data.coord[:, axis].cpu().numpy()
            out |= _codes('weight1', phi.lin1.weight)
        else:
            out |= _directions(model.project_nodes(data))
        out |= _codes('weight2', phi.lin2.weight)
        out |= _codes('weight3', phi.lin3.weight)
    out['bias1'] = phi.lin1.bias.detach().cpu().float().numpy()
    out['bias2'] = phi.lin2.bias.detach().cpu().float().numpy()
    return out


def _directions(nodes: Tensor) -> Arrays:
    """Projected nodes along the directions in which they differ most.

    All are rounded to the same step, so that most directions need few bits.
    """
    nodes = _finite('projected nodes', nodes)
    mean = nodes.mean(dim=0)
    rest = (nodes - mean).double()
    # Of all directions [H, H], one in each column, the first matters most.
    out = _codes('basis', torch.linalg.eigh(rest.T @ rest)[1].flip(1))
    basis = values_of(out, 'basis').double()
    step = float(rest.std()) * ERROR * 12**0.5 or 1.0
    steps = torch.linalg.solve(basis.T @ basis, basis.T @ rest.T) / step
    out['hidden'] = steps.round().int().numpy()
    out['hidden_step'] = np.array([step], dtype=np.float32)
    out['hidden_mean'] = mean.numpy()
    return out


def _finite(name: str, value: Tensor) -> Tensor:
    value = value.detach().float().cpu()
    if not bool(value.isfinite().all()):
        raise BCMError(f'the weights of the map are not finite ({name})')
    return value


def _codes(name: str, value: Tensor) -> Arrays:
    codes, scale = quantize(_finite(name, value))
    return {name: codes.numpy(), f'{name}_scale': scale.float().numpy()}


def values_of(arrays: Arrays, name: str) -> Tensor:
    codes = torch.from_numpy(arrays[name])
    return dequantize(codes, torch.from_numpy(arrays[f'{name}_scale']))


# --- bytes --------------------------------------------------------------------


def packed(arrays: Mapping[str, np.ndarray]) -> tuple[list[list[object]], str]:
    """Names, types, lengths and rows of arrays, and all their bytes as text.

    Integers take as few bytes as they need. The bytes of numbers are sorted by
    their rank, which packs better, and then deflated.
    """
    listed: list[list[object]] = []
    parts = []
    for name, value in arrays.items():
        array = _smallest(np.ascontiguousarray(value).ravel())
        kind = f'{array.dtype.kind}{array.dtype.itemsize}'
        listed.append([name, kind, array.size, len(value)])
        rank = array.view(np.uint8).reshape(-1, array.dtype.itemsize)
        parts.append(rank.T.tobytes())
    return listed, deflated(b''.join(parts), zlib.Z_FILTERED)


def deflated(content: bytes, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> str:
    """Bytes packed and written as text."""
    pack = zlib.compressobj(strategy=strategy)
    return base64.b64encode(pack.compress(content) + pack.flush()).decode()


def _smallest(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == 'f':
        return array.astype('<f4')
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in ('u1', 'i1', '<u2', '<i2', '<u4', '<i4'):
        info = np.iinfo(kind)
        if info.min <= low and high <= info.max:
            return array.astype(kind)
    raise BCMError(f'the page cannot hold integers from {low} to {high}')

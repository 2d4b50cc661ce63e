"""What a planner keeps of a map, and how it reads it."""

import copy
import threading
from functools import cached_property
from typing import Self, TypeGuard

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import silu
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.kernels import NO_BOUNDS, TILE, Bounds, Map
from bcm_pyg.nn import BCM, Transition
from bcm_pyg.nn.scoring import (
    MAX_ROWS,
    block_values,
    evaluating,
    pair_scores,
    pair_values,
    with_terminal,
)
from bcm_pyg.utils import Adjacency

from .base import EdgeScores

#: Slopes of more bytes are not kept.
MAX_SLOPE_BYTES = 2**30
#: Of threads that ask for the same arrays, one makes them.
_LOCK = threading.Lock()


class MapScorer:
    r"""Scores by a map.

    It keeps a copy of the transition encoder and the projected nodes
    :obj:`[N, H]`; training the map further does not change it. For compiled
    readouts it also keeps slopes from the first query on, :math:`4 (H + 1)`
    bytes an edge (:math:`H` a multiple of 32), up to 1 GiB. Larger graphs do
    without, and a hop takes about ten times as long.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): The canonical graph, on its device.
        adjacency (Adjacency): Its edges.
    """

    def __init__(self, model: BCM, data: Data, adjacency: Adjacency) -> None:
        self.transition = copy.deepcopy(model.transition).eval()
        self.terminal = model.terminal
        self.cost_scale = model.cost_scale.clone()
        self.adjacency = adjacency
        self.hidden, self._rows = _with_array(_projected_nodes(model, data))
        for name, parameter in self.transition.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                raise BCMError(
                    f'the weights of the map are not finite ({name} of its '
                    'transition encoder)'
                )

    def on(self, adjacency: Adjacency) -> Self:
        """The same nodes with other edges."""
        out = copy.copy(self)
        out.adjacency = adjacency
        vars(out).pop('_map', None)
        return out

    @torch.no_grad()
    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """All edges of each node, scored for its goal."""
        edge, source = self.adjacency.out_edges(nodes)
        head = self.adjacency.dst[edge]
        score = self.hidden.new_empty(edge.numel())
        first = 0
        for part in self.adjacency.chunks(nodes, MAX_ROWS):
            end = int(torch.searchsorted(source, part.stop))
            here = slice(first, end)
            score[here] = pair_scores(
                self.transition,
                self.hidden.index_select(0, nodes[part]),
                self.hidden.index_select(0, head[here]),
                self.hidden.index_select(0, goals[part]),
                source[here] - part.start,
            )
            first = end
        cost = self.adjacency.cost[edge] / self.cost_scale
        at_goal = head == goals[source]
        score = with_terminal(score, at_goal, cost, self.terminal)
        return EdgeScores(edge, source, score)

    def values(self, nodes: Tensor, goals: Tensor) -> Tensor:
        """Value of each node for its goal, :obj:`[B]`, in the graph's units.

        Edges from which the goal cannot be reached do not count.
        """
        graph = self.adjacency
        ends = nodes, goals, graph.reachability
        return self._costs(pair_values(self, self.hidden, graph, *ends))

    def value_matrix(self, nodes: Tensor, goals: Tensor) -> Tensor:
        """Value of each node for each goal, :obj:`[S, G]`."""
        graph = self.adjacency
        ends = nodes, goals, graph.reachability.to_goals(goals)
        return self._costs(block_values(self, self.hidden, graph, *ends))

    def _costs(self, value: Tensor) -> Tensor:
        """Values in the graph's units, float32: squares that are rounded or
        overflow are still no negative number and no NaN.
        """
        none = float('inf')
        value = (value * self.cost_scale).float().clamp_(min=0)
        return value.nan_to_num_(nan=none, posinf=none)

    def for_kernels(self) -> tuple[Map, Bounds] | None:
        """What the kernels read; None for layers that they do not know."""
        if type(self.transition) is not Transition:
            return None
        with _LOCK:
            return self._map, NO_BOUNDS

    @cached_property
    @torch.no_grad()
    def _map(self) -> Map:
        phi = copy.deepcopy(self.transition)  # see _with_array
        slope, offset = self._slopes()
        last = phi.lin3.weight.double()
        return Map(
            hidden=_padded(self.hidden) if self._rows is None else self._rows,
            bias1=_padded(phi.lin1.bias),
            weight2=_tiles(_padded(phi.lin2.weight, both=True)),
            bias2=_padded(phi.lin2.bias),
            weight3=_tiles(_padded(phi.lin3.weight, both=True)),
            zeros=np.zeros(phi.lin3.out_features // -TILE * -TILE, 'f4'),
            gram=_gram_tiles(_padded(last.T @ last, both=True)),
            slope=_padded(slope),
            offset=offset.float().cpu().numpy(),
            scale=float(self.cost_scale),
            calibrated=self.terminal == 'calibrated',
        )

    def _slopes(self) -> tuple[Tensor, Tensor]:
        """Slope and offset of each edge, or none if they are too large."""
        width, num_edges = self.hidden.size(1), self.adjacency.num_edges
        padded = width + -width % TILE
        if 4 * num_edges * (padded + 1) > MAX_SLOPE_BYTES:
            num_edges = 0
        slope = self.hidden.new_empty(num_edges, width)
        offset = self.hidden.new_empty(num_edges)
        source = self.hidden - self.transition.lin1.bias
        last = self.transition.lin3.weight
        for first in range(0, num_edges, MAX_ROWS):
            part = slice(first, first + MAX_ROWS)
            hidden = self.hidden.index_select(0, self.adjacency.dst[part])
            hidden -= source.index_select(0, self.adjacency.src[part])
            u = silu(self.transition.lin2(silu(hidden))) @ last.T
            slope[part] = u @ (-2 * last)
            offset[part] = u.square().sum(-1)
        return slope, offset

    def cache_bytes(self) -> int:
        """Bytes of what is kept per node and, so far, per edge."""
        size = self.hidden.nbytes
        if '_map' in vars(self):
            size += self._map.slope.nbytes + self._map.offset.nbytes
            if self._map.hidden.shape[1] > self.hidden.size(1):  # a copy
                size += self._map.hidden.nbytes
        return size


def is_map(model: object) -> TypeGuard[BCM]:
    """Whether this is a map, whose scores a :class:`MapScorer` reads."""
    return isinstance(model, BCM)


def _padded(values: Tensor, both: bool = False) -> np.ndarray:
    """An array of float32, with zeros up to a whole number of tiles."""
    sides = [0, -values.size(-1) % TILE]
    if both:
        sides += [0, -values.size(0) % TILE]
    if any(sides):
        values = torch.nn.functional.pad(values, sides)
    return np.ascontiguousarray(values.detach().float().cpu().numpy())


def _tiles(weight: np.ndarray) -> np.ndarray:
    """The weights of a layer [out, in] as :class:`Map` has them."""
    tiles = weight.reshape(-1, TILE, weight.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles).reshape(len(tiles), -1)


def _gram_tiles(gram: np.ndarray) -> np.ndarray:
    """A symmetric matrix as :class:`Map` has it."""
    tiles = []
    for first in range(0, len(gram), TILE):
        tile = gram[: first + TILE, first : first + TILE].copy()
        tile[:first] *= 2
        tiles.append(tile.ravel())
    return np.concatenate(tiles)


def _with_array(hidden: Tensor) -> tuple[Tensor, np.ndarray | None]:
    """Projected nodes for torch, and for kernels if these can read them.

    A tensor that is sent to another process moves to shared memory, and its old
    memory is freed. So kernels must read memory of which no tensor that can be
    sent is the owner: the one returned here is not.
    """
    if hidden.is_cpu and hidden.dtype == torch.float32:
        rows = np.ascontiguousarray(hidden.detach().numpy())
        readable = rows if rows.shape[1] % TILE == 0 else None
        return torch.from_numpy(rows), readable
    return hidden, None


@torch.no_grad()
def _projected_nodes(model: BCM, data: Data) -> Tensor:
    """All projected nodes, if possible some at a time to save memory."""
    num_nodes = int(data.num_nodes)
    with evaluating(model):
        if not getattr(model.encoder, 'per_node', False):
            hidden = model.project_nodes(data)
        else:
            width = model.transition.hidden_channels
            hidden = model.transition.lin1.weight.new_empty(num_nodes, width)
            nodes = torch.arange(num_nodes, device=hidden.device)
            for part in nodes.split(MAX_ROWS):
                hidden[part] = model.project_nodes(data, part)
    for first in range(0, num_nodes, MAX_ROWS):
        bad = ~torch.isfinite(hidden[first : first + MAX_ROWS]).all(dim=1)
        if bool(bad.any()):
            raise BCMError(
                f'the map gives node {first + int(bad.nonzero()[0])} an '
                'embedding that is not finite: its weights are broken'
            )
    return hidden

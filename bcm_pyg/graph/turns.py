"""The edge-based graph: turns have costs, and some are forbidden."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency, first_true

from .geometry import edge_lines
from .labels import as_node_id, labels_of
from .names import nodes_from_labels
from .planning_graph import num_entries, planning_graph

#: A function of all angles and nodes, a cost per turn, or costs by labels.
TurnCost: TypeAlias = (
    Callable[[Tensor, Tensor, Tensor, Tensor], Any]
    | np.ndarray
    | Tensor
    | Mapping[tuple[Hashable, Hashable, Hashable], float]
)
#: Where on its edge a node of the turn graph lies: both directions differ.
SHARE = 0.75


class TurnQueries(NamedTuple):
    """Pairs of edges that a query between two nodes may begin and end with.

    Attributes:
        query: :obj:`[C]` the query, ascending.
        start: :obj:`[C]` the first edge, a node of the turn graph.
        goal: :obj:`[C]` the last edge.
        cost: :obj:`[C]` float64, what the first edge costs.
    """

    query: Tensor
    start: Tensor
    goal: Tensor
    cost: Tensor


@dataclass(frozen=True, eq=False)
class TurnGraph:
    """A graph whose nodes are the directed edges of another one.

    Being at a node means that its edge was travelled. A move costs the turn
    and the next edge.

    Attributes:
        data: The turn graph, a canonical planning graph. :obj:`node_id` holds
            pairs of labels, tail and head.
        full: The graph whose edges these are, a canonical planning graph.
    """

    data: Data
    full: Data

    def queries(self, starts: Tensor, goals: Tensor) -> TurnQueries:
        """All pairs of edges from each start and into each goal; none if both
        are the same.
        """
        there = Adjacency.from_data(self.full)
        first, owner = there.out_edges(starts)
        back = torch.argsort(there.dst, stable=True)
        count = torch.bincount(there.dst, minlength=there.num_nodes)
        begin = count.cumsum(0) - count
        count = torch.where(starts == goals, 0, count[goals])
        each = count[owner]
        nth = torch.arange(int(each.sum()), device=each.device)
        nth -= (each.cumsum(0) - each).repeat_interleave(each)
        query = owner.repeat_interleave(each)
        start = first.repeat_interleave(each)
        goal = back[begin[goals[query]] + nth]
        return TurnQueries(query, start, goal, there.cost[start].double())

    def to_nodes(self, routes: Tensor) -> Tensor:
        """Routes over edges, :obj:`[B, L]` padded with -1, as routes over nodes
        of :obj:`full`, :obj:`[B, L + 1]`.
        """
        tail, head = self.full.edge_index.to(routes.device)
        used = routes >= 0
        heads = torch.where(used, head[routes], -1)
        first = torch.where(used[:, :1], tail[routes[:, :1]], -1)
        return torch.cat([first, heads], dim=1)

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.data.num_nodes} edges, '
            f'{self.data.num_edges} turns)'
        )


def turn_graph(data: Data, turn_cost: TurnCost) -> TurnGraph:
    r"""The edge-based graph, on which turns have costs.

    Its nodes are the directed edges, its edges the turns
    :math:`u \to v \to w`, which cost what the turn and the edge
    :math:`v \to w` cost. A turn of infinite cost is forbidden.
    :func:`~bcm_pyg.planning.plan_turns` plans between nodes.

    Args:
        data (torch_geometric.data.Data): The graph.
        turn_cost (callable, array or dict): A function
            :obj:`turn_cost(angle, u, v, w)` of all :math:`T` turns at once,
            which returns :obj:`[T]`: the angle in radians (0 is straight on,
            positive to the left, :math:`\pm \pi` back) and the three nodes; or
            one cost for each turn, sorted by :math:`(u, v)`, then :math:`w`; or
            a dictionary from triples of labels to costs, 0 for all others.

    Example:
        >>> from math import inf, pi
        >>> from bcm_pyg.datasets import ToyStreets
        >>> from bcm_pyg.graph import turn_graph
        >>> def seconds(angle, u, v, w):
        ...     left, back = angle > pi / 4, angle.abs() > 3
        ...     return (5.0 * left).masked_fill(back, inf)
        >>> turns = turn_graph(ToyStreets()[0], seconds)
    """
    full = planning_graph(data)
    adjacency = Adjacency.from_data(full)
    after, before = adjacency.out_edges(adjacency.dst)  # turns: into, out of
    u, v, w = adjacency.src[before], adjacency.dst[before], adjacency.dst[after]
    if isinstance(turn_cost, Mapping):
        values: Any = _from_labels(turn_cost, full, before, after)
    elif callable(turn_cost):
        values = turn_cost(_angles(full, before, after), u, v, w)
    else:
        values = turn_cost
    cost = _checked(values, u, v, w)
    cost = cost + adjacency.cost[after].double()
    allowed = torch.isfinite(cost)
    labels = labels_of(full)
    names = [(labels[x], labels[y]) for x, y in full.edge_index.T.tolist()]
    raw = Data(
        pos=_between(full.pos.double(), full.edge_index),
        edge_index=torch.stack([before, after])[:, allowed],
        edge_cost=cost[allowed],
        node_id=as_node_id(names),
        num_nodes=adjacency.num_edges,
    )
    if num_entries('lonlat', full.get('lonlat')) == full.num_nodes:
        raw.lonlat = _between(full.lonlat.double(), full.edge_index)
    out = planning_graph(raw)
    if full.get('pos_origin') is not None:
        out.pos_origin = out.pos_origin + full.pos_origin
    return TurnGraph(out, full)


def _between(pos: Tensor, edge_index: Tensor) -> Tensor:
    tail, head = edge_index
    return (1 - SHARE) * pos[tail] + SHARE * pos[head]


def _angles(full: Data, before: Tensor, after: Tensor) -> Tensor:
    """By how much each turn deviates from straight on, with bends."""
    begin, points = edge_lines(full)
    if points.shape[1] < 2:
        points = np.pad(points, ((0, 0), (0, 1)))
    first = points[begin[:-1] + 1] - points[begin[:-1]]
    last = points[begin[1:] - 1] - points[begin[1:] - 2]
    x, y = first[after.cpu().numpy(), :2].T
    a, b = last[before.cpu().numpy(), :2].T
    angle = np.arctan2(a * y - b * x, a * x + b * y)
    return torch.from_numpy(angle).to(before.device)


def _from_labels(
    costs: Mapping[Any, float], full: Data, before: Tensor, after: Tensor
) -> Tensor:
    bad = [key for key in costs if not isinstance(key, tuple) or len(key) != 3]
    if bad:
        raise BCMError(
            f'turn_cost must have keys of three labels (got {bad[0]!r:.80})'
        )
    adjacency = Adjacency.from_data(full)
    nodes = nodes_from_labels(full, [label for key in costs for label in key])
    u, v, w = nodes.view(len(costs), 3).T
    first, second = adjacency.edge_ids(u, v), adjacency.edge_ids(v, w)
    if (missing := first_true((first < 0) | (second < 0))) is not None:
        turn_name = list(costs)[missing]
        raise BCMError(f'turn_cost: there is no turn {turn_name!r:.80}')
    size = adjacency.num_edges
    turn = before * size + after  # ascending, as turns are sorted
    found = torch.searchsorted(turn, first * size + second)
    out = torch.zeros_like(turn, dtype=torch.float64)
    out[found] = out.new_tensor([float(value) for value in costs.values()])
    return out


def _checked(values: Any, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
    """Costs of turns, float64: not negative; infinite ones are allowed."""
    try:
        cost = torch.as_tensor(values).detach().to(u.device, torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BCMError(f'turn_cost must hold numbers: {error}') from None
    if cost.shape != u.shape:
        raise BCMError(
            f'turn_cost must hold one cost for each of {u.numel()} turns (got '
            f'shape {tuple(cost.shape)})'
        )
    bad = ~(cost >= 0)
    if (turn := first_true(bad)) is not None:
        nodes = [int(x[turn]) for x in (u, v, w)]
        raise BCMError(
            'turn_cost must not be negative or NaN (the turn over nodes '
            f'{nodes} costs {float(cost[turn])})'
        )
    return cost

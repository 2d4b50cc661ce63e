r"""Scores, values and distances of a map, from their definition and fast.

A neighbour :math:`j` of node :math:`i` is scored for goal :math:`g` by

.. math::
    D_i(j; g) = \lVert z_{i \to j} - z_{i \to g} \rVert^2 , \qquad
    z_{i \to j} = \phi(o_j - o_i) ,

and the value of a node is :math:`V_i(g) = \min_{j \in \mathcal{N}(i)}
D_i(j; g)`. All are in units of the map's cost scale.
:func:`plain_scores` is the definition. The others start from projected nodes
:math:`h = W_1 o`: one pass of the transition encoder per pair :math:`(i, g)`
serves every neighbour of :math:`i`, and :math:`z_{i \to j}` serves every goal.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import silu

from bcm_pyg.utils import Adjacency, Reachability, scatter_amin

from .transition import Transition

#: Pairs that go through the transition encoder at a time: 2**15 rows of 256
#: floats are 32 MB a layer.
MAX_ROWS = 2**15
#: Edges of one source that are multiplied together.
MAX_WIDTH = 32
silu_backward = torch.ops.aten.silu_backward
#: Two threads must not take each other's mode for the one to go back to.
_LOCK = threading.RLock()


class MapHead(Protocol):
    """What turns projected nodes into scores: a map, or a copy of a part."""

    transition: Transition
    terminal: str
    cost_scale: Tensor


def plain_scores(
    phi: Callable[[Tensor], Tensor], o: Tensor, i: Tensor, j: Tensor, g: Tensor
) -> Tensor:
    """Scores of nodes :obj:`i`, :obj:`j`, :obj:`g`, by the definition."""
    return (phi(o[j] - o[i]) - phi(o[g] - o[i])).square().sum(dim=-1)


def block_scores(
    transition: Transition,
    nodes: Tensor,
    heads: Tensor,
    goals: Tensor,
    source: Tensor,
) -> Tensor:
    r"""Raw scores of all edges of some nodes for all of some goals.

    Args:
        transition (Transition): The transition encoder.
        nodes (torch.Tensor): The projected nodes to leave, :obj:`[S, H]`.
        heads (torch.Tensor): The projected heads of edges, :obj:`[M, H]`.
        goals (torch.Tensor): The projected goals, :obj:`[G, H]`.
        source (torch.Tensor): Which node each edge leaves, ascending,
            :obj:`[M]`.

    Returns:
        The scores, :obj:`[M, G]`. Memory is that of a few times
        :math:`S (G + 32) + M` rows.
    """
    # The bias goes in on the short side.
    nodes = nodes - transition.lin1.bias
    is_plain = type(transition).from_hidden is Transition.from_hidden
    if is_plain and not torch.compiler.is_compiling() and not nodes.is_meta:
        layers = transition.lin2, transition.lin3
        weights = [x for layer in layers for x in (layer.weight, layer.bias)]
        out: Tensor = _BlockScores.apply(nodes, heads, goals, *weights, source)
        return out
    z_edge = transition.from_hidden(heads - nodes.index_select(0, source))
    z_pair = transition.from_hidden(goals[None] - nodes[:, None])
    return (z_edge[:, None] - z_pair[source]).square().sum(dim=-1)


def pair_scores(
    transition: Transition,
    nodes: Tensor,
    heads: Tensor,
    goals: Tensor,
    source: Tensor,
) -> Tensor:
    """Raw scores :obj:`[M]` of all edges of each node for its own goal.

    Args:
        transition (Transition): The transition encoder.
        nodes (torch.Tensor): The projected nodes to leave, :obj:`[B, H]`.
        heads (torch.Tensor): The projected heads of edges, :obj:`[M, H]`.
        goals (torch.Tensor): The projected goal of each node, :obj:`[B, H]`.
        source (torch.Tensor): Which node each edge leaves, :obj:`[M]`.
    """
    nodes = nodes - transition.lin1.bias
    z_edge = transition.from_hidden(heads - nodes.index_select(0, source))
    z_goal = transition.from_hidden(goals - nodes)
    return (z_edge - z_goal.index_select(0, source)).square().sum(-1)


def with_terminal(
    scores: Tensor, at_goal: Tensor, cost: Tensor, terminal: str
) -> Tensor:
    """Scores as the readout and the bootstrap see them.

    An edge into the goal scores 0 for :obj:`"paper"`, and its cost for
    :obj:`"calibrated"`.
    """
    last = cost if terminal == 'calibrated' else torch.zeros_like(cost)
    return torch.where(at_goal, last.expand_as(scores), scores)


@torch.no_grad()
def block_values(
    model: MapHead,
    hidden: Tensor,
    adjacency: Adjacency,
    nodes: Tensor,
    goals: Tensor,
    reach: Tensor | None = None,
) -> Tensor:
    """The value of each of some nodes for each of some goals, :obj:`[S, G]`.

    In units of the map's cost scale; 0 at the goal, infinite where no edge
    leaves. One pass per pair of node and goal, in chunks of nodes.

    Args:
        model (MapHead): The map, or its head.
        hidden (torch.Tensor): All projected nodes, :obj:`[N, H]`.
        adjacency (Adjacency): The graph.
        nodes (torch.Tensor): The nodes, :obj:`[S]`.
        goals (torch.Tensor): The goals, :obj:`[G]`.
        reach (torch.Tensor, optional): Which nodes can reach each goal, bool
            :obj:`[N, G]`; edges to others do not count. (default: all)
    """
    value = hidden.new_empty(nodes.numel(), goals.numel())
    cost = adjacency.cost / model.cost_scale
    max_edges = max(1, MAX_ROWS // max(1, goals.numel()))
    for part in adjacency.chunks(nodes, max_edges):
        node = nodes[part]
        edge, source = adjacency.out_edges(node)
        head = adjacency.dst[edge]
        scores = block_scores(
            model.transition, hidden[node], hidden[head], hidden[goals], source
        )
        scores = with_terminal(
            scores, head[:, None] == goals, cost[edge, None], model.terminal
        )
        if reach is not None:
            scores = scores.masked_fill(~reach[head], float('inf'))
        value[part] = scatter_amin(scores, source, 0, node.numel())
    return value.masked_fill(nodes[:, None] == goals, 0)


@torch.no_grad()
def pair_values(
    model: MapHead,
    hidden: Tensor,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
    reachability: Reachability | None = None,
) -> Tensor:
    """The value of each start for its goal, :obj:`[B]`, in chunks.

    With the reachability, edges from which no route leads to the goal do not
    count.
    """
    value = hidden.new_empty(starts.numel())
    cost = adjacency.cost / model.cost_scale
    for part in adjacency.chunks(starts, MAX_ROWS):
        node, goal = starts[part], goals[part]
        edge, source = adjacency.out_edges(node)
        head = adjacency.dst[edge]
        scores = pair_scores(
            model.transition, hidden[node], hidden[head], hidden[goal], source
        )
        scores = with_terminal(
            scores, head == goal[source], cost[edge], model.terminal
        )
        if reachability is not None:
            dead = ~reachability.pairs(head, goal[source])
            scores = scores.masked_fill(dead, float('inf'))
        value[part] = scatter_amin(scores, source, 0, node.numel())
    return value.masked_fill(starts == goals, 0)


class _BlockScores(torch.autograd.Function):
    r"""From projected nodes to scores, with a gradient made by hand.

    Edges and pairs of a source and a goal go through the layers in one product,
    which is faster than two. Scores are :math:`\lVert z_e \rVert^2 + \lVert
    z_{s, g} \rVert^2 - 2 z_e^\top z_{s, g}`. Autograd would take half a dozen
    passes over :obj:`[M + S * G]` rows more, there and back.
    """

    @staticmethod
    def forward(
        ctx: Any,
        nodes: Tensor,
        heads: Tensor,
        goals: Tensor,
        weight2: Tensor,
        bias2: Tensor,
        weight3: Tensor,
        bias3: Tensor,
        source: Tensor,
    ) -> Tensor:
        edges, size = heads.size(0), (nodes.size(0), goals.size(0))
        x = nodes.new_empty(edges + size[0] * size[1], nodes.size(1))
        torch.sub(heads, nodes.index_select(0, source), out=x[:edges])
        torch.sub(goals, nodes[:, None], out=x[edges:].view(*size, x.size(1)))
        a = silu(x)
        y = torch.addmm(bias2, a, weight2.T)
        b = silu(y)
        z = b @ weight3.T  # the last bias cancels
        groups = _Groups(source, size[0])
        square = torch.linalg.vecdot(z, z)
        out = square[edges:].view(size).index_select(0, source)
        out += square[:edges, None]
        padded = groups.pad(z[:edges])
        pair = groups.spread(z[edges:].view(*size, z.size(1)))
        product = torch.bmm(padded, pair.transpose(1, 2))
        out.sub_(groups.unpad(product), alpha=2)
        ctx.save_for_backward(x, a, y, b, z, padded, weight2, weight3, source)
        ctx.groups = groups
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, a, y, b, z, padded, weight2, weight3, source = ctx.saved_tensors
        groups: _Groups = ctx.groups
        edges, size = source.numel(), (groups.num_sources, grad.size(1))
        weight = z.new_zeros(size).index_add_(0, source, grad)
        weight = torch.cat([grad.sum(1), weight.flatten()])
        down = z * weight.mul_(2)[:, None]
        grad = groups.pad(grad)
        by_edge = torch.bmm(
            grad, groups.spread(z[edges:].view(*size, z.size(1)))
        )
        down[:edges].sub_(groups.unpad(by_edge), alpha=2)
        groups.add_product(
            down[edges:].view(*size, z.size(1)),
            grad.transpose(1, 2),
            padded,
            -2,
        )
        grad3 = down.T @ b, z.new_zeros(z.size(1))
        down = silu_backward(down @ weight3, y)
        grad2 = down.T @ a, down.sum(0)
        down = silu_backward(down @ weight2, x)
        pair = down[edges:].view(*size, x.size(1))
        by_node = pair.sum(1).index_add_(0, source, down[:edges]).neg_()
        return by_node, down[:edges], pair.sum(0), *grad2, *grad3, None


class _Groups:
    """Edges of each source, padded to equal number for batched products.

    A source of many edges counts as several, so that a hub pads nobody else.
    """

    def __init__(self, source: Tensor, num_sources: int) -> None:
        self.num_sources = num_sources
        degree = torch.bincount(source, minlength=num_sources)
        rank = torch.arange(source.numel(), device=source.device)
        rank -= (degree.cumsum(0) - degree)[source]  # among its source's edges
        self.width = int(degree.max()) if num_sources else 0
        self.count = num_sources
        self.owner: Tensor | None = None
        group = source
        if self.width > MAX_WIDTH:
            self.width = MAX_WIDTH
            parts = degree.div(MAX_WIDTH, rounding_mode='trunc') + 1
            owner = torch.arange(num_sources, device=source.device)
            self.owner = owner.repeat_interleave(parts)
            self.count = self.owner.numel()
            group = (parts.cumsum(0) - parts)[source] + rank // MAX_WIDTH
            rank %= MAX_WIDTH
        self.slot = group * self.width + rank

    def pad(self, x: Tensor) -> Tensor:
        """Edges by group, zeros between, :obj:`[Q, width, *]`."""
        out = x.new_zeros(self.count * self.width, x.size(1))
        out.index_copy_(0, self.slot, x)
        return out.view(self.count, self.width, x.size(1))

    def unpad(self, x: Tensor) -> Tensor:
        """The inverse of :meth:`pad`."""
        return x.flatten(0, 1).index_select(0, self.slot)

    def spread(self, x: Tensor) -> Tensor:
        """What belongs to sources, by group, :obj:`[Q, *]`."""
        return x if self.owner is None else x.index_select(0, self.owner)

    def add_product(
        self, out: Tensor, a: Tensor, b: Tensor, alpha: float
    ) -> None:
        """Adds the products of all groups of a source to what it has."""
        if self.owner is None:
            out.baddbmm_(a, b, alpha=alpha)
        else:
            out.index_add_(0, self.owner, torch.bmm(a, b), alpha=alpha)


@contextmanager
def evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode, then every part as it was; one thread at a time."""
    with _LOCK:
        before = {part: part.training for part in module.modules()}
        module.eval()
        try:
            yield
        finally:
            for part, training in before.items():
                part.training = training

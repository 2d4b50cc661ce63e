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

from bcm_pyg.kernels import load_kernels
from bcm_pyg.utils import Adjacency, Reachability, scatter_amin

from .transition import Transition

#: Pairs that go through the transition encoder at a time: 2**15 rows of 256
#: floats are 32 MB a layer.
MAX_ROWS = 2**15
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
        goals (torch.Tensor): The projected goals, :obj:`[G, H]`, or those of
            each node, :obj:`[S, G, H]`.
        source (torch.Tensor): Which node each edge leaves, ascending,
            :obj:`[M]`.

    Returns:
        The scores, :obj:`[M, G]`. Memory is that of a few times
        :math:`S G + M` rows.
    """
    # The bias goes in on the short side.
    nodes = nodes - transition.lin1.bias
    edges = heads - nodes.index_select(0, source)
    pairs = (goals - nodes[:, None]).flatten(0, 1)
    z = transition.from_hidden(torch.cat([edges, pairs]))
    kernels = None if torch.compiler.is_compiling() else kernels_for(z)
    if kernels is None:
        return _edge_distances(z, source, goals.size(-2))
    out: Tensor = _EdgeDistances.apply(z, source, goals.size(-2), kernels)
    return out


def kernels_for(x: Tensor) -> Any:
    """The compiled kernels, if they can take such a tensor."""
    is_plain = x.device.type == 'cpu' and x.dtype == torch.float32
    return load_kernels() if is_plain else None


def _edge_distances(z: Tensor, source: Tensor, num_goals: int) -> Tensor:
    """Squared distances of edges and the pairs of their source, [M, G]."""
    edges, pairs = z.tensor_split([source.numel()])
    pairs = pairs.view(-1, num_goals, z.size(1))
    return (edges[:, None] - pairs[source]).square().sum(dim=-1)


class _EdgeDistances(torch.autograd.Function):
    """The same, compiled."""

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, source: Tensor, num_goals: int, kernels: Any
    ) -> Tensor:
        z = z.contiguous()
        ctx.save_for_backward(z, source)
        ctx.kernels = kernels
        arrays = z.detach().numpy(), source.numpy()
        return torch.from_numpy(kernels.edge_distances(*arrays, num_goals))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        arrays = [x.numpy() for x in (*ctx.saved_tensors, grad.contiguous())]
        back = ctx.kernels.edge_distances_back(*arrays)
        return torch.from_numpy(back), None, None, None


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

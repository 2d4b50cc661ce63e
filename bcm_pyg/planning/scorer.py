"""What a readout reads: scores of the edges that leave a node."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM
from bcm_pyg.nn.modes import evaluating
from bcm_pyg.nn.scoring import pair_scores, with_terminal
from bcm_pyg.nn.values import MAX_ROWS, block_values
from bcm_pyg.utils import Adjacency, Reachability, scatter_amin

from .edge_cache import EdgeCache
from .ranking import MapRanking

#: An edge cache of more bytes is only built where it is asked for.
MAX_CACHE_BYTES = 2**30


class Candidates(NamedTuple):
    """The ways on from a batch of nodes.

    Attributes:
        edge: :obj:`[M]` ids of all edges that leave the nodes.
        row: :obj:`[M]` the position in the batch that each leaves, ascending.
        score: :obj:`[M]` how costly it looks to go to the goal that way.
    """

    edge: Tensor
    row: Tensor
    score: Tensor


class Scorer(Protocol):
    """Scores every way on from nodes :obj:`[B]` to goals :obj:`[B]`."""

    def __call__(self, nodes: Tensor, goals: Tensor) -> Candidates:
        """All candidates of each node, scored for its goal."""
        ...


class MapScorer:
    """Scores by a map, with what does not depend on the goal kept.

    The scorer keeps a copy of the transition encoder and the hidden rows
    :obj:`[N, H]`; training the map further does not change it. With an edge
    cache it also keeps, once a node was visited, what its edges contribute to
    scores: about five times fewer operations for scores and ten times fewer for
    the choice of a neighbour, which is the same but for rounding.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): The canonical graph, on its device.
        adjacency (Adjacency): Its edges.
        reachability (Reachability, optional): Its reachability, if known.
        cache (bool, optional): Whether to use an edge cache,
            :math:`4 (H + 1)` bytes an edge. By default it is used if all of it
            takes at most 1 GiB: one million edges at :math:`H = 256`.
            (default: :obj:`None`)
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        adjacency: Adjacency,
        reachability: Reachability | None = None,
        cache: bool | None = None,
    ) -> None:
        self.transition = copy.deepcopy(model.transition)
        self.terminal = model.terminal
        self.cost_scale = model.cost_scale.clone()
        self.adjacency = adjacency
        self.reachability = reachability or Reachability(adjacency)
        self.hidden = _hidden_rows(model, data)
        for name, parameter in self.transition.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                raise BCMError(
                    f'the weights of the map are not finite ({name} of its '
                    'transition encoder)'
                )
        self._cost = adjacency.cost / self.cost_scale
        self.cache = self._resolve(cache)

    def _resolve(self, cache: bool | None) -> bool:
        if cache is not None and not isinstance(cache, bool):
            raise BCMError(f'cache must be True, False or None (got {cache!r})')
        is_exact = EdgeCache.is_exact_for(self.transition)
        if cache and not is_exact:
            raise BCMError(
                'cache=True needs a transition encoder that ends in its linear '
                f'layer; {type(self.transition).__name__} has a rest() of its '
                'own'
            )
        if cache is None:
            size = EdgeCache.full_bytes(self.adjacency, self.hidden)
            cache = is_exact and size <= MAX_CACHE_BYTES
        return cache

    @cached_property
    def edge_cache(self) -> EdgeCache | None:
        """What is known of the edges, made when it is first needed."""
        if not self.cache:
            return None
        return EdgeCache(self.transition, self.hidden, self.adjacency)

    @cached_property
    def ranking(self) -> MapRanking | None:
        """The fast way to the best neighbours, with an edge cache."""
        if self.edge_cache is None:
            return None
        scale = float(self.cost_scale)
        return MapRanking(self.edge_cache, scale, self.terminal)

    @torch.no_grad()
    def __call__(self, nodes: Tensor, goals: Tensor) -> Candidates:
        """All candidates of each node, scored for its goal."""
        edge, row = self.adjacency.out_edges(nodes)
        score = self.hidden.new_empty(edge.numel())
        first = 0
        for part in self.adjacency.chunks(nodes, MAX_ROWS):
            degree = int(
                (
                    self.adjacency.rowptr[nodes[part] + 1]
                    - self.adjacency.rowptr[nodes[part]]
                ).sum()
            )
            here = slice(first, first + degree)
            first += degree
            score[here] = self._score(
                nodes[part], goals[part], edge[here], row[here] - part.start
            )
        return Candidates(edge, row, score)

    def _score(
        self, node: Tensor, goal: Tensor, edge: Tensor, row: Tensor
    ) -> Tensor:
        head = self.adjacency.dst[edge]
        if self.edge_cache is not None:
            score = self.edge_cache.scores(node, goal, edge, row)
        else:
            score = pair_scores(
                self.transition,
                self.hidden.index_select(0, node),
                self.hidden.index_select(0, head),
                self.hidden.index_select(0, goal),
                row,
            )
        return with_terminal(
            score,
            head == goal[row],
            self._cost[edge],
            self.terminal,
        )

    def values(self, nodes: Tensor, goals: Tensor) -> Tensor:
        """Value of each node for its goal, :obj:`[B]`, in the graph's units.

        Ways from which the goal cannot be reached do not count.
        """
        value = self.hidden.new_empty(nodes.numel())
        for part in self.adjacency.chunks(nodes, MAX_ROWS):
            node, goal = nodes[part], goals[part]
            edge, row, score = self(node, goal)
            head = self.adjacency.dst[edge]
            dead = ~self.reachability.pairs(head, goal[row])
            score = score.masked_fill(dead, float('inf'))
            value[part] = scatter_amin(score, row, 0, node.numel())
        return value.masked_fill(nodes == goals, 0) * self.cost_scale

    def value_matrix(self, nodes: Tensor, goals: Tensor) -> Tensor:
        """Value of each node for each goal, :obj:`[S, G]`."""
        reach = self.reachability.to_goals(goals)
        value = block_values(
            self, self.hidden, self.adjacency, nodes, goals, reach
        )
        return value * self.cost_scale

    def cache_bytes(self) -> int:
        """Bytes of what is kept per node and, so far, per edge."""
        edges = vars(self).get('edge_cache')
        size = self.hidden.numel() * self.hidden.element_size()
        return size if edges is None else size + edges.num_bytes()


@torch.no_grad()
def _hidden_rows(model: BCM, data: Data) -> Tensor:
    """Hidden rows of all nodes, some at a time where that can be.

    Wide embeddings of all nodes at once would take as much memory again.
    """
    num_nodes = int(data.num_nodes)
    with evaluating(model):
        if not getattr(model.encoder, 'per_node', False):
            hidden = model.hidden(data)
        else:
            width = model.transition.hidden_channels
            hidden = model.transition.lin1.weight.new_empty(num_nodes, width)
            nodes = torch.arange(num_nodes, device=hidden.device)
            for part in nodes.split(MAX_ROWS):
                hidden[part] = model.hidden(data, part)
    for first in range(0, num_nodes, MAX_ROWS):
        bad = ~torch.isfinite(hidden[first : first + MAX_ROWS]).all(dim=1)
        if bool(bad.any()):
            raise BCMError(
                f'the map gives node {first + int(bad.nonzero()[0])} an '
                'embedding that is not finite: its weights are broken'
            )
    return hidden

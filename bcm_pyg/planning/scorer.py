"""What a readout reads: scores of the edges that leave a node."""

from __future__ import annotations

import copy
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM
from bcm_pyg.nn.modes import evaluating
from bcm_pyg.nn.scoring import pair_scores, with_terminal
from bcm_pyg.nn.values import MAX_ROWS, block_values, pair_values
from bcm_pyg.utils import Adjacency, Reachability


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
    """Scores by a map, with what does not depend on the goal kept per node.

    The scorer keeps a copy of the transition encoder and the hidden rows
    :obj:`[N, H]`; training the map further does not change it.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): The canonical graph, on its device.
        adjacency (Adjacency): Its edges.
        reachability (Reachability, optional): Its reachability, if known.
    """

    def __init__(
        self,
        model: BCM,
        data: Data,
        adjacency: Adjacency,
        reachability: Reachability | None = None,
    ) -> None:
        self.transition = copy.deepcopy(model.transition)
        self.terminal = model.terminal
        self.cost_scale = model.cost_scale.clone()
        self.adjacency = adjacency
        self.reachability = reachability or Reachability(adjacency)
        with torch.no_grad(), evaluating(model):
            self.hidden = model.hidden(data)
        finite = torch.isfinite(self.hidden).all(dim=1)
        if not bool(finite.all()):
            node = int((~finite).nonzero()[0])
            raise BCMError(
                f'the map gives node {node} an embedding that is not finite: '
                'its weights are broken'
            )
        for name, parameter in self.transition.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                raise BCMError(
                    f'the weights of the map are not finite ({name} of its '
                    'transition encoder)'
                )
        self._cost = adjacency.cost / self.cost_scale

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
        score = pair_scores(
            self.transition,
            self.hidden[node],
            self.hidden[head],
            self.hidden[goal],
            row,
        )
        return with_terminal(
            score,
            head == goal[row],
            self._cost[edge],
            self.terminal,
        )

    def values(self, nodes: Tensor, goals: Tensor) -> Tensor:
        """Value of each node for its goal, :obj:`[B]`, in the graph's units."""
        value = pair_values(
            self,
            self.hidden,
            self.adjacency,
            nodes,
            goals,
            self.reachability,
        )
        return value * self.cost_scale

    def value_matrix(self, nodes: Tensor, goals: Tensor) -> Tensor:
        """Value of each node for each goal, :obj:`[S, G]`."""
        reach = self.reachability.to_goals(goals)
        value = block_values(
            self, self.hidden, self.adjacency, nodes, goals, reach
        )
        return value * self.cost_scale

    def cache_bytes(self) -> int:
        """Bytes of what is kept per node."""
        return self.hidden.numel() * self.hidden.element_size()

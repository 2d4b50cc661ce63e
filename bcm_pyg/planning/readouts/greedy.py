from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bcm_pyg.utils import Adjacency

from .._walk import walk
from ..base import Scorer
from ..plan import Plan


@dataclass(frozen=True)
class Greedy:
    r"""The readout without memory,

    .. math::
        j^* = \arg\min_{j \in \mathcal{N}(i)} D_i(j; g) .

    It may go in circles and then fails. Costs one pass per hop.
    """

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        return walk(scorer, adjacency, starts, goals, prefer_unvisited=False)


@dataclass(frozen=True)
class VisitedGreedy:
    r"""The readout of the paper: unvisited neighbours first,

    .. math::
        j^* = \arg\min_{j \in \mathcal{C}_i} D_i(j; g), \qquad \mathcal{C}_i =
        \begin{cases} \mathcal{N}(i) \setminus \mathcal{V} & \text{if not
        empty,} \\ \mathcal{N}(i) & \text{otherwise,} \end{cases}

    where :math:`\mathcal{V}` are the nodes of the walk so far. It escapes most
    circles but guarantees nothing. Costs one pass per hop.
    """

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        return walk(scorer, adjacency, starts, goals, prefer_unvisited=True)

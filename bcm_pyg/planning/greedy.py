from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bcm_pyg.utils import Adjacency

from .plan import Plan
from .rollout import greedy_rollout
from .scorer import Scorer


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
        return greedy_rollout(
            scorer, adjacency, starts, goals, prefer_unvisited=False
        )

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from bcm_pyg.utils import Adjacency

from .plan import Plan
from .scorer import Scorer


class Readout(Protocol):
    """Turns local scores into routes.

    A readout is a small frozen dataclass whose fields are its settings. It sees
    the graph and a scorer, never a network, and gets valid, connected queries
    on one device, at least one. Some routes may be missing: the planner can
    find them (see :class:`~bcm_pyg.Planner`).
    """

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        ...


def cost_scale(scorer: Scorer) -> float:
    """The cost that a score of 1 stands for.

    A scorer says so by an attribute :obj:`cost_scale`; if it has none, its
    scores are in the graph's units.
    """
    return float(getattr(scorer, 'cost_scale', 1.0))

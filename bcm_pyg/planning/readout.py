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
    on one device.
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

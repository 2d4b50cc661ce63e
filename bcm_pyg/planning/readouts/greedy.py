from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from bcm_pyg.kernels import Array, Found
from bcm_pyg.utils import Adjacency

from .._engine import EngineReadout, compiled_map
from .._walk import walk
from ..base import Scorer
from ..plan import Plan


class _Walk(EngineReadout):
    """Compiled for maps on the CPU, else in torch, where the scorer is."""

    prefer_unvisited: ClassVar[bool]

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        if adjacency.device.type == 'cpu' and compiled_map(scorer) is not None:
            return super().__call__(scorer, adjacency, starts, goals)
        return walk(scorer, adjacency, starts, goals, self.prefer_unvisited)

    def _answer(self, engine: Any, starts: Array, goals: Array) -> Found:
        found: Found = engine.walk(starts, goals, self.prefer_unvisited)
        return found


@dataclass(frozen=True)
class Greedy(_Walk):
    r"""The readout without memory,

    .. math::
        j^* = \arg\min_{j \in \mathcal{N}(i)} D_i(j; g) .

    It fails if it runs into a circle. Costs one pass per hop.
    """

    prefer_unvisited = False


@dataclass(frozen=True)
class VisitedGreedy(_Walk):
    r"""The readout of the paper: unvisited neighbours first,

    .. math::
        j^* = \arg\min_{j \in \mathcal{C}_i} D_i(j; g), \qquad \mathcal{C}_i =
        \begin{cases} \mathcal{N}(i) \setminus \mathcal{V} & \text{if not
        empty,} \\ \mathcal{N}(i) & \text{otherwise,} \end{cases}

    where :math:`\mathcal{V}` are the nodes of the walk so far. It escapes most
    circles but guarantees nothing. Costs one pass per hop.
    """

    prefer_unvisited = True

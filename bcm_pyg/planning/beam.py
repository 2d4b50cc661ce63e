from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bcm_pyg.utils import Adjacency, check_int

from .plan import Plan
from .restricted import restricted_search
from .routes import joined
from .scorer import Scorer
from .search import search


@dataclass(frozen=True)
class Beam:
    r"""Some walks at a time: at each step the :math:`k` most promising nodes.

    Of all neighbours of the nodes of a step, those with the lowest
    :math:`c(i) + D_i(j; g)` make the next one, where :math:`c(i)` is the cost
    of the way found to :math:`i`; the others are forgotten. The result is the
    best route through the nodes of all steps.

    *Guarantees* nothing by itself, but no node has its turn twice; a beam that
    runs out of new nodes fails, and the planner falls back on
    :class:`~bcm_pyg.planning.BestFirst`.

    *Costs* :math:`k` passes per hop, all in one batch.

    *Use it* where steps are dear and width is cheap, such as single queries on
    a GPU, or to bound the work per hop.

    Args:
        width (int, optional): Nodes of a step, :math:`k`. (default: :obj:`4`)
    """

    width: int = 4

    def __post_init__(self) -> None:
        check_int('width', self.width, 1)

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        parts = []
        for part in search(scorer, adjacency, starts, goals, width=self.width):
            start, goal = starts[part.query], goals[part.query]
            plan = restricted_search(adjacency, part.pairs, start, goal)
            parts.append((part.query, plan))
        return joined(parts)

from dataclasses import dataclass

from bcm_pyg.kernels import Array, Found
from bcm_pyg.utils import check_int

from .._engine import Engine, EngineReadout


@dataclass(frozen=True)
class Lookahead(EngineReadout):
    r"""A walk that looks a few hops ahead before it trusts the map.

    Each step leads to the node :math:`j` at :math:`d` hops with the lowest

    .. math::
        c_{i j_1} + c_{j_1 j_2} + \dots + c_{j_{d-1} j} + \min_k D_j(k; g) ,

    or to the goal if it is nearer, by its first hop; then it looks again. Nodes
    of the walk are not entered again.

    *Guarantees* routes without loops. It may end in a dead end that is longer
    than :math:`d`; the planner then falls back on
    :class:`~bcm_pyg.planning.BestFirst`.

    *Costs* a pass for each node that was ever :math:`d` hops away: on a grid
    about :math:`2 d + 1` per hop.

    *Use it* where a walk is wanted, with maps whose distances are better than
    their choices. :class:`~bcm_pyg.planning.BestFirst` does more with fewer
    passes.

    Args:
        depth (int, optional): How many true edge costs to sum, :math:`d`.
            (default: :obj:`2`)
    """

    depth: int = 2

    def __post_init__(self) -> None:
        check_int('depth', self.depth, 1)

    def _answer(self, engine: Engine, starts: Array, goals: Array) -> Found:
        return engine.lookahead(starts, goals, self.depth)

from dataclasses import dataclass

from bcm_pyg.kernels import Array, Found

from .._engine import Engine, EngineReadout


@dataclass(frozen=True)
class Backtracking(EngineReadout):
    r"""A walk that learns which nodes to avoid (real-time A*,
    `"Real-time heuristic search"
    <https://doi.org/10.1016/0004-3702(90)90054-4>`_).

    At each node it goes where

    .. math::
        v(j) = c_{ij} + \begin{cases} h(j) & \text{if the walk has been at }
        j, \\ \max(0, D_i(j; g) - c_{ij}) & \text{otherwise,} \end{cases}

    is lowest, and keeps the second lowest value as :math:`h(i)`: the least cost
    to come back and take another way. Among equal values new nodes come first.

    *Guarantees* a route wherever there is one. Real-time A* arrives where every
    node can reach the goal and costs are positive. After :math:`4 N` moves, or
    at a dead end, the walk continues depth first: it tries every node once
    more, the best-scored first, and retraces its steps. It ends after
    :math:`6 N` moves.

    The route is the walk without its loops; :obj:`Plan.walked_cost` is the cost
    of the whole walk, where a retreat costs the edge that it goes back.

    *Costs* one pass per move.

    *Use it* for agents that see only their neighbours, where
    :class:`~bcm_pyg.planning.VisitedGreedy` gets lost, as on roads.
    """

    def _answer(self, engine: Engine, starts: Array, goals: Array) -> Found:
        return engine.backtrack(starts, goals)

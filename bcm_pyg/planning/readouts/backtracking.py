from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bcm_pyg.kernels import Found

from .._engine import Engine, EngineReadout


@dataclass(frozen=True)
class Backtracking(EngineReadout):
    r"""A walk that learns on its way where not to go again (real-time A*,
    `"Real-time heuristic search"
    <https://doi.org/10.1016/0004-3702(90)90054-4>`_).

    At each node it goes where

    .. math::
        v(j) = c_{ij} + \begin{cases} h(j) & \text{if the walk has been at }
        j, \\ \max(0, D_i(j; g) - c_{ij}) & \text{otherwise,} \end{cases}

    is lowest, and keeps the second lowest value as :math:`h(i)`: what it will
    cost at least to come back and go on another way. Of equal values a node
    that is new comes first.

    *Guarantees* a route wherever there is one. Real-time A* arrives where every
    node can reach the goal and costs are positive. For all else, a walk of more
    than :math:`4 N` moves, or one that sees no way on, goes on depth first: it
    tries every node once more, the best-scored first, and retreats along its
    own trail. So it ends after :math:`6 N` moves.

    The route is the walk with its loops cut out; what was walked is
    :obj:`Plan.walked_cost`, a retreat counted as the edge that it goes back.

    *Costs* one pass per move.

    *Use it* where a walk is wanted and
    :class:`~bcm_pyg.planning.VisitedGreedy` gets lost, as on roads: an agent
    that sees its neighbours alone can follow it.
    """

    def _answer(
        self, engine: Engine, starts: np.ndarray, goals: np.ndarray
    ) -> Found:
        return engine.backtrack(starts, goals)

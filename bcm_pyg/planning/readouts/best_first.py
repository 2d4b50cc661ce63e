"""Best-first search by the scores of a map, whole or in a narrow beam."""

from dataclasses import dataclass

from bcm_pyg.kernels import Array, Found
from bcm_pyg.utils import check_float, check_int

from .._engine import Engine, EngineReadout


@dataclass(frozen=True)
class BestFirst(EngineReadout):
    r"""A* on the distances of the map: the most promising node first,

    .. math::
        f(j) = c(i) + c_{ij} + w \max(0, D_i(j; g) - c_{ij}) ,

    and in the end the best route through the nodes that were expanded.

    *Guarantees* a route wherever there is one, with any map. No node is
    expanded twice. With a consistent map (along an edge its distances fall by
    no more than the cost, and they are 0 at the goal) the route is the best one
    at :math:`w \le 1`. For a proof give the planner an :obj:`epsilon`.

    *Costs* one pass per expanded node: with a good map little more than the
    nodes of the route, with a useless one all that the start can reach.

    *Use it* where walks get lost (roads, mazes, a map in training). Below
    :math:`w = 1` it expands more and comes closer to the best route.

    Args:
        weight (float, optional): How far to trust the map, :math:`w`. 0 is
            search without a map. (default: :obj:`1.0`)
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_float('weight', self.weight)

    def _answer(self, engine: Engine, starts: Array, goals: Array) -> Found:
        found = engine.expand(starts, goals, self.weight)
        return engine.inside(starts, goals, found.nodes, found.span[:, None], 0)


@dataclass(frozen=True)
class Beam(EngineReadout):
    r"""Some walks at a time: at each step the :math:`k` most promising nodes.

    Of all neighbours of the nodes of a step, those with the lowest
    :math:`c(i) + D_i(j; g)` make the next one, where :math:`c(i)` is the cost
    of the way found to :math:`i`; the others are forgotten. The result is the
    best route through the nodes of all steps.

    *Guarantees* no route, but expands no node twice. A beam that runs out of
    new nodes fails, and the planner falls back on
    :class:`~bcm_pyg.planning.BestFirst`.

    *Costs* :math:`k` passes per hop. *Use it* to bound the work per hop.

    Args:
        width (int, optional): Nodes of a step, :math:`k`. (default: :obj:`4`)
    """

    width: int = 4

    def __post_init__(self) -> None:
        check_int('width', self.width, 1)

    def _answer(self, engine: Engine, starts: Array, goals: Array) -> Found:
        found = engine.expand(starts, goals, 1.0, self.width)
        return engine.inside(starts, goals, found.nodes, found.span[:, None], 0)

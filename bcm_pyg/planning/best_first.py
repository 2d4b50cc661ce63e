from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bcm_pyg.utils import Adjacency, check_float

from .plan import Plan
from .restricted import restricted_search
from .routes import joined
from .scorer import Scorer
from .search import search


@dataclass(frozen=True)
class BestFirst:
    r"""A* on the distances of the map: the most promising node first,

    .. math::
        f(j) = c(i) + c_{ij} + w \max(0, D_i(j; g) - c_{ij}) ,

    and in the end the best route through the nodes that were expanded.

    *Guarantees* a route wherever there is one, on any graph and with any map.
    No node is expanded twice. With a map that is consistent (along an edge its
    distances fall by no more than the cost) the route is the best one at
    :math:`w \le 1` if 64 nodes are enough to find it; larger searches expand
    some nodes at once, and may miss it by a little. For a proof give the
    planner an :obj:`epsilon`.

    *Costs* one pass per expanded node. With a good map that is little more than
    the nodes of the route, with a useless one every node the start can reach.

    *Use it* where walks get lost (roads, mazes, a map in training), and as the
    fallback of any other readout. Below :math:`w = 1` it expands more and comes
    closer to the best route, above less.

    Args:
        weight (float, optional): How far to trust the map, :math:`w`. 0 is
            search without a map. (default: :obj:`1.0`)
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_float('weight', self.weight)

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        parts = search(scorer, adjacency, starts, goals, weight=self.weight)
        return joined(
            [
                (
                    part.query,
                    restricted_search(
                        adjacency,
                        part.pairs,
                        starts[part.query],
                        goals[part.query],
                    ),
                )
                for part in parts
            ]
        )

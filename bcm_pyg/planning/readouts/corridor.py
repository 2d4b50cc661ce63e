from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.kernels import Array, Found
from bcm_pyg.utils import Adjacency, check_int

from .._engine import Engine, in_parts
from ..base import Readout, Scorer
from ..plan import Plan
from .best_first import BestFirst


@dataclass(frozen=True)
class Corridor:
    r"""Exact search in a narrow corridor that the map has drawn.

    A readout, the guide, goes from the start to the goal and back. The best
    route through the nodes that it found is widened by :math:`r` hops to either
    side, and so is the best route through all of these nodes, until it stays as
    it is, 16 times at most. Good maps take few turns, and hardly more nodes
    than the first.

    The two directions err at different places, so each finds most of what the
    other misses. The way back helps less with one-way streets. A search for it
    ends after twice the nodes of the way there; other guides leave it out where
    there is none.

    *Guarantees* a route wherever there is one, and that no better one goes
    through the nodes of the guide and those within :math:`r` hops of the route
    alone, unless all turns were taken.

    *Costs* the guide, twice. The other nodes of the corridor need no pass.

    *Use it* as the default: most routes are optimal, at a tenth of the nodes
    that exact search settles. :obj:`guide=Backtracking()` is as good with
    fewer nodes where its walks are nearly optimal, as of a well trained map of
    a game or a maze, and worse where they make long detours, as on roads.
    :func:`~bcm_pyg.planning.choose_corridor` finds out.

    Args:
        radius (int, optional): Hops to widen by, :math:`r`. (default: :obj:`2`)
        guide (Readout, optional): What draws the corridor: all nodes that
            :class:`~bcm_pyg.planning.BestFirst` expands, or the routes of
            another readout (and BestFirst where it finds none). (default:
            :obj:`BestFirst()`)
        bidirectional (bool, optional): Whether the guide also goes from the
            goal to the start. (default: :obj:`True`)
    """

    radius: int = 2
    guide: Readout = BestFirst()
    bidirectional: bool = True

    def __post_init__(self) -> None:
        check_int('radius', self.radius, 0)
        if isinstance(self.guide, type) or not callable(self.guide):
            got = f'(got {self.guide!r})'
            raise BCMError(f'guide must be a readout such as BestFirst() {got}')

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        ends = starts, goals
        if isinstance(self.guide, BestFirst):
            return self.along(scorer, adjacency, *ends, *ends)
        routes = self.guide(scorer, adjacency, starts, goals)
        missing = (~routes.success).nonzero().squeeze(1)
        if missing.numel() > 0:
            ends = starts[missing], goals[missing]
            found = BestFirst()(scorer, adjacency, *ends)
            routes = routes.cheaper(missing, found)
        nodes, beside = _drawn(routes)
        if self.bidirectional:
            strong = adjacency.reachability.strong
            way_back = strong[starts] == strong[goals]
            there = torch.where(way_back, starts, goals)
            back, more = _drawn(self.guide(scorer, adjacency, goals, there))
            nodes, beside = torch.cat([nodes, back], dim=1), beside + more
        plan = in_parts(self._inside, scorer, adjacency, starts, goals, nodes)
        return replace(plan, expansions=plan.expansions + beside)

    def _inside(
        self, engine: Engine, starts: Array, goals: Array, nodes: Array
    ) -> Found:
        used = nodes >= 0
        ends = used.sum(axis=1).cumsum()
        span = np.stack([ends - used.sum(axis=1), ends], axis=1)[:, None]
        return engine.inside(starts, goals, nodes[used], span, self.radius)

    def along(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
        guide_starts: Tensor,
        guide_goals: Tensor,
    ) -> Plan:
        """Routes in corridors that :class:`BestFirst` draws for other queries,
        once for equal ones that follow each other.
        """
        ends = starts, goals, guide_starts, guide_goals
        return in_parts(self._search, scorer, adjacency, *ends)

    def _search(
        self,
        engine: Engine,
        starts: Array,
        goals: Array,
        guide_starts: Array,
        guide_goals: Array,
    ) -> Found:
        new = np.diff(guide_starts, prepend=-1) != 0
        new |= np.diff(guide_goals, prepend=-1) != 0
        ends = guide_starts[new], guide_goals[new]
        weight = self.guide.weight  # type: ignore[attr-defined]
        if self.bidirectional:
            nodes, span = engine.there_and_back(*ends, weight)
        else:
            there = engine.expand(*ends, weight)
            nodes, span = there.nodes, there.span[:, None]
        span = span[new.cumsum() - 1]
        return engine.inside(starts, goals, nodes, span, self.radius)


def _drawn(plan: Plan) -> tuple[Tensor, Tensor]:
    """The nodes of routes, and how many were expanded beside them."""
    at_goal = (plan.hops == 0)[:, None]  # or nowhere
    nodes = plan.nodes.masked_fill(at_goal, -1)
    ordered = nodes.sort(dim=1).values
    distinct = (ordered[:, 1:] != ordered[:, :-1]).sum(dim=1)
    distinct -= (ordered[:, 0] < 0).long() - 1  # of padding, one was counted
    beside = plan.expansions - (distinct - 1).clamp(min=0)  # not the goal
    return nodes, beside.clamp(min=0)

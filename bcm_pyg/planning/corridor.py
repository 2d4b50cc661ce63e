from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency, Reachability, check_int

from .best_first import BestFirst
from .completed import completed
from .pairs import counted, numbered, regrouped, split, united, widened
from .plan import Plan
from .readout import Readout
from .restricted import restricted_search
from .routes import joined
from .scorer import Scorer
from .search import search

#: Nodes that are widened to corridors at a time, over all queries.
MAX_PAIRS = 2**16


@dataclass(frozen=True)
class Corridor:
    r"""Exact search in a narrow corridor that the map has drawn.

    A readout goes from the start to the goal, and from the goal back to the
    start. The best route through what it has found is widened by :math:`r` hops
    to either side, and the result is the best route through all of these nodes.

    The two directions err at different places: together they hold almost every
    time what each of them missed. Where streets are one-way the way back is
    another one and helps less; it is not tried where there is none.

    *Guarantees* a route wherever there is one, and that no better one lies
    within the corridor.

    *Costs* what the readout costs, twice. The other nodes of the corridor need
    no pass of the map. Memory is that of the readout, and of the corridors
    around :math:`2^{16}` nodes at a time or around one route: about 300 bytes a
    node.

    *Use it* as the default for good routes: most are optimal, at a tenth of the
    nodes that exact search settles. Where the walks of
    :class:`~bcm_pyg.planning.VisitedGreedy` are nearly optimal, as of a well
    trained map of a grid or a maze, :obj:`walk=VisitedGreedy()` is as good and
    faster; where they make long detours, as on roads, the routes are worse.

    Args:
        radius (int, optional): Hops to widen by, :math:`r`. (default: :obj:`1`)
        walk (Readout, optional): What draws the corridor. Of
            :class:`~bcm_pyg.planning.BestFirst` all expanded nodes are taken,
            of others their routes, and where they find none it is asked.
            (default: :class:`~bcm_pyg.planning.BestFirst`)
        both_ways (bool, optional): Whether to go back, too. (default:
            :obj:`True`)
    """

    radius: int = 1
    walk: Readout = field(default_factory=BestFirst)
    both_ways: bool = True

    def __post_init__(self) -> None:
        check_int('radius', self.radius, 0)
        if isinstance(self.walk, type) or not callable(self.walk):
            raise BCMError(
                f'walk must be a readout such as BestFirst() (got '
                f'{self.walk!r})'
            )
        if not isinstance(self.both_ways, bool):
            raise BCMError(
                f'both_ways must be True or False (got {self.both_ways!r})'
            )

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        parts = []
        for query, pairs, beside in self._there(
            scorer, adjacency, starts, goals
        ):
            start, goal = starts[query], goals[query]
            if self.both_ways:
                back, more = self._back(scorer, adjacency, pairs, start, goal)
                pairs, beside = united(pairs, back), beside + more
            routes = [
                self._inside(adjacency, part, start[some], goal[some])
                for some, part in split(
                    pairs, query.numel(), adjacency.num_nodes, MAX_PAIRS
                )
            ]
            plan = Plan.cat(routes)
            plan = replace(plan, expansions=plan.expansions + beside)
            parts.append((query, plan))
        return joined(parts)

    def _inside(
        self, adjacency: Adjacency, pairs: Tensor, start: Tensor, goal: Tensor
    ) -> Plan:
        """The best routes through some nodes, and then through the corridor."""
        plan = restricted_search(adjacency, pairs, start, goal)
        if self.radius == 0:
            return plan
        is_there = (start == goal)[:, None]  # nothing to widen
        route = plan.nodes.masked_fill(is_there, -1)
        route = numbered(route, adjacency.num_nodes)
        corridor = widened(route, adjacency, self.radius)
        pairs = united(pairs, corridor)
        return restricted_search(adjacency, pairs, start, goal)

    def _there(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Queries, what leads from start to goal, and nodes touched beside."""
        if isinstance(self.walk, BestFirst):
            weight = self.walk.weight
            for part in search(scorer, adjacency, starts, goals, weight=weight):
                yield part.query, part.pairs, torch.zeros_like(part.query)
        else:
            plan = self.walk(scorer, adjacency, starts, goals)
            plan = completed(plan, scorer, adjacency, starts, goals)
            every = torch.arange(starts.numel(), device=starts.device)
            yield every, *_drawn(plan, adjacency.num_nodes)

    def _back(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        pairs: Tensor,
        start: Tensor,
        goal: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """What leads from goal to start, and nodes touched beside."""
        num_nodes = adjacency.num_nodes
        beside = torch.zeros_like(start)
        if isinstance(self.walk, BestFirst):
            # Where there is no way back, this ends the search for it.
            most = 2 * counted(pairs, start.numel(), num_nodes)
            back = [
                regrouped(part.pairs, part.query, num_nodes)
                for part in search(
                    scorer,
                    adjacency,
                    goal,
                    start,
                    weight=self.walk.weight,
                    most=most,
                )
            ]
            return united(*back), beside
        reachability: Reachability | None = getattr(
            scorer, 'reachability', None
        )
        strong = (reachability or Reachability(adjacency)).strong
        query = (strong[start] == strong[goal]).nonzero().squeeze(1)
        if query.numel() == 0:
            return query, beside
        plan = self.walk(scorer, adjacency, goal[query], start[query])
        found, beside[query] = _drawn(plan, num_nodes)
        return regrouped(found, query, num_nodes), beside


def _drawn(plan: Plan, num_nodes: int) -> tuple[Tensor, Tensor]:
    """The nodes of routes, and how many were touched beside them."""
    is_there = (plan.hops == 0)[:, None]  # at the goal, or nowhere
    pairs = numbered(plan.nodes.masked_fill(is_there, -1), num_nodes)
    touched = counted(pairs, len(plan), num_nodes) - 1  # not the goal
    return pairs, (plan.expansions - touched.clamp(min=0)).clamp(min=0)

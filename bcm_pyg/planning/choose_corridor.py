"""The corridor that fits a map."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from bcm_pyg.datasets.queries import sample_pairs
from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_float, check_int

from .base import Readout
from .planner import LANDMARKS, Planner
from .readouts import Backtracking, BestFirst, Corridor

#: Hops to widen by that are tried, and how far a guide trusts the map.
RADII = (0, 1, 2, 4)
WEIGHTS = (2.0, 1.5, 1.25, 1.1, 1.05, 1.0, 0.95, 0.9, 0.85, 0.8, 0.7)
#: Guides of each kind, from cheap and bad to dear and good.
KINDS: tuple[tuple[Readout, ...], ...] = (
    tuple(BestFirst(weight) for weight in WEIGHTS),
    (Backtracking(),),
)
#: Queries that a corridor is judged by at first; then twice as many, until so
#: many nodes have been expanded, which takes some ten seconds.
FIRST, MOST_EXPANSIONS = 25, 2**22


class Measured(NamedTuple):
    """How a corridor did.

    Attributes:
        gap: Mean excess of the routes over the optimum in percent, and one
            standard error of it.
        expansions: Mean number of nodes expanded.
    """

    gap: float
    expansions: float


def choose_corridor(
    planner: Planner, gap: float = 0.08, *, queries: int = 1000, seed: int = 0
) -> Corridor:
    """The corridor that expands fewest nodes for routes that are good enough.

    A map whose walks arrive needs no more than them, as of a game map; one that
    errs more, as of roads, a search that trusts it less. Walks and searches
    with corridors of all widths are compared with exact search on random
    queries, most of them on few.

    Args:
        planner (Planner): Reads the map. It keeps its readout.
        gap (float, optional): How much routes may cost more than the best ones,
            in percent on average, with one standard error on top. If no
            corridor is as good, twice the gap of the best one: the last bit of
            it is dear. (default: :obj:`0.08`)
        queries (int, optional): How many are drawn; on large graphs not
            all are used. (default: :obj:`1000`)
        seed (int, optional): Of the queries. (default: :obj:`0`)

    Example:
        >>> from bcm_pyg import BCM, Planner, fit
        >>> from bcm_pyg.datasets import weighted_grid
        >>> from bcm_pyg.planning import choose_corridor
        >>> data = weighted_grid('open', side=4, seed=42)
        >>> model = BCM.from_data(data)
        >>> history = fit(model, data, steps=2)
        >>> planner = Planner(model, data)
        >>> planner.readout = choose_corridor(planner)
    """
    if not isinstance(planner, Planner):
        got = type(planner).__name__
        raise BCMError(f'planner must be a Planner (got {got})')
    check_float('gap', gap)
    check_int('queries', queries, 1)
    check_int('seed', seed, 0)
    trial = _Trial(planner, queries, seed)
    return fewest_expansions(trial, float(gap))


class _Trial:
    """Measures corridors on the same queries, no longer than they may win."""

    def __init__(self, planner: Planner, queries: int, seed: int) -> None:
        starts, goals = sample_pairs(planner.full_adjacency, queries, seed)
        if planner.landmarks > 0:
            _ = planner.bounds  # found once, for it and for the copy
        exact = copy.copy(planner)
        exact.readout, exact.complete, exact.epsilon = BestFirst(), True, 0.0
        exact.landmarks = planner.landmarks or LANDMARKS
        optimal = exact(starts, goals).cost
        counted = optimal > 0
        self.planner = exact
        self.planner.epsilon, self.planner.landmarks = None, 0
        self.starts, self.goals = starts[counted], goals[counted]
        self.optimal = optimal[counted]

    def __call__(self, corridor: Corridor, gap: float, most: float) -> Measured:
        """How a corridor does; by some of the queries if its Gap is surely too
        large, or it expands surely more than so many nodes.
        """
        total, done = self.optimal.numel(), 0
        self.planner.readout = corridor
        excess, expansions = self.optimal[:0], self.optimal[:0]
        while done < total:
            part = slice(done, min(total, max(FIRST, 2 * done)))
            done = part.stop
            plan = self.planner(self.starts[part], self.goals[part])
            more = 100 * (plan.cost / self.optimal[part] - 1)
            excess = torch.cat([excess, more])
            expansions = torch.cat([expansions, plan.expansions.double()])
            if _surely(excess) > gap or _surely(expansions) > most:
                break
            if float(expansions.sum()) > MOST_EXPANSIONS:
                break
        if done == 0:
            return Measured(0.0, 0.0)
        return Measured(
            float(excess.mean()) + _error(excess), float(expansions.mean())
        )


def _error(values: torch.Tensor) -> float:
    """The standard error of their mean."""
    return float(values.std(correction=0)) / math.sqrt(values.numel())


def _surely(values: torch.Tensor) -> float:
    """What their mean is at least."""
    return float(values.mean()) - 2 * _error(values)


def fewest_expansions(
    measure: Callable[[Corridor, float, float], Measured],
    gap: float,
    kinds: Sequence[Sequence[Readout]] = KINDS,
) -> Corridor:
    """The cheapest corridor that is good enough, of any kind and radius.

    Wider corridors, later guides of a kind, and a way back mean better routes
    and more nodes. So the first guide that is good enough comes earlier as the
    radius grows, and few of all corridors need be measured. If none is good
    enough, twice the smallest gap is.

    Args:
        measure (Callable): Gap and expansions of a corridor, given what they
            may be at most.
        gap (float): What the Gap may be at most.
        kinds (Sequence[Sequence[Readout]], optional): The guides.
    """
    best, smallest = _cheapest(measure, gap, kinds)
    while best is None:  # once more if it was small by few queries alone
        best, smallest = _cheapest(measure, 2 * smallest, kinds)
    return best


def _cheapest(
    measure: Callable[[Corridor, float, float], Measured],
    gap: float,
    kinds: Sequence[Sequence[Readout]],
) -> tuple[Corridor | None, float]:
    """The cheapest that is good enough, if any is, and the smallest gap."""
    best, most, smallest = None, float('inf'), float('inf')
    for guides in kinds:
        # The first guide that may be good enough, of each radius.
        first = dict.fromkeys(RADII, 0)
        for bidirectional in (True, False):
            at = 0
            for radius in reversed(RADII):
                at = max(at, first[radius])
                while at < len(guides):
                    corridor = Corridor(radius, guides[at], bidirectional)
                    found = measure(corridor, gap, most)
                    smallest = min(smallest, found.gap)
                    if found.expansions >= most:  # so do all later ones
                        break
                    if found.gap <= gap:
                        best, most = corridor, found.expansions
                        break
                    at += 1
                first[radius] = at
    return best, smallest

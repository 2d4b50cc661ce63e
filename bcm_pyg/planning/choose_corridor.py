"""The corridor that fits a map."""

import copy
from collections.abc import Callable
from typing import NamedTuple

from bcm_pyg.datasets.queries import sample_pairs
from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_float, check_int

from .planner import LANDMARKS, Planner
from .readouts import BestFirst, Corridor

#: What is tried: hops to widen by, and how far the guide trusts the map.
RADII = (0, 1, 2, 4, 8)
WEIGHTS = (1.1, 1.03, 1.0, 0.95, 0.9, 0.8, 0.7)


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
    planner: Planner, gap: float = 0.05, *, queries: int = 400, seed: int = 0
) -> Corridor:
    """The corridor that expands fewest nodes for routes that are good enough.

    A map that is right within a hop of each route needs a narrow corridor; one
    that errs more, as of roads, needs a guide that trusts it less. Corridors
    are compared with exact search on random queries, about a dozen at most.

    Args:
        planner (Planner): Reads the map. It keeps its readout.
        gap (float, optional): How much routes may cost more than the best ones,
            in percent on average, with one standard error on top. If no
            corridor is as good, twice the gap of the best one: the last bit of
            it is dear. (default: :obj:`0.05`)
        queries (int, optional): How many are drawn. (default: :obj:`400`)
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
    starts, goals = sample_pairs(planner.full_adjacency, queries, seed)
    if planner.landmarks > 0:
        _ = planner.bounds  # found once, for it and for the copy
    exact = copy.copy(planner)
    exact.readout, exact.complete, exact.epsilon = BestFirst(), True, 0.0
    exact.landmarks = planner.landmarks or LANDMARKS
    optimal = exact(starts, goals).cost
    counted = optimal > 0
    starts, goals, optimal = (x[counted] for x in (starts, goals, optimal))
    trial = copy.copy(exact)
    trial.epsilon, trial.landmarks = None, 0

    def measure(radius: int, weight: float) -> Measured:
        trial.readout = Corridor(radius, BestFirst(weight))
        plan = trial(starts, goals)
        if plan.cost.numel() == 0:
            return Measured(0.0, 0.0)
        excess = 100 * (plan.cost / optimal - 1)
        error = excess.std(correction=0) / excess.numel() ** 0.5
        expansions = plan.expansions.double().mean()
        return Measured(float(excess.mean() + error), float(expansions))

    radius, weight = fewest_expansions(measure, float(gap))
    return Corridor(radius, BestFirst(weight))


def fewest_expansions(
    measure: Callable[[int, float], Measured], gap: float
) -> tuple[int, float]:
    """Radius and weight of the cheapest corridor that is good enough.

    Wider corridors and smaller weights mean better routes and more nodes. So
    the largest weight that is good enough falls with the radius, and few of all
    pairs need be measured. If none is good enough, twice the smallest gap is.
    """
    found: dict[tuple[int, float], Measured] = {}

    def good_enough(gap: float) -> list[tuple[int, float]]:
        good, weights = [], list(WEIGHTS)
        for radius in reversed(RADII):
            while weights:
                key = radius, weights[0]
                if key not in found:
                    found[key] = measure(*key)
                if found[key].gap <= gap:
                    good.append(key)
                    break
                weights.pop(0)  # too large for narrower corridors, too
        return good

    good = good_enough(gap)
    if not good:
        good = good_enough(2 * min(tried.gap for tried in found.values()))
    return min(good, key=lambda key: found[key].expansions)

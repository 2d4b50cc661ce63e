"""Edges that are closed, costs that change, turns: against plain twins."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from helpers import ALL_READOUTS, tiny_map
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from small_fits import tiny, weights
from torch import Tensor
from turn_twins import random_turns, slow_costs

from bcm_pyg import BCMError, CognitiveMap, Planner
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import simplify_graph, turn_graph
from bcm_pyg.planning import Route, plan_turns

from .queries import TOLERANCE, all_pairs, random_graph, wrong

#: The edges of a graph, by their names, and what they cost.
Edges = dict[tuple[str, str], float]
#: What no cost can be.
BAD = [float('nan'), float('inf'), -1.0, 'x', None, 1e300]


def attack(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """A cognitive map of which edges are closed and costs change."""
    atlas = _atlas(rng)
    names = atlas.names
    ends = [(names[u], names[v]) for u, v in atlas.data.edge_index.T.tolist()]
    edges = dict(zip(ends, atlas.data.edge_cost.tolist(), strict=True))
    count, failures = 0, []
    for _ in range(rng.integers(1, 4)):
        before = f'{atlas}'
        if rng.random() < 0.6:
            shut = rng.permutation(len(edges))[: rng.integers(1, 9)]
            if len(shut) == len(edges):  # a graph has an edge
                break
            closed = [list(edges)[at] for at in shut]
            atlas = atlas.close(closed)
            edges = {key: edges[key] for key in edges if key not in closed}
        else:
            failures += _bad_update(rng, atlas, edges)
            edges = _update(rng, atlas, edges)
        tried, reasons = _compare(rng, atlas, edges)
        count += tried
        failures += [f'{before}: {reason}' for reason in reasons]
    return count, failures


def _atlas(rng: np.random.Generator) -> CognitiveMap:
    data = random_graph(rng)
    data.node_id = [f'n{9 * node}' for node in range(data.num_nodes)]
    simplified, core = None, data
    try:
        if rng.random() < 0.5:
            simplified = simplify_graph(data)
            core = simplified.data
    except BCMError:  # a forest or a ring
        pass
    torch.manual_seed(int(rng.integers(2**31)))
    readout = ALL_READOUTS[rng.integers(2, len(ALL_READOUTS))]
    return CognitiveMap(
        data, tiny_map(core), simplified=simplified, readout=readout
    )


def _update(
    rng: np.random.Generator, atlas: CognitiveMap, edges: Edges
) -> Edges:
    """New costs of some edges by name, or of all in their order."""
    new = dict(edges)
    some = list(edges)
    if rng.random() < 0.5:
        some = [some[at] for at in rng.permutation(len(some))[:5]]
    for edge in some:
        cost = rng.choice([0.0, rng.uniform(0, 9), 10 ** rng.uniform(-9, 9)])
        new[edge] = float(np.float32(cost))
    config = tiny(steps=1, validation_queries=0)
    if rng.random() < 0.5:
        atlas.update({edge: new[edge] for edge in some}, config=config)
    else:
        names = atlas.names
        ends = atlas.data.edge_index.T.tolist()
        order = [new[names[u], names[v]] for u, v in ends]
        atlas.update(order, config=config)
    return new


def _bad_update(
    rng: np.random.Generator, atlas: CognitiveMap, edges: Edges
) -> list[str]:
    """Costs that are none are refused, and nothing has changed."""
    assert atlas.model is not None or atlas.simplified is None
    known = atlas.model and weights(atlas.model), atlas.data.edge_cost.tolist()
    edge = list(edges)[rng.integers(len(edges))]
    value: Any = BAD[rng.integers(len(BAD))]
    wrong_ones: list[Any] = [{edge: value}, [value] * len(edges), {(1, 2): 1}]
    try:
        atlas.update(wrong_ones[rng.integers(3)])
    except BCMError:
        now = atlas.model and weights(atlas.model), atlas.data.edge_cost
        same = (now[0], now[1].tolist()) == known
        return [] if same else ['a refused update has changed the map']
    return [f'a cost of {value!r} is taken']


def _compare(
    rng: np.random.Generator, atlas: CognitiveMap, edges: Edges
) -> tuple[int, list[str]]:
    """All routes and some alternatives, with what scipy finds."""
    names = atlas.names
    node = {name: number for number, name in enumerate(names)}
    ends = np.array([[node[u], node[v]] for u, v in edges]).T
    size = (len(names), len(names))
    matrix = csr_array((list(edges.values()), tuple(ends)), shape=size)
    best = torch.from_numpy(dijkstra(matrix)).flatten()
    starts, goals = all_pairs(len(names))
    first, last = ([names[n] for n in x.tolist()] for x in (starts, goals))
    plan = atlas.routes(first, last)
    reasons = wrong(plan, atlas.data, starts, goals, best, True, None)
    query = int(rng.integers(len(plan)))
    share = float(rng.choice([0.0, 0.5, 0.9]))
    factor = float(rng.choice([1.0, 1.4, 3.0]))
    routes = atlas.alternatives(
        first[query], last[query], 4, share=share, factor=factor
    )
    least = float(best[query])
    reasons += _wrong_alternatives(routes, edges, least, share, factor)
    return len(plan) + 1, reasons


def _wrong_alternatives(
    routes: list[Route], edges: Edges, best: float, share: float, factor: float
) -> list[str]:
    """What is not as promised of routes that differ."""
    if not routes or not np.isfinite(best):
        fits = bool(routes) == bool(np.isfinite(best))
        return [] if fits else ['alternatives to where none leads, or none']
    used = [set(pairwise(route.nodes)) for route in routes]
    if any(edge not in edges for some in used for edge in some):
        return ['an alternative over no edge']
    costs = [sum(edges[edge] for edge in some) for some in used]
    slack = 1 + TOLERANCE
    out = []
    if not best / slack <= costs[0] <= best * slack:
        out.append('the first alternative is not the best route')
    if max(costs) > factor * best * slack:
        out.append('an alternative that costs too much')
    for one, two in combinations(range(len(routes)), 2):
        common = sum(edges[edge] for edge in used[one] & used[two])
        if common > (1 - share) * min(costs[one], costs[two]) * slack:
            out.append('alternatives that have too much in common')
    return out


def turns(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Costs of turns and forbidden ones, read off a map and searched."""
    size = int(rng.integers(3, 12))
    data, prices = random_turns(int(rng.integers(2**31)), size, 3 * size)
    try:
        graph = turn_graph(data, prices)
    except BCMError:  # there are no turns, or all are forbidden
        return 0, []
    torch.manual_seed(int(rng.integers(2**31)))
    readout = ALL_READOUTS[rng.integers(2, len(ALL_READOUTS))]
    starts, goals = all_pairs(size)
    every = [slow_costs(data, prices, node) for node in range(size)]
    none = float('inf')
    best = torch.tensor(
        [
            every[u].get(v, none)
            for u, v in zip(starts.tolist(), goals.tolist(), strict=True)
        ],
        dtype=torch.float64,
    )
    count, failures = 0, []
    read = Planner(tiny_map(graph.data), graph.data, readout)
    for planner in (read, Dijkstra(graph.data)):
        plan = plan_turns(planner, graph, starts, goals)
        is_exact = isinstance(planner, Dijkstra)
        count += len(plan)
        failures += [
            f'{planner} on {graph}: {reason}'
            for reason in _wrong_turns(plan, data, prices, best, is_exact)
        ]
    return count, failures


def _wrong_turns(
    plan: Any, data: Any, prices: dict[Any, float], best: Tensor, exact: bool
) -> list[str]:
    ends = map(tuple, data.edge_index.T.tolist())
    cost = dict(zip(ends, data.edge_cost.tolist(), strict=True))
    out = []
    for query, least in enumerate(best.tolist()):
        path = plan.path(query)
        if bool(path) != np.isfinite(least):
            out.append('a route over forbidden turns, or none')
            continue
        if not path:
            continue
        triples = zip(path, path[1:], path[2:], strict=False)
        total = sum(cost[edge] for edge in pairwise(path))
        total += sum(prices.get(turn, 0.0) for turn in triples)
        slack = 1 + TOLERANCE
        if not total / slack <= float(plan.cost[query]) <= total * slack:
            out.append('a route that costs something else')
        if total * slack < least or (exact and total > least * slack):
            out.append('a route that is not the best')
        if float(plan.lower_bound[query]) > least * slack:
            out.append('a bound above the optimum')
    return out

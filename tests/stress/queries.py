"""Random graphs, maps and readouts: no wrong route, no false bound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from helpers import ALL_ENCODERS, ALL_READOUTS, tiny_map
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import (
    BCM,
    BCMError,
    Plan,
    Planner,
    planning_graph,
)
from bcm_pyg.baselines import APSP, CPD, Dijkstra
from bcm_pyg.graph import SimplifiedGraph, simplify_graph
from bcm_pyg.metrics import check_plan
from bcm_pyg.planning import BasePlanner
from bcm_pyg.utils import Adjacency

#: What rounding may change, relatively.
TOLERANCE = 1e-9


def attack(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """One graph, plain or simplified, with a few planners and all queries."""
    data = random_graph(rng)
    graph: Data | SimplifiedGraph = data
    core = data
    if rng.random() < 0.5:
        try:
            graph = simplify_graph(data)
            core = graph.data
        except BCMError:  # a forest or a ring
            pass
    best = all_distances(data)
    starts, goals = all_pairs(data.num_nodes)
    count, failures = 0, []
    for planner, excess in planners(rng, graph, core):
        what = f'{planner} on {graph}'
        try:
            plan = planner(starts, goals)
        except Exception as error:
            failures.append(f'{what}: {type(error).__name__}: {error}')
            continue
        count += len(plan)
        complete = getattr(planner, 'complete', True)
        reasons = wrong(plan, data, starts, goals, best, complete, excess)
        if isinstance(planner, Planner):
            reasons += wrong_distances(planner, best)
        failures += [f'{what}: {reason}' for reason in reasons]
    return count, failures


def random_graph(rng: np.random.Generator) -> Data:
    """Dense, sparse, long or with a hub; costs of many kinds."""
    size = int(rng.integers(2, 33))
    ends = rng.integers(0, size, (2, int(size * rng.uniform(0.5, 4)) + 1))
    line = np.stack([np.arange(size - 1), np.arange(1, size)])
    star = np.stack([np.zeros(size - 1, int), np.arange(1, size)])
    more = [line, star, line[:, :0]][rng.integers(3)]
    ends = np.concatenate([ends, more], 1)
    if rng.random() < 0.7:
        ends = np.concatenate([ends, ends[::-1]], 1)
    if not (ends[0] != ends[1]).any():
        ends[:, 0] = 0, 1
    num = ends.shape[1]
    cost = [
        rng.integers(0, 4, num).astype(float),
        rng.uniform(0, 1, num),
        rng.uniform(0, 1, num) + 2**23,
        np.exp(rng.normal(0, 8, num)),
        10 ** rng.uniform(-30, 30, num),
        np.ones(num),
    ][rng.integers(6)]
    return planning_graph(
        Data(
            pos=torch.from_numpy(rng.normal(size=(size, rng.integers(1, 4)))),
            edge_index=torch.from_numpy(ends),
            edge_cost=torch.from_numpy(cost),
        )
    )


def planners(
    rng: np.random.Generator, graph: Data | SimplifiedGraph, core: Data
) -> list[tuple[BasePlanner, float | None]]:
    """Planners, and by how much their routes may cost more than the best."""
    seed = int(rng.integers(2**31))
    torch.manual_seed(seed)
    model = tiny_map(core, str(rng.choice(ALL_ENCODERS)))
    if rng.random() < 0.2:  # scores overflow, or tie
        for parameter in model.parameters():
            parameter.data *= 10.0 ** float(rng.integers(-30, 31))
    readout = ALL_READOUTS[rng.integers(len(ALL_READOUTS))]
    out: list[tuple[BasePlanner, float | None]] = []
    if is_sound(model, core):
        epsilon = float(rng.choice([0.0, 0.1, 1.0]))
        out.append((Planner(model, graph, readout), None))
        out.append((Planner(model, graph, readout, complete=True), None))
        out.append((Planner(model, graph, readout, landmarks=3), None))
        out.append((Planner(model, graph, readout, epsilon=epsilon), epsilon))
    exact = [Dijkstra, APSP, CPD][rng.integers(3)]
    out.append((exact(graph), 0.0))
    return out


def is_sound(model: BCM, data: Data) -> bool:
    """Whether the numbers of a map are finite; a planner refuses others."""
    with torch.no_grad():
        rows = model.project_nodes(data)
    weights = [p.isfinite().all() for p in model.transition.parameters()]
    return bool(rows.isfinite().all()) and all(map(bool, weights))


def all_distances(data: Data) -> Tensor:
    """The optimum of every pair, by scipy alone."""
    cost = data.edge_cost.double().numpy()
    size = (data.num_nodes, data.num_nodes)
    matrix = csr_array((cost, tuple(data.edge_index.numpy())), shape=size)
    return torch.from_numpy(dijkstra(matrix)).flatten()


def all_pairs(size: int) -> tuple[Tensor, Tensor]:
    nodes = torch.arange(size)
    starts, goals = torch.cartesian_prod(nodes, nodes).T
    return starts, goals


def wrong_distances(planner: Planner, best: Tensor) -> list[str]:
    """Estimates are numbers where a route leads, one way or the other."""
    nodes = torch.arange(planner.num_nodes)
    pairs = planner.distance(*all_pairs(planner.num_nodes))
    matrix = planner.distance_matrix(nodes, nodes)
    out = []
    for found in (pairs.view_as(matrix), matrix):
        if bool(found.isnan().any()) or bool((found < 0).any()):
            out.append('a distance that is none')
        if bool(found.diagonal().ne(0).any()):
            out.append('a distance from a node to itself')
        if bool(found.flatten()[best.isinf()].isfinite().any()):
            out.append('a distance to where none leads')
    scorer = planner.scorer
    weights = [p.abs().max() for p in scorer.transition.parameters()]
    if max(weights) < 100:  # else scores are rounded, or overflow
        if bool(pairs[best.isfinite()].isinf().any()):
            out.append('an infinite distance to where a route leads')
        slack = 1e-4 * float(scorer.cost_scale)
        if not torch.allclose(pairs, matrix.flatten(), rtol=1e-4, atol=slack):
            out.append('a matrix of other distances')
    return out


def wrong(
    plan: Plan,
    data: Data,
    starts: Tensor,
    goals: Tensor,
    best: Tensor,
    complete: bool,
    excess: float | None,
) -> list[str]:
    """What is not right with a plan."""
    out: list[str] = []
    try:
        check_plan(plan, Adjacency.from_data(data), starts, goals)
    except BCMError as error:
        out.append(str(error))
    reachable, most = best.isfinite(), best * (1 + TOLERANCE)
    if bool((plan.success & ~reachable).any()):
        out.append('a route to where none leads')
    if complete and bool((reachable & ~plan.success).any()):
        out.append('no route where there is one')
    if bool((plan.cost < best * (1 - TOLERANCE)).any()):
        out.append('a route below the optimum')
    if bool((plan.lower_bound > most).any()):
        out.append('a bound above the optimum')
    if excess is not None and bool((plan.cost > (1 + excess) * most).any()):
        out.append('a route above what was promised')
    return out

"""Time per query of every way to plan, in units of one search of scipy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import torch
from common import CACHE, training_seconds
from driven import drive, sample_routes
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from bcm_pyg import BCM, Planner, planning_graph
from bcm_pyg.baselines import APSP, CCH, Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import (
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    Plan,
    VisitedGreedy,
)
from bcm_pyg.planning.choice import Chooser
from bcm_pyg.planning.rollout import visited_sets
from bcm_pyg.planning.walk_log import WalkLog
from bcm_pyg.utils import Adjacency

BATCHES = (1, 10, 100, 1000, 10_000)
#: Sides of grids whose trained map walks by itself.
TRAINED = (40, 60)
#: Readouts that are timed beside VisitedGreedy, where the map is trained.
OTHER_READOUTS = [Greedy(), Lookahead(2), Beam(4), BestFirst(), Corridor()]


def seconds_of(action: Callable[[], Any], least: float = 0.5) -> float:
    """Median time of an action, repeated for a while after a first time."""
    action()
    times: list[float] = []
    while sum(times) < least or len(times) < 3:
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
        if sum(times) > 20:
            break
    return statistics.median(times)


def trained(side: int, seed: int, data: Data) -> BCM | None:
    """The map of the training table, if it is in the cache."""
    if side not in TRAINED:
        return None
    seconds = training_seconds(side, 'wide')
    folder = CACHE / f'ushape-wide-{side}-sweeps-{seconds:g}s-{seed}'
    return BCM.load(folder, data) if folder.exists() else None


def one_search(adjacency: Adjacency, starts: Tensor) -> float:
    """Seconds of one single-source Dijkstra of scipy, with predecessors."""
    graph = adjacency.to_scipy()
    some = iter(starts.tolist() * 1000)
    return seconds_of(
        lambda: dijkstra(graph, indices=next(some), return_predecessors=True)
    )


def speed(side: int, seed: int, quick: bool) -> dict[str, Any]:
    """Everything at one size, in units of one search."""
    data = planning_graph(weighted_grid('ushape', side, 'wide', seed))
    adjacency = Adjacency.from_data(data)
    model = trained(side, seed, data)
    is_trained = model is not None
    seed_everything(0)
    model = BCM.from_data(data) if model is None else model
    sizes = [size for size in BATCHES if size <= (100 if quick else 10_000)]
    planner = Planner(model, data, VisitedGreedy(), cache=True)
    driver: Any = _Free(data, max(sizes))
    if not is_trained:
        num = min(max(sizes), data.num_nodes // 2)
        driver = drive(planner, _routes(adjacency, num))
    num = driver.starts.numel()
    unit = one_search(adjacency, driver.starts)
    ratio: dict[str, float] = {}
    row: dict[str, Any] = {
        'side': side,
        'seed': seed,
        'nodes': data.num_nodes,
        'trained': is_trained,
        'search_ms': 1e3 * unit,
        'cached_edges': planner.scorer.ranking is not None,
        'ratio': ratio,
    }
    for size in sizes:
        size = min(size, num)

        def walk(size: int = size) -> Plan:
            driver.begin()
            return planner(driver.starts[:size], driver.goals[:size])

        plan = walk()
        row['success_rate'] = float(plan.success.float().mean())
        row['hops'] = float(plan.hops.float().mean())
        ratio[f'VisitedGreedy, {size}'] = seconds_of(walk) / size / unit
    batch = min(1000, num)
    row['hop_over_gemm'] = _hop(planner, driver, batch) / _bare_gemm(batch)
    others = _exact(data)
    if is_trained:
        others += [
            (str(readout), Planner(model, data, readout), batch)
            for readout in OTHER_READOUTS
        ]
    for name, other, few in others:
        some = min(few, batch)
        ends = driver.starts[:some], driver.goals[:some]
        ratio[name] = seconds_of(partial(other, *ends)) / some / unit
    row['search_ms_after'] = 1e3 * one_search(adjacency, driver.starts)
    for name, value in ratio.items():
        print(f'N = {data.num_nodes:8} {name:24} {value:.4f}')
    return row


class _Free:
    """Queries for a trained map, which finds its way by itself."""

    def __init__(self, data: Data, num: int) -> None:
        self.starts, self.goals = sample_queries(data, num, seed=0)

    def begin(self) -> None:
        """Nothing to prepare."""


def _routes(adjacency: Adjacency, num: int) -> Tensor:
    """True routes from as many starts as some seconds of search allow."""
    size = adjacency.num_nodes
    sources = 1000 if size <= 50_000 else 200 if size <= 300_000 else 40
    return sample_routes(adjacency, num, seed=0, sources=min(sources, num))


def _hop(planner: Planner, driver: Any, batch: int) -> float:
    """Seconds of a step of a batch of walks, with all that belongs to it."""
    adjacency, goals = planner.adjacency, driver.goals[:batch]
    used = (adjacency.degree() > 0).nonzero().squeeze(1)
    nodes = used[torch.randint(used.numel(), (batch,))]
    choose = Chooser(planner.scorer, adjacency, prefer_unvisited=True)
    rows = choose.goal_rows(goals)
    visited = visited_sets(batch, adjacency)
    row, query = visited.rows(), torch.arange(batch)

    def hop() -> None:
        driver.begin()
        log = WalkLog(nodes, goals, adjacency)
        choice = choose(nodes, goals, rows, visited, row)
        log.add(query, choice)
        (choice.node == goals).nonzero()

    return seconds_of(hop)


def _bare_gemm(batch: int) -> float:
    a, b = torch.randn(batch, 256), torch.randn(256, 256)
    return seconds_of(lambda: a @ b)


def _exact(data: Data) -> list[tuple[str, Callable[..., Any], int]]:
    """Name, planner, and queries to time it with."""
    size = data.num_nodes
    few = 1000 if size <= 10_000 else 100 if size <= 100_000 else 3
    out: list[tuple[str, Callable[..., Any], int]] = [
        ('scipy, by goal', Dijkstra(data), few),
        ('CCH', CCH(data), 1000),
    ]
    if size <= 4_000:
        out.append(('APSP tables', APSP(data), 1000))
    if size <= 50_000:
        graph = to_networkx(data, edge_attrs=['edge_cost'])

        def by_networkx(starts: Tensor, goals: Tensor) -> None:
            for start, goal in zip(
                starts.tolist(), goals.tolist(), strict=True
            ):
                nx.dijkstra_path(graph, start, goal, weight='edge_cost')

        out.append(('networkx', by_networkx, 10))
    return out

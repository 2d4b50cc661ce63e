"""How a planner is measured: quality of its routes, distances, and time."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, Plan, Planner, evaluate, planning_graph
from bcm_pyg.baselines import shortest_distances
from bcm_pyg.datasets import sample_queries
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.metrics import check_plan, gap, success_rate
from bcm_pyg.planning import Readout, VisitedGreedy
from bcm_pyg.utils import Adjacency
from benchmarks.lib.graphs import Grid, Queries
from benchmarks.lib.methods import BASELINES
from benchmarks.lib.results import Job, Row


def measure(
    planner: Callable[..., Plan], data: Data, starts: Tensor, goals: Tensor
) -> Row:
    """What ``evaluate`` reports, and how much single queries differ.

    Efficiency is the mean of optimal over realised cost among the successful
    queries. The standard deviations are over single successful queries; that
    of a mean of 100 is a tenth.
    """
    plans: list[Plan] = []

    def planned(starts: Any, goals: Any) -> Plan:
        plans.append(planner(starts, goals))
        return plans[0]

    report = evaluate(planned, data, starts, goals)
    adjacency = Adjacency.from_data(planning_graph(data))
    optimal = shortest_distances(adjacency, starts, goals)
    found = plans[0].success & (optimal > 0)
    cost, best = plans[0].cost[found], optimal[found]
    return _without_nan(
        {
            **report.as_dict(),
            'efficiency': float((best / cost).clamp(max=1).mean()),
            'gap_sd': _deviation(100 * cost / best),
            'cost_sd': _deviation(cost),
        }
    )


def _without_nan(row: Row) -> Row:
    """Without a success there is no Gap, and JSON has no NaN."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in row.items()
    }


def _deviation(values: Tensor) -> float:
    return float(values.std()) if values.numel() > 1 else math.nan


def baseline_job(grid: Grid, name: str, pairs: int) -> Job:
    """A baseline on a graph; nothing if it is not installed."""
    method = BASELINES[name]

    def run() -> Row | None:
        if not method.is_installed():
            return None
        data = grid.data()
        torch.manual_seed(grid.seed)
        began = time.perf_counter()
        planner = method.build(data, grid.seed)
        seconds = time.perf_counter() - began
        row = {
            'build_seconds': round(seconds, 3),
            'megabytes': planner.storage_bytes() / 1e6,
            **measure(planner, data, *grid.queries(pairs)),
        }
        if hasattr(planner, 'compact_bytes'):
            row['packed_megabytes'] = planner.compact_bytes() / 1e6
        if hasattr(planner, 'num_parameters'):
            row['parameters'] = planner.num_parameters()
        return row

    return Job({**asdict(grid), 'method': name, 'num_queries': pairs}, run)


def walk_quality(model: BCM, data: Data, pairs: int, seed: int) -> Row:
    """What the paper's readout reports on queries of its own."""
    starts, goals = sample_queries(data, pairs, seed=seed)
    planner = Planner(model, data, VisitedGreedy())
    return evaluate(planner, data, starts, goals).as_dict()


def planner_of(
    model: BCM, data: Data, graph: SimplifiedGraph | None, readout: Readout
) -> Planner:
    """A planner of the whole graph, with all that it keeps made."""
    planner = Planner(model, data if graph is None else graph, readout)
    planner(*sample_queries(data, 1))
    return planner


def quality(planner: Any, data: Data, queries: Queries) -> Row:
    """SR, Gap, nodes expanded and time of a planner.

    As by ``evaluate``, but what is optimal is known.
    """
    ends = queries.starts, queries.goals
    began = time.perf_counter()
    plan = planner(*ends)
    seconds = time.perf_counter() - began
    check_plan(plan, Adjacency.from_data(planning_graph(data)), *ends)
    return _without_nan(
        {
            'success_rate': success_rate(plan, queries.cost),
            'gap': gap(plan, queries.cost),
            'expansions': float(plan.expansions.double().mean()),
            'seconds_per_query': seconds / max(1, ends[0].numel()),
        }
    )


def distance_error(planner: Any, queries: Queries) -> float:
    """Mean relative error of estimated distances, in percent."""
    far = queries.cost > 0
    estimate = planner.distance(queries.starts[far], queries.goals[far])
    return 100 * float(
        ((estimate - queries.cost[far]) / queries.cost[far]).abs().mean()
    )


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


def one_search(adjacency: Adjacency, starts: Tensor) -> float:
    """Seconds of one single-source Dijkstra of scipy, with predecessors."""
    graph = adjacency.to_scipy()
    some = iter(starts.tolist() * 1000)
    return seconds_of(
        lambda: dijkstra(graph, indices=next(some), return_predecessors=True)
    )


def keeps_edges(planner: Planner, start: int, goal: int) -> bool:
    """Whether the first query makes a planner keep what edges add to scores."""
    before = planner.cache_bytes()
    planner(start, goal)
    return planner.cache_bytes() > before

"""Every method of the comparison, and how one of them is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import Plan, baselines, evaluate, planning_graph
from bcm_pyg.baselines import (
    APF,
    APSP,
    CML,
    Dijkstra,
    EigenAgent,
    shortest_distances,
)
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Adjacency

YES, NO, NEITHER = '✓', '✗', '-'

Planning = Callable[[Ids, Ids], Plan]


class Method(NamedTuple):
    """A planner with the three properties of the paper's Table 1."""

    label: str
    reuse: str
    weighted: str
    sublinear: str
    build: Callable[[Data, int], Any] | None = None


def _peer(name: str, package: str | None) -> Callable[[Data, int], Any] | None:
    """A planner that may be missing, or want a package that is."""
    kind = getattr(baselines, name, None)
    if kind is None or (package and find_spec(package) is None):
        return None
    return lambda data, seed: kind(data)


#: All that are built, not trained by us. Those without a builder are missing.
BASELINES = {
    'dijkstra': Method(
        'Dijkstra (exact)',
        NO,
        YES,
        NEITHER,
        lambda data, seed: Dijkstra(data),
    ),
    'apsp': Method('APSP (exact)', YES, YES, NO, lambda data, seed: APSP(data)),
    'cch': Method(
        'CCH, on disk (exact)',
        YES,
        YES,
        NO,
        _peer('CCH', 'routingkit_cch'),
    ),
    'cpd': Method('CPD (exact)', YES, YES, NO, _peer('CPD', None)),
    'cml': Method(
        'CML',
        YES,
        YES,
        NO,
        lambda data, seed: CML(data, seed, weighted=True, progress=True),
    ),
    'apf': Method('APF', NO, NO, NEITHER, lambda data, seed: APF(data)),
    'eigen': Method(
        'EigenAgent', YES, NO, NO, lambda data, seed: EigenAgent(data)
    ),
    'eigen_inverse': Method(
        'EigenAgent, inverse costs',
        YES,
        YES,
        NO,
        lambda data, seed: EigenAgent(data, 'inverse'),
    ),
    'eigen_rbf': Method(
        'EigenAgent, RBF of costs',
        YES,
        YES,
        NO,
        lambda data, seed: EigenAgent(data, 'rbf'),
    ),
}

#: Our maps by what they are trained on, the paper's objective first.
MAPS = {
    'paper': Method("BCM, the paper's objective at our budget", YES, YES, YES),
    'sweeps': Method('BCM, our default (self-supervised)', YES, YES, YES),
    'exact': Method('BCM, exact targets (supervised)', YES, YES, YES),
}


def measure(
    planner: Planning, data: Data, starts: Tensor, goals: Tensor
) -> dict[str, Any]:
    """What ``evaluate`` reports, and how much single queries differ.

    Efficiency is the mean of optimal over realised cost among the successful
    queries. The standard deviations are over single successful queries; that
    of a mean of 100 is a tenth.
    """
    plans: list[Plan] = []

    def planned(starts: Ids, goals: Ids) -> Plan:
        plans.append(planner(starts, goals))
        return plans[0]

    report = evaluate(planned, data, starts, goals)
    adjacency = Adjacency.from_data(planning_graph(data))
    optimal = shortest_distances(adjacency, starts, goals)
    found = plans[0].success & (optimal > 0)
    cost, best = plans[0].cost[found], optimal[found]
    row = {
        **report.as_dict(),
        'efficiency': float((best / cost).clamp(max=1).mean()),
        'gap_sd': _deviation(100 * cost / best),
        'cost_sd': _deviation(cost),
    }
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in row.items()
    }


def _deviation(values: Tensor) -> float:
    return float(values.std()) if values.numel() > 1 else math.nan


def build_and_measure(
    name: str, data: Data, seed: int, starts: Tensor, goals: Tensor
) -> dict[str, Any] | None:
    """A baseline on a graph, None if it is not installed."""
    build = BASELINES[name].build
    if build is None:
        return None
    torch.manual_seed(seed)
    began = time.perf_counter()
    planner = build(data, seed)
    seconds = time.perf_counter() - began
    row = {
        'build_seconds': round(seconds, 3),
        'megabytes': planner.storage_bytes() / 1e6,
        **measure(planner, data, starts, goals),
    }
    if hasattr(planner, 'compact_bytes'):
        row['packed_megabytes'] = planner.compact_bytes() / 1e6
    if hasattr(planner, 'num_parameters'):
        row['parameters'] = planner.num_parameters()
    return row

"""Time per query of every way to plan, in units of one search of scipy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from bcm_pyg import BCM, Planner, planning_graph
from bcm_pyg.baselines import APSP, CCH, CPD, Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    Plan,
    VisitedGreedy,
)
from bcm_pyg.utils import Adjacency
from benchmarks.lib.straight_map import straight_map
from benchmarks.scripts.planning_maps import folder_of, grid

BATCHES = (1, 10, 100, 1000, 10_000)
#: Exact planners do not depend on the width and are timed with this one.
REFERENCE_WIDTH = 128
#: Readouts that are timed beside VisitedGreedy, where the map is trained.
OTHER_READOUTS = [
    Greedy(),
    Backtracking(),
    Lookahead(2),
    Beam(4),
    BestFirst(),
    Corridor(),
    Corridor(guide=VisitedGreedy()),
]


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


def trained(side: int, width: int, data: Data) -> BCM | None:
    """The trained map of a U, if there is one."""
    folder = folder_of(f'ushape{side}', width)
    return BCM.load(folder, data) if folder.exists() else None


def one_search(adjacency: Adjacency, starts: Tensor) -> float:
    """Seconds of one single-source Dijkstra of scipy, with predecessors."""
    graph = adjacency.to_scipy()
    some = iter(starts.tolist() * 1000)
    return seconds_of(
        lambda: dijkstra(graph, indices=next(some), return_predecessors=True)
    )


def speed(side: int, width: int, quick: bool) -> dict[str, Any]:
    """Everything at one size, in units of one search."""
    data = grid(side)
    model = trained(side, width, data)
    is_trained = model is not None
    if model is None:
        data = planning_graph(weighted_grid('open', side, 'wide', 42))
        model = straight_map(width)
    adjacency = Adjacency.from_data(data)
    most = 100 if quick else 10_000 if data.num_nodes <= 300_000 else 1000
    sizes = [size for size in BATCHES if size <= most]
    planner = Planner(model, data, VisitedGreedy())
    starts, goals = sample_queries(data, max(sizes), seed=0)
    unit = one_search(adjacency, starts)
    ratio: dict[str, float] = {}
    row: dict[str, Any] = {
        'side': side,
        'width': width,
        'nodes': data.num_nodes,
        'trained': is_trained,
        'search_ms': 1e3 * unit,
        'cached_edges': keeps_edges(planner),
        'ratio': ratio,
    }
    batch = min(1000, max(sizes))
    pairs = list(zip(starts.tolist(), goals.tolist(), strict=True))[:100]
    one_by_one = seconds_of(lambda: [planner(*pair) for pair in pairs])
    ratio['VisitedGreedy, planner(int, int)'] = one_by_one / len(pairs) / unit
    for size in sizes:
        walk = partial(planner, starts[:size], goals[:size])
        plan: Plan = walk()
        row['success_rate'] = float(plan.success.float().mean())
        row['hops'] = float(plan.hops.float().mean())
        seconds = seconds_of(walk)
        ratio[f'VisitedGreedy, {size}'] = seconds / size / unit
        if size == batch:
            hop = seconds / int(plan.expansions.sum())
            row['hop_over_gemm'] = hop / _bare_product(model, batch)
    others = _exact(data) if width == REFERENCE_WIDTH else []
    if is_trained:
        others += [
            (str(readout), Planner(model, data, readout), batch)
            for readout in OTHER_READOUTS
        ]
    for name, other, few in others:
        some = min(few, batch)
        ends = starts[:some], goals[:some]
        ratio[name] = seconds_of(partial(other, *ends)) / some / unit
    row['search_ms_after'] = 1e3 * one_search(adjacency, starts)
    for name, value in ratio.items():
        print(f'N = {data.num_nodes:8} {name:24} {value:.4f}')
    return row


def keeps_edges(planner: Planner) -> bool:
    """Whether the planner keeps what edges contribute to scores.

    Makes it, if it does.
    """
    kept, _ = planner.scorer.for_kernels()  # type: ignore[attr-defined]
    return len(kept.slope) > 0


def _bare_product(model: BCM, batch: int) -> float:
    """Seconds of the product of a layer, for one of a batch of rows."""
    width = model.transition.hidden_channels
    a, b = torch.randn(batch, width), torch.randn(width, width)
    return seconds_of(lambda: a @ b) / batch


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
        out.append(('CPD', CPD(data), 1000))
    if size <= 50_000:
        graph = to_networkx(data, edge_attrs=['edge_cost'])

        def by_networkx(starts: Tensor, goals: Tensor) -> None:
            for start, goal in zip(
                starts.tolist(), goals.tolist(), strict=True
            ):
                nx.dijkstra_path(graph, start, goal, weight='edge_cost')

        out.append(('networkx', by_networkx, 10))
    return out

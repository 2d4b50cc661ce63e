"""How fast and how good readouts are.

``--speed``    time per query over one scipy Dijkstra, by size and batch
``--quality``  Gap against nodes touched and time, of every readout
``--memory``   peak memory of 10,000 queries at a million nodes

All of one size is timed in one process, so that ratios mean something. Speed
does not depend on what the weights are: where no trained map is at hand, an
untrained one is driven along the true routes (driven.py). Run it alone on the
machine.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import torch
from common import CACHE, parser, results_for
from driven import drive, sample_routes
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx
from tqdm import tqdm

from bcm_pyg import BCM, Planner, evaluate, planning_graph
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
from bcm_pyg.utils import Adjacency

READOUTS = {
    'Greedy()': Greedy(),
    'VisitedGreedy()': VisitedGreedy(),
    'Lookahead(2)': Lookahead(2),
    'Lookahead(4)': Lookahead(4),
    'Beam(4)': Beam(4),
    'Beam(16)': Beam(16),
    'BestFirst()': BestFirst(),
    'BestFirst(1.2)': BestFirst(1.2),
    'Corridor(0)': Corridor(0),
    'Corridor()': Corridor(),
    'Corridor(2)': Corridor(2),
}

#: Sides of the grids that are timed, and of those with a trained map.
SIDES = (40, 60, 200, 500, 1000)
TRAINED = {40: 600, 60: 1200}
BATCHES = (1, 10, 100, 1000, 10_000)


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


def trained(side: int, data: Data) -> BCM | None:
    """The map of the training table, if it is in the cache."""
    seconds = TRAINED.get(side)
    folder = CACHE / f'ushape-wide-{side}-sweeps-{seconds}s-42'
    if seconds is None or not folder.exists():
        return None
    return BCM.load(folder, data)


def one_search(adjacency: Adjacency, starts: Tensor) -> float:
    """Seconds of one single-source Dijkstra of scipy, with predecessors."""
    graph = adjacency.to_scipy()
    some = iter(starts.tolist() * 1000)
    return seconds_of(
        lambda: dijkstra(graph, indices=next(some), return_predecessors=True)
    )


def run_speed(args: Any) -> None:
    results = results_for('planning_speed', args.quick)
    for side in (40,) if args.quick else args.sides or SIDES:
        if results.find(side=side):
            continue
        results.add(speed(side, quick=args.quick))


def speed(side: int, quick: bool) -> dict[str, Any]:
    """Everything at one size, in units of one search."""
    data = planning_graph(weighted_grid('ushape', side, 'wide', 42))
    adjacency = Adjacency.from_data(data)
    model = trained(side, data)
    is_trained = model is not None
    seed_everything(0)
    model = BCM.from_data(data) if model is None else model
    sizes = [size for size in BATCHES if size <= (100 if quick else 10_000)]
    planner = Planner(model, data, VisitedGreedy())
    driver: Any = _Free(data, max(sizes))
    if not is_trained:
        num = min(max(sizes), data.num_nodes // 2)
        driver = drive(planner, sample_routes(adjacency, num, seed=0))
    num = driver.starts.numel()
    unit = one_search(adjacency, driver.starts)
    row: dict[str, Any] = {
        'side': side,
        'nodes': data.num_nodes,
        'trained': is_trained,
        'search_ms': 1e3 * unit,
        'cached_edges': planner.scorer.ranking is not None,
        'ratio': {},
    }
    ratio = row['ratio']
    for size in sizes:
        size = min(size, num)

        def walk(size: int = size) -> Plan:
            driver.begin()
            return planner(driver.starts[:size], driver.goals[:size])

        plan = walk()
        row['hops'] = float(plan.hops.float().mean())
        ratio[f'VisitedGreedy, {size}'] = seconds_of(walk) / size / unit
    batch = min(1000, num)
    starts, goals = driver.starts[:batch], driver.goals[:batch]
    hop = seconds_of(lambda: _hop(planner, driver, batch))
    row['hop_over_gemm'] = hop / _bare_gemm(batch)
    for name, other, few in _others(data):
        some = min(few, batch)
        took = seconds_of(partial(other, starts[:some], goals[:some]))
        ratio[name] = took / some / unit
    row['search_ms_after'] = 1e3 * one_search(adjacency, starts)
    for name, value in ratio.items():
        print(f'N = {data.num_nodes:8} {name:24} {value:.4f}')
    return row


class _Free:
    """Queries for a trained map, which finds its way by itself."""

    def __init__(self, data: Data, num: int) -> None:
        self.starts, self.goals = sample_queries(data, num, seed=0)

    def begin(self) -> None:
        """Nothing to prepare."""


def _hop(planner: Planner, driver: Any, batch: int) -> None:
    """One step of a batch of walks, without their beginning and end."""
    driver.begin()
    ranking = planner.scorer.ranking
    starts, goals = driver.starts[:batch], driver.goals[:batch]
    if ranking is None:
        planner.scorer(starts, goals)
    else:
        heads = ranking.table.head.index_select(0, starts)
        rows = driver.__dict__.setdefault('rows', ranking.goal_rows(goals))
        ranking(starts, goals, rows, heads).argmin(dim=1)


def _bare_gemm(batch: int) -> float:
    a, b = torch.randn(batch, 256), torch.randn(256, 256)
    return seconds_of(lambda: a @ b)


def _others(data: Data) -> list[tuple[str, Callable[..., Any], int]]:
    """Name, planner, and queries to time it with."""
    out: list[tuple[str, Callable[..., Any], int]] = [
        ('scipy, by goal', Dijkstra(data), 100 if len(data.pos) < 1e5 else 3),
    ]
    if data.num_nodes <= 300_000:
        out.append(('CCH', CCH(data), 1000))
    if data.num_nodes <= 4_000:
        out.append(('APSP tables', APSP(data), 1000))
    if data.num_nodes <= 50_000:
        graph = to_networkx(data, edge_attrs=['edge_cost'])

        def by_networkx(starts: Tensor, goals: Tensor) -> None:
            for start, goal in zip(
                starts.tolist(), goals.tolist(), strict=True
            ):
                nx.dijkstra_path(graph, start, goal, weight='edge_cost')

        out.append(('networkx', by_networkx, 10))
    return out


def run_quality(args: Any) -> None:
    results = results_for('planning_quality', args.quick)
    for side in (40,) if args.quick else (40, 60):
        data = planning_graph(weighted_grid('ushape', side, 'wide', 42))
        model = trained(side, data)
        if model is None:
            print(f'no trained map of side {side}: run training.py --table')
            continue
        starts, goals = sample_queries(data, args.pairs, seed=42)
        exact = evaluate(Dijkstra(data), data, starts, goals)
        for name, readout in tqdm(READOUTS.items()):
            key = {'side': side, 'readout': name, 'pairs': args.pairs}
            if results.find(**key):
                continue
            planner = Planner(model, data, readout)
            report = evaluate(planner, data, starts, goals)
            results.add(
                {
                    **key,
                    **report.as_dict(),
                    'touched': report.expansions / exact.expansions,
                    'search_ms': 1e3
                    * one_search(Adjacency.from_data(data), starts),
                }
            )


def run_memory(args: Any) -> None:
    """Alone in its process: the peak is that of everything before."""
    side, num = (100, 100) if args.quick else (1000, 10_000)
    data = planning_graph(weighted_grid('ushape', side, 'wide', 42))
    adjacency = Adjacency.from_data(data)
    graph = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    seed_everything(0)
    planner = Planner(BCM.from_data(data), data, VisitedGreedy())
    driver = drive(planner, sample_routes(adjacency, num, seed=0))
    driver.begin()
    plan = planner(driver.starts, driver.goals)
    results_for('planning_memory', args.quick).add(
        {
            'nodes': data.num_nodes,
            'queries': num,
            'success_rate': float(plan.success.float().mean()),
            'cached_edges': planner.scorer.ranking is not None,
            'graph_gigabytes': graph,
            'peak_gigabytes': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            / 1e6,
        }
    )


def main() -> None:
    flags = parser(__doc__)
    for part in ('speed', 'quality', 'memory'):
        flags.add_argument(f'--{part}', action='store_true')
    flags.add_argument('--sides', type=int, nargs='+')
    args = flags.parse_args()
    parts = {
        'speed': run_speed,
        'quality': run_quality,
        'memory': run_memory,
    }
    chosen = [run for part, run in parts.items() if getattr(args, part)]
    if not chosen:
        flags.error('choose --speed, --quality or --memory')
    for run in chosen:
        run(args)


if __name__ == '__main__':
    main()

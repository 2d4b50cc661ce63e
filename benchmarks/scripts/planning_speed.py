"""How fast readouts are.

``--grids``  time per query over one scipy Dijkstra, by size and batch
``--roads``  the same on large road networks, simplified

All of one size is timed in one process, so that ratios mean something. Speed
does not depend on what the weights are: where no trained map is at hand, one
that is made by hand walks straight over a grid without walls. Run it alone on
the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.lib.flags import part_flags, run_parts

#: Sides of the grids that are timed, widths of their maps, sizes of a batch.
SIDES = (40, 60, 200, 500, 1000)
WIDTHS = (128, 256, 96, 64)
BATCHES = (1, 10, 100, 1000, 10_000)

FLAGS = part_flags(__doc__, 'grids', 'roads')
FLAGS.add_argument('--sides', type=int, nargs='+', default=SIDES)
FLAGS.add_argument('--graphs', nargs='+', help='of the road networks')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from bcm_pyg import BCM, Plan, Planner, evaluate, planning_graph
from bcm_pyg.baselines import APSP, CCH, CPD, Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    Readout,
    VisitedGreedy,
)
from bcm_pyg.utils import Adjacency
from benchmarks.lib.measure import keeps_edges, one_search, seconds_of
from benchmarks.lib.results import Row, results_for
from benchmarks.lib.timed_maps import (
    TIMED_ROADS,
    straight_map,
    timed_grid,
    timed_map,
    timed_road,
)

#: Exact planners do not depend on the width and are timed with this one.
REFERENCE_WIDTH = 128
ROAD_READOUTS: list[Readout] = [
    VisitedGreedy(),
    Backtracking(),
    BestFirst(),
    Corridor(),
]
ROAD_QUERIES = 200
#: Readouts that are timed beside VisitedGreedy, where the map is trained.
TIMED_READOUTS: list[Readout] = [
    Greedy(),
    Backtracking(),
    Lookahead(2),
    Beam(4),
    BestFirst(),
    Corridor(),
    Corridor(guide=VisitedGreedy()),
]


def run_grids(args: Any) -> None:
    results = results_for('planning_speed', args.quick)
    for side in (40,) if args.quick else args.sides:
        # Without slopes, as at a million nodes, a hop takes long enough.
        widths = WIDTHS if side < 1000 and not args.quick else WIDTHS[:1]
        for width in widths:
            if not results.find(side=side, width=width):
                results.add(speed(side, width, quick=args.quick))


def speed(side: int, width: int, quick: bool) -> Row:
    """Everything at one size, in units of one search."""
    data = timed_grid(side)
    model = timed_map(f'ushape{side}', width, data)
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
    row: Row = {
        'side': side,
        'width': width,
        'nodes': data.num_nodes,
        'trained': is_trained,
        'search_ms': 1e3 * unit,
        'cached_edges': keeps_edges(planner, int(starts[0]), int(goals[0])),
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
            for readout in TIMED_READOUTS
        ]
    for name, other, few in others:
        some = min(few, batch)
        ends = starts[:some], goals[:some]
        ratio[name] = seconds_of(partial(other, *ends)) / some / unit
    if is_trained and width == REFERENCE_WIDTH:
        for readout in TIMED_READOUTS:
            other = Planner(model, data, readout)
            for size in (size for size in sizes if size != batch):
                ends = starts[:size], goals[:size]
                seconds = seconds_of(partial(other, *ends), least=0.2)
                ratio[f'{readout}, {size}'] = seconds / size / unit
    row['search_ms_after'] = 1e3 * one_search(adjacency, starts)
    for name, value in ratio.items():
        print(f'N = {data.num_nodes:8} {name:24} {value:.4f}')
    return row


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


def run_roads(args: Any) -> None:
    """Queries and routes of the full graphs, 200 pairs drawn at random."""
    results = results_for('road_speed', args.quick)
    for name, width in TIMED_ROADS:
        if results.find(graph=name) or name not in (args.graphs or [name]):
            continue
        graph = timed_road(name)
        model = timed_map(name, width, graph.data)
        if model is None:
            print(f'no map of {name}: run planning --maps')
            continue
        results.add(road_speed(graph, model, name))


def road_speed(graph: SimplifiedGraph, model: BCM, name: str) -> Row:
    """All readouts on one network, in one process."""
    starts, goals = sample_queries(graph.full, ROAD_QUERIES, seed=42)
    full, core = (Adjacency.from_data(d) for d in (graph.full, graph.data))
    some = sample_queries(graph.data, ROAD_QUERIES, seed=42)[0]
    row: Row = {
        'graph': name,
        'nodes': full.num_nodes,
        'simplified_nodes': core.num_nodes,
        'parameters': model.num_parameters(),
        'full_search_ms': 1e3 * one_search(full, starts),
        'simplified_search_ms': 1e3 * one_search(core, some),
        'readouts': {},
    }
    planners: dict[str, Any] = {
        str(r): Planner(model, graph, r) for r in ROAD_READOUTS
    }
    planners['CCH, full graph'] = CCH(graph.full)
    planners['CCH, simplified graph'] = CCH(graph)
    for readout, planner in planners.items():
        planner(starts, goals)  # what it keeps is made
        report = evaluate(planner, graph.full, starts, goals)
        seconds = seconds_of(partial(planner, starts, goals)) / ROAD_QUERIES
        row['readouts'][readout] = {
            'ms': 1e3 * seconds,
            'success_rate': report.success_rate,
            'gap': report.gap,
            'expansions': report.expansions,
        }
        print(
            f'{name:16} {readout:40} {1e3 * seconds:9.3f} ms', report, sep='\n'
        )
    row['full_search_ms_after'] = 1e3 * one_search(full, starts)
    row['simplified_search_ms_after'] = 1e3 * one_search(core, some)
    return row


def main(given: Sequence[str] | None = None) -> None:
    run_parts(FLAGS, given, grids=run_grids, roads=run_roads)


if __name__ == '__main__':
    main()

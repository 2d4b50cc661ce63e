"""How good readouts are, and what they take beside time.

``--maps``     trains the maps that readouts are timed with, in maps/
``--quality``  Gap against nodes expanded and time, of every readout
``--memory``   peak memory of 10,000 queries at a million nodes
``--compile``  seconds until the first planner of a process is built

Times are those of planning_speed. Rows and maps that are there are left alone.
Run it alone on the machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import part_flags, run_parts

FLAGS = part_flags(__doc__, 'maps', 'quality', 'memory', 'compile')
FLAGS.add_argument('--side', type=int, default=1000, help='of the large grid')
FLAGS.add_argument('--seconds', type=float, default=300, help='of a map')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from torch_geometric import seed_everything
from tqdm import tqdm

from bcm_pyg import BCM, Planner, evaluate, fit, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    VisitedGreedy,
)
from bcm_pyg.utils import Adjacency
from benchmarks.lib.measure import keeps_edges, one_search
from benchmarks.lib.results import results_for
from benchmarks.lib.timed_maps import (
    TIMED_GRIDS,
    TIMED_ROADS,
    straight_map,
    timed_grid,
    timed_map,
    timed_map_folder,
    timed_road,
)
from benchmarks.lib.trained_maps import fit_config

#: Readouts whose quality is compared, as rows call them.
READOUTS = {
    'Greedy()': Greedy(),
    'VisitedGreedy()': VisitedGreedy(),
    'Backtracking()': Backtracking(),
    'Lookahead(2)': Lookahead(2),
    'Lookahead(4)': Lookahead(4),
    'Beam(4)': Beam(4),
    'Beam(16)': Beam(16),
    'BestFirst()': BestFirst(),
    'BestFirst(1.2)': BestFirst(1.2),
    'Corridor(0, BestFirst())': Corridor(0, BestFirst()),
    'Corridor()': Corridor(),
    'Corridor(1, BestFirst())': Corridor(1, BestFirst()),
    'Corridor(guide=VisitedGreedy())': Corridor(guide=VisitedGreedy()),
}


def run_maps(args: Any) -> None:
    """One map per graph and width, our own settings, in half precision."""
    results = results_for('planning_maps', args.quick)
    jobs = [(f'ushape{side}', width) for side, width in TIMED_GRIDS]
    for name, width in [*jobs, *TIMED_ROADS]:
        folder = timed_map_folder(name, width)
        if folder.exists():
            continue
        is_grid = name.startswith('ushape')
        data = timed_grid(int(name[6:])) if is_grid else timed_road(name).data
        seed_everything(0)
        model = BCM.from_data(data, hidden_channels=width)
        config = fit_config(time_budget=args.seconds)
        history = fit(model, data, config, progress=True)
        model.save(folder, dtype='float16')
        results.add(
            {
                'map': name,
                'width': width,
                'nodes': data.num_nodes,
                'parameters': model.num_parameters(),
                'steps': history.steps,
                'seconds': history.seconds[-1],
            }
        )


def run_quality(args: Any) -> None:
    results = results_for('planning_quality', args.quick)
    for side, width in TIMED_GRIDS[:1] if args.quick else TIMED_GRIDS:
        data = timed_grid(side)
        model = timed_map(f'ushape{side}', width, data)
        if model is None:
            print(f'no trained map of side {side}: run --maps')
            continue
        starts, goals = sample_queries(data, args.pairs, seed=42)
        exact = evaluate(Dijkstra(data), data, starts, goals)
        for name, readout in tqdm(READOUTS.items()):
            key = {'side': side, 'width': width, 'readout': name}
            key |= {'pairs': args.pairs}
            if results.find(**key):
                continue
            planner = Planner(model, data, readout)
            planner(starts, goals)  # what it keeps of the edges is made
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
    side, num = args.side, 10_000
    if args.quick:
        side, num = 100, 100
    results = results_for('planning_memory', args.quick)
    key = {'nodes': side * side, 'queries': num}
    if results.find(**key):
        return
    data = planning_graph(weighted_grid('open', side, 'wide', 42))
    starts, goals = sample_queries(data, num, seed=0)
    graph = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    planner = Planner(straight_map(128), data, VisitedGreedy())
    cached_edges = keeps_edges(planner, int(starts[0]), int(goals[0]))
    plan = planner(starts, goals)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    results.add(
        {
            **key,
            'success_rate': float(plan.success.float().mean()),
            'cached_edges': cached_edges,
            'graph_gigabytes': graph,
            'peak_gigabytes': peak,
        }
    )


def run_compile(args: Any) -> None:
    """The first planner of a process, without and with compiled code kept."""
    results = results_for('planning_compile', args.quick)
    if results.find(what='first planner'):
        return
    code = (
        'import time; from bcm_pyg import BCM, Planner; '
        'from bcm_pyg.datasets import weighted_grid; '
        "data = weighted_grid('open', side=4); model = BCM.from_data(data); "
        'began = time.perf_counter(); Planner(model, data); '
        'print(time.perf_counter() - began)'
    )
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, 'NUMBA_CACHE_DIR': folder}
        fresh, kept = (
            float(
                subprocess.run(
                    [sys.executable, '-c', code],
                    env=env,
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            for _ in range(2)
        )
    results.add(
        {
            'what': 'first planner',
            'fresh_seconds': fresh,
            'kept_seconds': kept,
            'load': os.getloadavg()[0],
        }
    )


def main(given: Sequence[str] | None = None) -> None:
    run_parts(
        FLAGS,
        given,
        maps=run_maps,
        quality=run_quality,
        memory=run_memory,
        compile=run_compile,
    )


if __name__ == '__main__':
    main()

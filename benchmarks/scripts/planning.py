"""How fast and how good readouts are.

``--speed``    time per query over one scipy Dijkstra, by size and batch
``--quality``  Gap against nodes expanded and time, of every readout
``--memory``   peak memory of 10,000 queries at a million nodes
``--compile``  seconds until the first planner of a process is built

All of one size is timed in one process, so that ratios mean something. Speed
does not depend on what the weights are: where no trained map is at hand, one
that is made by hand walks straight over a grid without walls (straight_map.py).
Run it alone on the machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from typing import Any

from tqdm import tqdm

from bcm_pyg import Planner, evaluate, planning_graph
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
from benchmarks.lib.results import parser, results_for
from benchmarks.lib.straight_map import straight_map
from benchmarks.scripts.planning_maps import GRIDS, grid
from benchmarks.scripts.planning_speed import (
    keeps_edges,
    one_search,
    speed,
    trained,
)

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

#: Sides of the grids that are timed.
SIDES = (40, 60, 200, 500, 1000)
#: Widths of the maps.
WIDTHS = (128, 256, 96, 64)


def run_speed(args: Any) -> None:
    results = results_for('planning_speed', args.quick)
    for side in (40,) if args.quick else args.sides or SIDES:
        # Without slopes, as at a million nodes, a hop takes long enough.
        widths = WIDTHS if side < 1000 and not args.quick else WIDTHS[:1]
        for width in widths:
            if not results.find(side=side, width=width):
                results.add(speed(side, width, quick=args.quick))


def run_quality(args: Any) -> None:
    results = results_for('planning_quality', args.quick)
    for side, width in GRIDS[:1] if args.quick else GRIDS:
        data = grid(side)
        model = trained(side, width, data)
        if model is None:
            print(f'no trained map of side {side}: run planning_maps.py')
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
    side, num = (args.sides or [1000])[0], 10_000
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
    plan = planner(starts, goals)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    results.add(
        {
            **key,
            'success_rate': float(plan.success.float().mean()),
            'cached_edges': keeps_edges(planner),
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


def main() -> None:
    flags = parser(__doc__)
    for part in ('speed', 'quality', 'memory', 'compile'):
        flags.add_argument(f'--{part}', action='store_true')
    flags.add_argument('--sides', type=int, nargs='+', help='of the grids')
    args = flags.parse_args()
    parts = {
        'speed': run_speed,
        'quality': run_quality,
        'memory': run_memory,
        'compile': run_compile,
    }
    chosen = [run for part, run in parts.items() if getattr(args, part)]
    if not chosen:
        flags.error('choose --speed, --quality, --memory or --compile')
    for run in chosen:
        run(args)


if __name__ == '__main__':
    main()

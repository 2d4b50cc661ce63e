"""What a first use gives: ``CognitiveMap`` with plain defaults.

``--learn``     a minute of training on one thread, then routes of a loaded map
``--distance``  distances of many pairs, and from how many goals of one start on
                exact search is faster
``--imports``   seconds that the package adds to those of torch_geometric

Every time is taken twice, on the clock and as CPU time, and the load of the
machine stands beside it: with other work to do, CPU time is the one to read.
``--cpu`` trains for as many steps as take a minute of CPU time.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.lib.flags import QUICK_SIDE, part_flags, run_parts

#: Road networks that a first user might have, and seconds to learn them.
GRAPHS = ('melun', 'goldcoast')
SECONDS = 60.0
#: Maps that are kept, 128 wide, whose distances are timed.
TIMED = ('ushape40', 'sydney', 'rome_length')
WIDTH = 128
#: Pairs at once, and threads for them.
PAIRS, THREADS = 100_000, 2

FLAGS = part_flags(__doc__, 'learn', 'distance', 'imports')
FLAGS.add_argument('--cpu', action='store_true', help='budgets in CPU time')
FLAGS.set_defaults(seeds=[0], pairs=200)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from bcm_pyg import CognitiveMap, FitConfig
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import labels_of
from bcm_pyg.utils import Adjacency
from benchmarks.lib.cpu_time import milliseconds_per_step
from benchmarks.lib.graphs import Queries, load, sampled
from benchmarks.lib.measure import distance_error
from benchmarks.lib.results import Job, Row, results_for, run_jobs
from benchmarks.lib.timed_maps import timed_grid, timed_map, timed_road


class Times(NamedTuple):
    """Seconds."""

    wall: float
    cpu: float


def times_of(actions: Sequence[Callable[[], Any]], repeats: int = 5) -> Times:
    """The median of some actions, each the fastest of several times."""
    best = []
    for action in actions:
        action()
        times = []
        for _ in range(repeats):
            began = time.perf_counter(), time.process_time()
            action()
            wall = time.perf_counter() - began[0]
            times.append((wall, time.process_time() - began[1]))
        best.append(list(map(min, zip(*times, strict=True))))
    return Times(*map(statistics.median, zip(*best, strict=True)))


def load_of_machine() -> float:
    """Processes that want to run, the mean of the last minute."""
    return round(os.getloadavg()[0], 1)


# --- learn, load, ask ---------------------------------------------------------


def run_learn(args: Any) -> None:
    torch.set_num_threads(1)
    jobs = []
    for name in GRAPHS[:1] if args.quick else GRAPHS:
        seconds = SECONDS * args.budget
        if args.quick:
            name, seconds = f'ushape{QUICK_SIDE}', args.budget
        for seed in args.seeds:
            key = {'part': 'learn', 'graph': name, 'seed': seed}
            key |= {'budget_seconds': seconds, 'num_queries': args.pairs}
            key['clock'] = 'cpu' if args.cpu else 'wall'
            jobs.append(Job(key, partial(learned, key)))
    run_jobs(results_for('first_use', args.quick), jobs)


def learned(key: Row) -> Row:
    """Trains, saves and loads a map, and asks it for the routes of a file."""
    # Kernels are compiled before any clock runs.
    CognitiveMap.learn(np.zeros((5, 5), bool), 0.1, progress=False)
    name = key['graph']
    if name.startswith('ushape'):
        data = weighted_grid('ushape', int(name[6:]), 'wide', key['seed'])
        queries = sampled(data, key['num_queries'])
    else:
        data, queries = load(name, key['num_queries'])
    settings: Row = {'seed': key['seed'], 'progress': False}
    budget: Row = {'budget': key['budget_seconds']}
    if key['clock'] == 'cpu':
        budget = {'steps': steps_in(data, key['budget_seconds'], settings)}
    busy, began = load_of_machine(), time.process_time()
    atlas = CognitiveMap.learn(data, **budget, **settings)
    spent = time.process_time() - began
    with TemporaryDirectory() as folder:
        atlas.save(folder)
        atlas = CognitiveMap.load(folder)
    # Queries are rows of the file; a map is asked in names.
    names = labels_of(data)
    starts = [names[node] for node in queries.starts.tolist()]
    goals = [names[node] for node in queries.goals.tolist()]
    report = atlas.evaluate(starts, goals)
    pairs = zip(starts, goals, strict=True)
    route = times_of([partial(atlas.route, *pair) for pair in pairs])
    search = search_times(atlas)
    return {
        'nodes': int(atlas.data.num_nodes),
        'readout': str(getattr(atlas.planner, 'readout', None)),
        'steps': atlas.history.steps,
        'train_cpu_seconds': round(spent, 1),
        'success_rate': report.success_rate,
        'gap': report.gap,
        'route_ms': 1e3 * route.wall,
        'route_cpu_ms': 1e3 * route.cpu,
        'search_cpu_ms': 1e3 * search.cpu,
        'threads': 1,
        'load': max(busy, load_of_machine()),
    }


def steps_in(data: Data, seconds: float, settings: Row) -> int:
    """As many steps as take so long in CPU time."""
    atlas = CognitiveMap.learn(data, steps=1, **settings)
    core = atlas.data if atlas.simplified is None else atlas.simplified.data
    assert atlas.model is not None
    config = FitConfig(steps=1, regret=0.0)  # as learn has it
    step = milliseconds_per_step(atlas.model, core, config)
    return max(1, round(1e3 * seconds / step))


def search_times(atlas: CognitiveMap, num: int = 7) -> Times:
    """One search of scipy from a start to all nodes, without routes."""
    graph = Adjacency.from_data(atlas.data).to_scipy()
    starts = sample_queries(atlas.data, num, seed=0)[0].tolist()
    return times_of([partial(dijkstra, graph, indices=s) for s in starts])


# --- distances ----------------------------------------------------------------


def run_distance(args: Any) -> None:
    results = results_for('first_use', args.quick)
    num = 1000 if args.quick else PAIRS
    jobs = []
    for name in TIMED[:1] if args.quick else TIMED:
        key = {'part': 'distance', 'graph': name, 'pairs': num}
        jobs.append(Job(key, partial(distances, name, num)))
    run_jobs(results, jobs)


def distances(name: str, num: int) -> Row | None:
    """Microseconds a pair, and the goals at which exact search is as fast."""
    atlas = timed_atlas(name)
    if atlas is None:
        return None
    busy = load_of_machine()
    names = np.array(atlas.names)
    ends = sample_queries(atlas.data, num, seed=1)
    starts, goals = (names[end] for end in ends)
    torch.set_num_threads(THREADS)
    pair = times_of([partial(atlas.distance, starts, goals)], 15)
    torch.set_num_threads(1)
    alone = times_of([partial(atlas.distance, starts, goals)], 15)
    search = search_times(atlas)
    rng, curve, size = np.random.default_rng(0), [], 1
    while size <= len(names):
        some = rng.choice(names, size, replace=False)
        asked = [partial(atlas.distance, s, some) for s in starts[:7].tolist()]
        curve.append((size, times_of(asked).cpu))
        if curve[-1][1] > 2 * search.cpu:
            break
        size *= 2
    again = search_times(atlas)
    searched = (search.cpu + again.cpu) / 2
    known: Queries = sampled(atlas.data, 200, seed=42)
    return {
        'nodes': int(atlas.data.num_nodes),
        'pair_us': 1e6 * pair.wall / num,
        'pair_cpu_us': 1e6 * pair.cpu / num,
        'pair_one_thread_cpu_us': 1e6 * alone.cpu / num,
        'distance_error': distance_error(atlas.planner, known),
        'search_cpu_ms': 1e3 * search.cpu,
        'search_cpu_ms_after': 1e3 * again.cpu,
        'curve': [[size, 1e3 * seconds] for size, seconds in curve],
        'crossover': crossover(curve, searched),
        'threads': THREADS,
        'load': max(busy, load_of_machine()),
    }


def timed_atlas(name: str) -> CognitiveMap | None:
    """A map that is kept, in the object that is asked."""
    if name.startswith('ushape'):
        data = timed_grid(int(name[6:]))
        model = timed_map(name, WIDTH, data)
        return None if model is None else CognitiveMap(data, model)
    graph = timed_road(name)
    model = timed_map(name, WIDTH, graph.data)
    if model is None:
        return None
    return CognitiveMap(graph.full, model, simplified=graph)


def crossover(curve: Sequence[tuple[int, float]], search: float) -> int | None:
    """Goals of one start whose distances take as long as a search.

    Between two sizes that were measured, time is taken to be a line. 1 if one
    goal takes longer already, None if all goals do not.
    """
    last = (0, 0.0)
    for size, seconds in curve:
        if seconds >= search:
            if last[0] == 0:
                return size
            share = (search - last[1]) / (seconds - last[1])
            return round(last[0] + share * (size - last[0]))
        last = (size, seconds)
    return None


# --- imports ------------------------------------------------------------------

IMPORTS = """
import time
{before}
began = time.perf_counter(), time.process_time()
{code}
print(time.perf_counter() - began[0], time.process_time() - began[1])
"""
CODES = {
    'package': ('import torch_geometric', 'import bcm_pyg'),
    'all_names': ('import torch_geometric', 'from bcm_pyg import *'),
    'torch_geometric': ('', 'import torch_geometric'),
}


def run_imports(args: Any) -> None:
    results = results_for('first_use', args.quick)
    repeats = 1 if args.quick else 5
    run_jobs(
        results, [Job({'part': 'imports'}, partial(import_times, repeats))]
    )


def import_times(repeats: int) -> Row:
    """Seconds of imports, the fastest of some fresh processes."""
    row: Row = {'repeats': repeats}
    for name, (before, code) in CODES.items():
        script = IMPORTS.format(before=before, code=code)
        times = []
        for _ in range(repeats):
            done = subprocess.run(
                [sys.executable, '-c', script],
                capture_output=True,
                check=True,
                text=True,
            )
            times.append(list(map(float, done.stdout.split())))
        wall, cpu = zip(*times, strict=True)
        row[f'{name}_seconds'] = min(wall)
        row[f'{name}_cpu_seconds'] = min(cpu)
    return {**row, 'load': load_of_machine()}


def main(given: Sequence[str] | None = None) -> None:
    parts = {'learn': run_learn, 'distance': run_distance}
    run_parts(FLAGS, given, **parts, imports=run_imports)


if __name__ == '__main__':
    main()

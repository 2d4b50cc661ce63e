"""How wide a map should be: width and channels against Gap, bytes and time.

Every map of a graph has the same time. By default that is wall time on all
cores, and the machine should have nothing else to do; with ``--cpu`` it is CPU
time on one thread. Resumable, one row after the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.lib.flags import QUICK_SIDE, flags, parse

#: Minutes of training.
MINUTES = {'ushape40': 5, 'ushape100': 10, 'melun': 5, 'malta': 5}
FLAGS = flags(__doc__)
FLAGS.add_argument('--graphs', nargs='+', choices=MINUTES, default=[*MINUTES])
FLAGS.add_argument('--widths', type=int, nargs='+', default=[128, 96, 64, 256])
FLAGS.add_argument('--channels', type=int, nargs='+', default=[64, 32])
FLAGS.add_argument('--cpu', action='store_true', help='budgets in CPU time')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner, fit
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import Corridor, VisitedGreedy
from benchmarks.lib.cpu_time import fit_for_cpu_seconds
from benchmarks.lib.graphs import (
    Grid,
    Queries,
    load,
    sampled,
    simplified,
)
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import (
    Job,
    Row,
    results_for,
    run_jobs,
)
from benchmarks.lib.trained_maps import fit_config

#: Tables of real coordinates have four resolutions, which share the channels.
LEVELS = 4


def graph_of(
    name: str, pairs: int, seed: int
) -> tuple[Data, Queries, SimplifiedGraph | None]:
    """A graph, queries, and what is trained on."""
    if name in ('melun', 'malta'):
        data, queries = load(name, pairs)
        return data, queries, simplified(data)
    data = Grid('ushape', int(name.removeprefix('ushape')), 'wide', seed).data()
    return data, sampled(data, pairs, seed), None


def graph_bytes(data: Data) -> int:
    """Of adjacency and costs: 4 bytes a node, 8 an edge."""
    return 4 * (data.num_nodes + 1) + 8 * data.num_edges


def cpu_per_hop(planner: Planner, queries: Queries, most: int = 200) -> float:
    """Microseconds of CPU time for a hop of a walk."""
    starts, goals = queries.starts[:most], queries.goals[:most]
    hops = max(1, int(planner(starts, goals).hops.sum()))
    times = []
    for _ in range(3):
        began = time.process_time()
        planner(starts, goals)
        times.append(time.process_time() - began)
    return 1e6 * min(times) / hops


def measure_width(key: Row, cpu: bool) -> Row:
    """Trains the map of a key, and tells all of it."""
    seed, channels = key['seed'], key['channels']
    data, queries, graph = graph_of(key['graph'], key['num_queries'], seed)
    trained_on = data if graph is None else graph.data
    is_grid = data.get('coord') is not None
    seed_everything(seed)
    model = BCM.from_data(
        trained_on,
        hidden_channels=key['width'],
        channels=channels if is_grid else channels // LEVELS,
    )
    seconds = key['budget_seconds']
    settings = {'seed': seed, 'validations': 0}
    if cpu:
        config = fit_config(steps=1, **settings)
        history, step = fit_for_cpu_seconds(model, trained_on, config, seconds)
    else:
        config = fit_config(time_budget=seconds, **settings)
        history = fit(model, trained_on, config)
        step = 1e3 * seconds / max(1, history.steps)
    walk = planner_of(model, data, graph, VisitedGreedy())
    row: Row = {
        'nodes': data.num_nodes,
        'parameters': model.num_parameters(),
        'steps': history.steps,
        'step_ms': round(step, 3),
        **quality(walk, data, queries),
        'distance_error': distance_error(walk, queries),
        'hop_us': round(cpu_per_hop(walk, queries), 3),
        'float32_bytes': model.storage_bytes('float32'),
        'int8_bytes': model.storage_bytes('int8'),
        'graph_bytes': graph_bytes(data),
    }
    with TemporaryDirectory() as folder:
        model.save(folder, dtype='int8')
        small = planner_of(
            BCM.load(folder, trained_on), data, graph, VisitedGreedy()
        )
    row['int8_gap'] = quality(small, data, queries)['gap']
    corridor = planner_of(model, data, graph, Corridor())
    for field, value in quality(corridor, data, queries).items():
        row[f'corridor_{field}'] = value
    return row


def jobs_of(args: Any) -> list[Job]:
    """Graph by graph, the widths of a graph one after the other."""
    jobs = []
    for seed, name, channels, width in product(
        args.seeds, args.graphs, args.channels, args.widths
    ):
        seconds = 60.0 * MINUTES[name] * args.budget
        if args.quick:
            name, seconds = f'ushape{QUICK_SIDE}', args.budget
        key = {
            'graph': name,
            'width': width,
            'channels': channels,
            'seed': seed,
            'budget_seconds': seconds,
            'clock': 'cpu' if args.cpu else 'wall',
            'num_queries': args.pairs,
        }
        jobs.append(Job(key, partial(measure_width, key, args.cpu)))
    return jobs


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    results = results_for('widths', args.quick)
    if args.cpu:
        torch.set_num_threads(1)
    run_jobs(results, jobs_of(args))


if __name__ == '__main__':
    main()

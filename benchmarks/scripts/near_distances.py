"""Distances, near ones by a short exact search: error and time against n.

``Planner.distance(..., exact_within=n)`` on road networks, without landmarks,
with some, and with these alone: with the maps that readouts are timed with, and
on W_Jinan with maps trained here, self-supervised and on labels, by steps on
one thread. Random queries; on W_Jinan the first half of its published workload.
Time is CPU time on one thread. Resumable.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.lib.flags import flags, parse

#: Graphs with a map in maps/, and those that are trained here.
TIMED = ('sydney', 'malta_full', 'seattle_length', 'rome_length')
TRAINED = ('w_jinan',)
#: Expansions of the exact search.
LIMITS = (0, 30, 100, 300, 1000)
#: Landmarks of the planner.
LANDMARKS = (0, 8, 16, 48)
FLAGS = flags(__doc__)
FLAGS.add_argument('--graphs', nargs='+', default=[*TRAINED, *TIMED])
FLAGS.add_argument('--targets', nargs='+', default=['sweeps', 'exact'])
FLAGS.add_argument('--steps', type=int, default=20_000, help='of training')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner
from bcm_pyg.planning import EdgeScores
from bcm_pyg.utils import Adjacency
from benchmarks.lib.graphs import Queries, load, sampled, simplified
from benchmarks.lib.results import Job, Row, results_for, run_jobs
from benchmarks.lib.timed_maps import timed_map, timed_road
from benchmarks.lib.trained_maps import cache_name, fit_config, trained_map

#: Of the workload, what is reported; choices were made on the rest.
REPORTED = 5000
#: Trips are short, and their distances are asked for. A source is near to one
#: goal of its step, so fewer goals make more of the pairs near.
TRIPS: dict[str, Any] = {
    'near_goal_fraction': 0.8,
    'sources': 128,
    'goals': 8,
}
QUICK_STEPS = 20


def planner_for(key: Row, keep: bool) -> tuple[Planner, Queries, Row]:
    """A planner of the whole graph, its queries, and facts about its map."""
    name = key['graph']
    if name in TIMED:
        graph = timed_road(name)
        queries = sampled(graph.full, key['num_queries'], key['seed'])
    else:
        data, queries = load(name, REPORTED)
        graph = simplified(data)
        assert graph is not None
    scorer: object = _Nothing(Adjacency.from_data(graph.data))
    facts: Row = {'int8_bytes': 0}
    if key['map']:
        scorer = model = map_for(key, graph.data, keep)
        facts = {
            'parameters': model.num_parameters(),
            'int8_bytes': model.storage_bytes('int8'),
            'train_steps': model.info.training['steps'],
            'train_seconds': round(model.info.training['seconds'], 1),
        }
    planner = Planner(scorer, graph, landmarks=key['landmarks'])
    return planner, queries, facts


def map_for(key: Row, data: Data, keep: bool) -> BCM:
    """The map that readouts are timed with, or one that is trained here."""
    name, steps = key['graph'], key['budget_steps']
    if name in TIMED:
        model = timed_map(name, 128, data)
        if model is None:
            raise SystemExit(f'there is no map of {name} in maps/')
        return model
    seed = key['seed']
    config = fit_config(key['targets'], steps=steps, seed=seed, **TRIPS)
    named = cache_name(name, key['targets'], steps=steps, seed=seed)
    return trained_map(named, data, config, keep=keep)


class _Nothing:
    """A scorer that knows nothing, so that bounds are all there is."""

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency

    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """All edges of each node, at no cost."""
        edge, source = self.adjacency.out_edges(nodes)
        return EdgeScores(edge, source, torch.zeros(edge.numel()))


def measure_limits(key: Row, keep: bool) -> Row:
    """Error and time of each limit."""
    planner, queries, facts = planner_for(key, keep)
    few = queries.starts[:9], queries.goals[:9]
    planner.distance(*few, exact_within=9)  # landmarks are found now
    far = queries.cost > 0
    ends, cost = (queries.starts[far], queries.goals[far]), queries.cost[far]
    within = {}
    for limit in LIMITS:
        times = []
        for _ in range(3):
            began = time.process_time()
            found = planner.distance(*ends, exact_within=limit)
            times.append(time.process_time() - began)
        off = ((found - cost) / cost).abs()
        within[str(limit)] = {
            'mre': 100 * float(off.mean()),
            'exact': float((off < 1e-5).double().mean()),
            'cpu_us': 1e6 * min(times) / cost.numel(),
        }
    landmark_bytes = planner.bounds.num_bytes() if key['landmarks'] else 0
    return {
        **facts,
        'landmark_bytes': landmark_bytes,
        'queries': cost.numel(),
        'within': within,
    }


def jobs_of(args: Any) -> list[Job]:
    """A map with each number of landmarks, and landmarks alone."""
    jobs = []
    steps = QUICK_STEPS if args.quick else round(args.steps * args.budget)
    for name in args.graphs:
        kinds = args.targets if name in TRAINED else [None]
        ways = [(True, kind, number) for kind in kinds for number in LANDMARKS]
        ways += [(False, kinds[0], number) for number in LANDMARKS[1:]]
        for is_map, targets, landmarks in ways:
            key = {
                'graph': name,
                'targets': targets,
                'map': is_map,
                'landmarks': landmarks,
                'budget_steps': steps if name in TRAINED else None,
                'seed': args.seeds[0],
                'num_queries': args.pairs,
            }
            run = partial(measure_limits, key, keep=not args.quick)
            jobs.append(Job(key, run))
    return jobs


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    torch.set_num_threads(1)
    run_jobs(results_for('near_distances', args.quick), jobs_of(args))


if __name__ == '__main__':
    main()

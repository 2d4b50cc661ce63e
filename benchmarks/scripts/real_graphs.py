"""Maps of real graphs: roads, game maps, terrain, voxels, a power grid.

Every graph is trained with the defaults for 5 minutes on two cores, 15 beyond
30,000 nodes, and read out in every way, on its own queries, beside exact
search. Dead ends and chains are taken out first where they are many
(``simplify_graph``). With ``--cpu`` it is trained for as many steps as that
time is worth, by the CPU time of a step, for a machine that has other work.
Resumable: rows that are there are not run again; of a readout that has come
since only that is measured, on the same map, which is kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.lib.flags import flags, parse

FLAGS = flags(__doc__)
FLAGS.add_argument('--graphs', nargs='+', metavar='NAME')
FLAGS.add_argument('--max-nodes', type=int, default=300_000)
FLAGS.set_defaults(pairs=5000)  # all that a graph has
FLAGS.add_argument('--cpu', action='store_true', help='budgets in CPU time')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg import BCM, FitConfig, Planner
from bcm_pyg.baselines import CCH, CPD, Dijkstra
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    EdgeScores,
    Greedy,
    LandmarkBounds,
    Lookahead,
    Plan,
    Readout,
    VisitedGreedy,
    choose_corridor,
)
from bcm_pyg.utils import Adjacency
from benchmarks.lib.cpu_time import milliseconds_per_step
from benchmarks.lib.graphs import (
    GRAPHS,
    REAL_SECONDS,
    Queries,
    load,
    sampled,
    simplified,
)
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import Results, Row, provenance, results_for
from benchmarks.lib.trained_maps import (
    CACHE,
    cache_name,
    cached_map,
    fit_config,
    is_cached,
    settings_of,
    trained_map,
    training_of,
)

READOUTS: dict[str, Readout] = {
    'VisitedGreedy': VisitedGreedy(),
    'Greedy': Greedy(),
    'Backtracking': Backtracking(),
    'Lookahead(2)': Lookahead(2),
    'Beam(4)': Beam(4),
    'BestFirst': BestFirst(),
    'BestFirst(1.2)': BestFirst(1.2),
    'Corridor': Corridor(),
    'Corridor of walks': Corridor(guide=VisitedGreedy()),
}

#: The readout that ``choose_corridor`` takes for a map.
CHOSEN = 'chosen'

#: Seconds of training beyond so many nodes.
MORE_SECONDS, MANY_NODES = 900, 30_000
#: What two cores do in the time of one. Measured on the U of N = 1600: a step
#: takes 6.0 ms on two threads, 7.2 ms on one.
SECOND_CORE = 1.2
#: Queries beyond so many nodes: at most, and drawn where a graph has fewer.
FEWER_QUERIES = 500
#: An exact peer is built up to so many nodes (its build grows with N^2).
MAX_CPD_NODES = 6000


class LandmarkSearch(Planner):
    """A* with bounds from landmarks, the exact way to expand fewer nodes.

    A planner that finds no route and is asked to prove the best: the proof is
    such a search, in which nodes that are reached at less cost open again.
    """

    def __init__(self, data: Data | SimplifiedGraph, landmarks: int) -> None:
        super().__init__(
            _no_scores, data, _no_routes, epsilon=0.0, landmarks=landmarks
        )
        self.complete = False  # that is what the proof is for
        _ = self.bounds  # found now, not at the first query


def _no_scores(nodes: Tensor, goals: Tensor) -> EdgeScores:
    raise AssertionError('no map is asked')


def _no_routes(
    scorer: Any, adjacency: Adjacency, starts: Tensor, goals: Tensor
) -> Plan:
    """The readout that finds nothing."""
    cost = torch.full_like(starts, math.inf, dtype=torch.float64)
    nothing = torch.full_like(starts, -1)[:, None]
    return Plan.from_routes(cost, nothing, torch.zeros_like(starts))


def run_graph(name: str, args: Any, results: Results) -> None:
    seconds = MORE_SECONDS if has_many_nodes(name) else REAL_SECONDS
    seconds, seed = seconds * args.budget, args.seeds[0]
    key = {'graph': name, 'budget_seconds': seconds, 'seed': seed}
    row = results.find(**key)
    if row is None:
        loaded = load_with_queries(name, args.pairs)
        row = new_row(key, *loaded, args.cpu, keep=not args.quick)
        results.add(row)
        say(name, row['methods'], row)
        return
    labels = [*READOUTS, CHOSEN]
    missing = [label for label in labels if label not in row['methods']]
    if missing and not is_cached(map_name(key)):
        tqdm.write(f'{name}: its map is gone, not measured: {missing}')
    elif missing:
        loaded = load_with_queries(name, row['queries'])
        methods = later_readouts(row, missing, *loaded)
        results.extend(key, 'methods', methods)
        say(name, methods, row)


def has_many_nodes(name: str) -> bool:
    """Whether a graph is trained longer, and asked fewer queries."""
    return GRAPHS[name][1] > MANY_NODES


def load_with_queries(name: str, pairs: int) -> tuple[Data, Queries]:
    """A graph and its queries, at most so many."""
    if not has_many_nodes(name):
        return load(name, pairs)
    pairs = min(pairs, FEWER_QUERIES)
    data, queries = load(name, pairs)
    missing = pairs - queries.starts.numel()
    if missing > 0:
        both = zip(queries, sampled(data, missing), strict=True)
        queries = Queries(*map(torch.cat, both))
    return data, queries


def say(name: str, methods: Row, row: Row) -> None:
    """Prints what was measured."""
    settled = row['methods']['Dijkstra']['expansions']
    for label, method in methods.items():
        gap = math.nan if method['gap'] is None else method['gap']
        tqdm.write(
            f'{name:18} {label:17} SR {method["success_rate"]:.3f} Gap '
            f'{gap:7.2f} %, expands {method["expansions"] / settled:.3f}'
        )


def map_name(row: Row) -> str:
    """The folder of a map in the cache."""
    seconds, seed = row['budget_seconds'], row['seed']
    return cache_name('real', row['graph'], seconds=seconds, seed=seed)


def new_row(
    key: Row, data: Data, queries: Queries, cpu: bool, keep: bool
) -> Row:
    """A map of a graph, read out in every way, and the exact peers."""
    graph = simplified(data)
    trained_on = data if graph is None else graph.data
    name, seed = map_name(key), key['seed']
    config = fit_config(time_budget=key['budget_seconds'], seed=seed)
    if cpu and not is_cached(name):
        steps = steps_worth(name, trained_on, config)
        config = replace(config, time_budget=None, steps=steps)
    model = trained_map(name, trained_on, config, keep=keep)
    walk = planner_of(model, data, graph, VisitedGreedy())
    row = {
        **key,
        'nodes': data.num_nodes,
        'edges': data.num_edges,
        'decisions': trained_on.num_nodes,
        'queries': queries.starts.numel(),
        'parameters': model.num_parameters(),
        'megabytes': model.storage_bytes() / 1e6,
        'int8_megabytes': model.storage_bytes('int8') / 1e6,
        **settings_of(model),
        **training_of(model),
        'mre': distance_error(walk, queries),
    }
    row['methods'] = {
        **by_readouts([*READOUTS, CHOSEN], model, data, graph, queries),
        **by_peers(model, data, graph, queries),
    }
    return row


def steps_worth(name: str, data: Data, config: FitConfig) -> int:
    """Steps that two cores make in the time of a configuration.

    A training that is resumed must not measure it again.
    """
    note = CACHE / f'{name}.steps'
    if note.exists():
        return int(note.read_text())
    assert config.time_budget is not None
    step = milliseconds_per_step(BCM.from_data(data), data, config)
    steps = round(1e3 * config.time_budget * SECOND_CORE / step)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(str(steps))
    return steps


def by_readouts(
    labels: list[str],
    model: BCM,
    data: Data,
    graph: SimplifiedGraph | None,
    queries: Queries,
) -> Row:
    """Routes of a map in several ways."""
    methods: Row = {}
    for label in labels:
        if label == CHOSEN:
            planner = planner_of(model, data, graph, VisitedGreedy())
            began = time.perf_counter()
            planner.readout = choose_corridor(planner)
            chosen = {
                'readout': repr(planner.readout),
                'choice_seconds': time.perf_counter() - began,
            }
        else:
            planner = planner_of(model, data, graph, READOUTS[label])
            chosen = {}
        methods[label] = {**quality(planner, data, queries), **chosen}
    return methods


def by_peers(
    model: BCM, data: Data, graph: SimplifiedGraph | None, queries: Queries
) -> Row:
    """Exact searches and indices."""
    smaller = data if graph is None else graph
    adjacency = Adjacency.from_data(data if graph is None else graph.data)
    one = LandmarkBounds(adjacency, 1).num_bytes()
    landmarks = min(model.storage_bytes() // one, adjacency.num_nodes)
    peers: dict[str, Any] = {
        'Dijkstra': partial(Dijkstra, data),
        'A*, 16 landmarks': partial(LandmarkSearch, data, 16),
        'CCH': partial(CCH, data),
    }
    if graph is not None:
        peers['Dijkstra, simplified'] = partial(Dijkstra, graph)
    if landmarks > 0:  # as many as take the bytes of the map
        same = partial(LandmarkSearch, smaller, landmarks)
        peers['A*, bytes of the map'] = same
    if data.num_nodes <= MAX_CPD_NODES:
        peers['CPD'] = partial(CPD, data)
    methods = {}
    for label, build in peers.items():
        began = time.perf_counter()
        peer = build()
        build_seconds = time.perf_counter() - began
        peer(queries.starts[:1], queries.goals[:1])  # the first loads kernels
        methods[label] = {
            **quality(peer, data, queries),
            'megabytes': peer.storage_bytes() / 1e6,
            'build_seconds': build_seconds,
        }
    return methods


def later_readouts(
    row: Row, labels: list[str], data: Data, queries: Queries
) -> Row:
    """What a row lacks, by its map, and where that comes from."""
    name = map_name(row)
    graph = simplified(data)
    model = cached_map(name, data if graph is None else graph.data)
    if training_of(model)['steps'] != row['steps']:
        raise SystemExit(f'the map {name} is not that of its row: remove it')
    methods = by_readouts(labels, model, data, graph, queries)
    return {
        label: {**method, **provenance()} for label, method in methods.items()
    }


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    names = args.graphs or [
        name for name, (_, nodes) in GRAPHS.items() if nodes <= args.max_nodes
    ]
    if unknown := set(names) - set(GRAPHS):
        FLAGS.error(f'no graphs {sorted(unknown)}: choose from {[*GRAPHS]}')
    if args.quick:
        names, args.budget = ['helsinki_centre', 'arena'], 20 / REAL_SECONDS
    if args.cpu:
        torch.set_num_threads(1)
    results = results_for('real_graphs', args.quick)
    for name in tqdm(names, unit='graph'):
        run_graph(name, args, results)


if __name__ == '__main__':
    main()

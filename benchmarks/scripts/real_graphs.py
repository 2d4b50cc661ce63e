"""Maps of real graphs: roads, game maps, terrain, voxels, a power grid.

Every graph is trained for a fixed time and read out in every way, on its own
queries, beside exact search. Dead ends and chains are taken out first where
they are many (``simplify_graph``). Resumable: rows that are there are not run
again; of a readout that has come since only that is measured, on the same map.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import flags, parse

FLAGS = flags(__doc__)
FLAGS.add_argument('--graphs', nargs='+', metavar='NAME')
FLAGS.add_argument('--max-nodes', type=int, default=30_000)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg import Planner
from bcm_pyg.baselines import CCH, CPD, Dijkstra
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    EdgeScores,
    Greedy,
    Lookahead,
    Plan,
    Readout,
    VisitedGreedy,
)
from bcm_pyg.utils import Adjacency
from benchmarks.lib.graphs import GRAPHS, Queries, load, sampling, simplified
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import Results, Row, provenance, results_for
from benchmarks.lib.trained_maps import (
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

#: An exact peer is built up to so many nodes (its build grows with N^2).
MAX_CPD_NODES = 6000


class LandmarkSearch(Planner):
    """A* with bounds from 16 landmarks, the exact way to expand fewer nodes.

    A planner that finds no route and is asked to prove the best: the proof is
    such a search, in which nodes that are reached at less cost open again.
    """

    def __init__(self, data: Data) -> None:
        super().__init__(_no_scores, data, _no_routes, epsilon=0.0)
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
    seconds = GRAPHS[name][2] * args.budget
    seed = args.seeds[0]
    key = {'graph': name, 'budget_seconds': seconds, 'seed': seed}
    row = results.find(**key)
    if row is None:
        row = new_row(key, *load(name, args.pairs))
        results.add(row)
        say(name, row['methods'], row)
        return
    missing = [label for label in READOUTS if label not in row['methods']]
    if missing and not is_cached(map_name(key)):
        tqdm.write(f'{name}: its map is gone, not measured: {missing}')
    elif missing:
        data, queries = load(name, row['queries'])
        methods = later_readouts(row, missing, data, queries)
        results.extend(key, 'methods', methods)
        say(name, methods, row)


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


def new_row(key: Row, data: Data, queries: Queries) -> Row:
    """A map of a graph, read out in every way, and the exact peers."""
    graph = simplified(data)
    trained_on = data if graph is None else graph.data
    seconds, seed = key['budget_seconds'], key['seed']
    settings = sampling(key['graph'])
    config = fit_config(time_budget=seconds, seed=seed, **settings)
    model = trained_map(map_name(key), trained_on, config)
    planner = planner_of(model, data, graph, VisitedGreedy())
    methods = {
        label: quality(planner_of(model, data, graph, readout), data, queries)
        for label, readout in READOUTS.items()
    }
    peers: dict[str, Any] = {
        'Dijkstra': Dijkstra,
        'A*, 16 landmarks': LandmarkSearch,
        'CCH': CCH,
    }
    if data.num_nodes <= MAX_CPD_NODES:
        peers['CPD'] = CPD
    for label, build in peers.items():
        began = time.perf_counter()
        peer = build(data)
        build_seconds = time.perf_counter() - began
        methods[label] = {
            **quality(peer, data, queries),
            'megabytes': peer.storage_bytes() / 1e6,
            'build_seconds': build_seconds,
        }
    return {
        **key,
        'nodes': data.num_nodes,
        'edges': data.num_edges,
        'decisions': trained_on.num_nodes,
        'queries': queries.starts.numel(),
        'parameters': model.num_parameters(),
        'megabytes': model.storage_bytes() / 1e6,
        **settings_of(model),
        **training_of(model),
        'methods': methods,
        'mre': distance_error(planner, queries),
    }


def later_readouts(
    row: Row, labels: list[str], data: Data, queries: Queries
) -> Row:
    """What a row lacks, by its map, and where that comes from."""
    name = map_name(row)
    graph = simplified(data)
    model = cached_map(name, data if graph is None else graph.data)
    if training_of(model)['steps'] != row['steps']:
        raise SystemExit(f'the map {name} is not that of its row: remove it')
    return {
        label: {
            **quality(
                planner_of(model, data, graph, READOUTS[label]), data, queries
            ),
            **provenance(),
        }
        for label in labels
    }


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    names = args.graphs or [
        name for name, row in GRAPHS.items() if row[1] <= args.max_nodes
    ]
    if unknown := set(names) - set(GRAPHS):
        FLAGS.error(f'no graphs {sorted(unknown)}: choose from {[*GRAPHS]}')
    if args.quick:
        names, args.budget = ['helsinki_centre', 'arena'], 20 / 600
    results = results_for('real_graphs', args.quick)
    for name in tqdm(names, unit='graph'):
        run_graph(name, args, results)


if __name__ == '__main__':
    main()

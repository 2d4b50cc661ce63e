"""Maps of real graphs: roads, game maps, terrain, voxels, a power grid.

Every graph is trained for a fixed time and read out in every way, on its own
queries, beside exact search. Forced moves are taken out first where they are
many (``simplify_graph``). Resumable: rows that are there are not run again; of
a readout that has come since only that is measured, on the same map.
"""

from __future__ import annotations

import math
import time
from typing import Any

import torch
from common import (
    CACHE,
    PROVENANCE,
    Results,
    is_cached,
    parser,
    results_for,
    trained_map,
)
from real_data import GRAPHS, Queries, load, sampling
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg import BCM, BCMError, FitConfig, Planner, evaluate
from bcm_pyg.baselines import CCH, CPD, Dijkstra
from bcm_pyg.graph import SimplifiedGraph, simplify_graph
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

#: Take out forced nodes where they are at least this share of all.
FORCED_SHARE = 0.1

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

#: Settings of the training that a row tells.
SETTINGS = (
    'sweeps',
    'draws',
    'seeds',
    'renew_every',
    'near',
    'sources',
    'goals',
)

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


def reduced(data: Data) -> SimplifiedGraph | None:
    """The simplified graph, where it is worth it."""
    try:
        graph = simplify_graph(data)
    except BCMError:
        return None
    forced = 1 - graph.node.numel() / data.num_nodes
    return graph if forced >= FORCED_SHARE else None


def quality(planner: Any, data: Data, queries: Queries) -> dict[str, Any]:
    """SR, Gap, nodes expanded and time of a planner."""
    report = evaluate(planner, data, queries.starts, queries.goals).as_dict()
    names = ('success_rate', 'gap', 'expansions', 'seconds_per_query')
    # Without a success there is no Gap, and JSON has no NaN.
    return {
        name: None if math.isnan(report[name]) else report[name]
        for name in names
    }


def distance_error(planner: Any, queries: Queries) -> float:
    """Mean relative error of estimated distances, in percent."""
    far = queries.cost > 0
    estimate = planner.distance(queries.starts[far], queries.goals[far])
    return 100 * float(
        ((estimate - queries.cost[far]) / queries.cost[far]).abs().mean()
    )


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


def say(name: str, methods: dict[str, Any], row: dict[str, Any]) -> None:
    """Prints what was measured."""
    settled = row['methods']['Dijkstra']['expansions']
    for label, method in methods.items():
        gap = math.nan if method['gap'] is None else method['gap']
        tqdm.write(
            f'{name:18} {label:17} SR {method["success_rate"]:.3f} Gap '
            f'{gap:7.2f} %, expands {method["expansions"] / settled:.3f}'
        )


def map_name(key: dict[str, Any]) -> str:
    """The folder of a map in the cache."""
    return f'real-{key["graph"]}-{key["budget_seconds"]:g}s-{key["seed"]}'


def planner_of(
    model: BCM, data: Data, graph: SimplifiedGraph | None, readout: Readout
) -> Any:
    """A planner of the whole graph, with all that it keeps made."""
    planner = Planner(model, data if graph is None else graph, readout)
    planner.scorer.for_kernels()  # type: ignore[attr-defined]
    return planner


def settings_of(model: BCM) -> dict[str, Any]:
    """Settings of the training of a map, defaults filled in."""
    return {field: model.info.training['config'][field] for field in SETTINGS}


def new_row(
    key: dict[str, Any], data: Data, queries: Queries
) -> dict[str, Any]:
    """A map of a graph, read out in every way, and the exact peers."""
    graph = reduced(data)
    trained_on = data if graph is None else graph.data
    seconds, seed = key['budget_seconds'], key['seed']
    model, training = trained_map(
        map_name(key),
        trained_on,
        FitConfig(time_budget=seconds, seed=seed, **sampling(key['graph'])),
        seed,
    )
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
        **training,
        'methods': methods,
        'mre': distance_error(planner, queries),
    }


def later_readouts(
    row: dict[str, Any], labels: list[str], data: Data, queries: Queries
) -> dict[str, Any]:
    """What a row lacks, by its map, and where that comes from."""
    name = map_name(row)
    graph = reduced(data)
    model = BCM.load(CACHE / name, data if graph is None else graph.data)
    if model.info.training['benchmark']['steps'] != row['steps']:
        raise SystemExit(f'the map {name} is not that of its row: remove it')
    return {
        label: {
            **quality(
                planner_of(model, data, graph, READOUTS[label]), data, queries
            ),
            **PROVENANCE,
        }
        for label in labels
    }


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument('--graphs', nargs='+', choices=[*GRAPHS], metavar='NAME')
    flags.add_argument('--max-nodes', type=int, default=30_000)
    args = flags.parse_args()
    names = args.graphs or [
        name for name, row in GRAPHS.items() if row[1] <= args.max_nodes
    ]
    if args.quick:
        names, args.budget = ['helsinki_centre', 'arena'], 20 / 600
    results = results_for('real_graphs', args.quick)
    for name in tqdm(names, unit='graph'):
        run_graph(name, args, results)


if __name__ == '__main__':
    torch.set_num_threads(PROVENANCE['threads'])
    main()

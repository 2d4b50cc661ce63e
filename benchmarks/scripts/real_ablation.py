"""What encoders, loss, targets and simplification are worth on real roads.

``--encoders``  what each encoder gives per megabyte: the same graph, settings
                and time (``--seconds``) or steps (``--steps``, for a machine
                that is busy) for all. Landmarks are built with exact searches
                from a few nodes; no other encoder sees any
``--changes``   one change at a time on the roads of Andorra, where edges of
                0.04 and of 522 seconds meet, the same steps for all, on queries
                that are not those of the file, so that nothing is chosen by
                them

Dead ends and chains are taken out first where they are many, as in
real_graphs. Resumable: rows that are there are not run again. ``--quick`` takes
a minute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import part_flags, run_parts

#: Name of an encoder and its arguments, by what the table calls it.
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    'axis tables': ('interaction', {}),
    'axis tables, no grids': ('interaction', {'grids': ()}),
    'axis tables, 128 even bins': (
        'interaction',
        {'bins': 128, 'levels': 1, 'knots': 0, 'grids': ()},
    ),
    'grids': ('grid', {}),
    'axis tables + node table': ('interaction+node_table', {}),
    'landmarks': ('landmark', {}),
    'axis tables + landmarks': ('interaction+landmark', {}),
    'GNN': ('gnn', {}),
    'axis tables + GNN': ('interaction+gnn', {}),
    'k-hot': ('k_hot', {}),
    'one-hot': ('one_hot', {}),
}
QUICK_ENCODERS = ['axis tables', 'axis tables + landmarks']

#: Settings that differ from the default, by what rows call the change. Twice
#: the backups start from a quarter of the values: they need fewer, and so the
#: minimum over them is less too low.
CHANGES: dict[str, dict[str, Any]] = {
    'default': {},
    'errors: absolute': {'relative': False},
    'ranking: none': {'ranking': 0.0},
    'ranking: three times': {'ranking': 0.012},
    'sources: half near the goals': {'near_goal_fraction': 0.5},
    'targets: twice the backups': {'num_backups': 50, 'bootstrap_nodes': 14},
    'targets: exact (supervised)': {'targets': 'exact'},
    'forced moves kept': {},
}

FLAGS = part_flags(__doc__, 'encoders', 'changes')
FLAGS.add_argument(
    '--only',
    nargs='+',
    default=[*ENCODERS, *CHANGES],
    metavar='NAME',
    help='encoders or changes',
)
FLAGS.add_argument(
    '--graphs',
    nargs='+',
    default=['andorra', 'melun', 'goldcoast', 'w_jinan'],
    metavar='NAME',
    help='for the encoders',
)
FLAGS.add_argument('--targets', nargs='+', default=['sweeps', 'exact'])
FLAGS.add_argument('--seconds', type=float, default=300.0)
FLAGS.add_argument('--steps', type=int, help='instead of seconds')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from torch_geometric import seed_everything
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg import BCM, FitConfig, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries
from bcm_pyg.planning import BestFirst, VisitedGreedy
from benchmarks.lib.graphs import Queries, load, simplified
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import Row, results_for
from benchmarks.lib.trained_maps import fit_config, settings_of

#: Steps of a change, and seed of the queries.
CHANGE_STEPS, QUERIES_SEED = 2000, 7


def run_encoders(args: Any) -> None:
    if args.quick:
        args.graphs, args.only = ['andorra'], QUICK_ENCODERS
        args.targets, args.seconds = ['exact'], 20.0
    results = results_for('encoders_real', args.quick)
    jobs = [
        (graph, targets, encoder, seed)
        for graph in args.graphs
        for targets in args.targets
        for seed in args.seeds
        for encoder in ENCODERS
        if encoder in args.only
    ]
    for graph, targets, encoder, seed in tqdm(jobs, unit='map'):
        seconds = None if args.steps else args.seconds * args.budget
        key = {
            'graph': graph,
            'encoder': encoder,
            'targets': targets,
            'budget_seconds': seconds,
            'budget_steps': args.steps,
            'seed': seed,
            'reduced': True,  # rows from before had all forced moves
        }
        if results.find(**key):
            continue
        config = fit_config(
            targets,
            time_budget=seconds,
            steps=args.steps,
            seed=seed,
            validation_queries=0,
        )
        row = {
            **key,
            **encoder_row(*load(graph, args.pairs), *ENCODERS[encoder], config),
        }
        results.add(row)
        tqdm.write(
            f'{graph:10} {targets:7} {encoder:26} {row["megabytes"]:5.2f} MB, '
            f'MRE {row["mre"]:6.2f} %, SR {row["success_rate"]:.3f}, Gap '
            f'{row["gap"]} %, {row["steps"]} steps'
        )


def encoder_row(
    data: Data,
    queries: Queries,
    encoder: str,
    arguments: dict[str, Any],
    config: FitConfig,
) -> Row:
    """Training, size, error of distances, and routes of the paper's readout."""
    graph = simplified(data)
    trained_on = data if graph is None else graph.data
    seed_everything(config.seed)
    began = time.perf_counter()
    model = BCM.from_data(trained_on, encoder, **arguments)
    build_seconds = time.perf_counter() - began
    history = fit(model, trained_on, config)
    train_seconds = time.perf_counter() - began
    planner = planner_of(model, data, graph, VisitedGreedy())
    return {
        'nodes': data.num_nodes,
        **settings_of(model),
        'queries': queries.starts.numel(),
        'build_seconds': round(build_seconds, 2),
        'train_seconds': round(train_seconds, 1),
        'steps': history.steps,
        'rows_per_second': round(history.rows_per_second),
        'parameters': model.num_parameters(),
        'encoder_parameters': sum(
            p.numel() for p in model.encoder.parameters()
        ),
        'embedding': model.encoder.out_channels,
        'megabytes': model.storage_bytes() / 1e6,
        'mre': distance_error(planner, queries),
        **quality(planner, data, queries),
    }


def run_changes(args: Any) -> None:
    steps = max(round((args.steps or CHANGE_STEPS) * args.budget), 1)
    if args.quick:
        steps = 20
    results = results_for('heavy_tails', args.quick)
    jobs = [
        (change, seed)
        for seed in args.seeds
        for change in CHANGES
        if change in args.only
    ]
    for change, seed in tqdm(jobs, unit='map'):
        key = {'change': change, 'steps': steps, 'seed': seed}
        key['queries'] = args.pairs
        if results.find(**key):
            continue
        row = change_row(change, steps, seed, args.pairs)
        results.add({**key, **row})
        walk = row['methods']['VisitedGreedy']
        tqdm.write(
            f'{change:28} MRE {row["mre"]:.1f} %, SR '
            f'{walk["success_rate"]:.3f}, Gap {walk["gap"]} %'
        )


def change_row(change: str, steps: int, seed: int, pairs: int) -> Row:
    """A map with this change, and what it is worth."""
    data, _ = load('andorra', 1)
    graph = None if change == 'forced moves kept' else simplified(data)
    trained_on = data if graph is None else graph.data
    starts, goals = sample_queries(data, pairs, seed=QUERIES_SEED)
    queries = Queries(starts, goals, Dijkstra(data)(starts, goals).cost)
    config = fit_config(
        steps=steps, seed=seed, validation_queries=0, **CHANGES[change]
    )
    seed_everything(seed)
    began = time.perf_counter()
    model = BCM.from_data(trained_on)
    fit(model, trained_on, config)
    row: Row = {
        'nodes': trained_on.num_nodes,
        **settings_of(model),
        'train_seconds': round(time.perf_counter() - began, 1),
        'methods': {},
    }
    for readout in (VisitedGreedy(), BestFirst()):
        planner = planner_of(model, data, graph, readout)
        name = type(readout).__name__
        row['methods'][name] = quality(planner, data, queries)
    return {**row, 'mre': distance_error(planner, queries)}


def main(given: Sequence[str] | None = None) -> None:
    run_parts(FLAGS, given, encoders=run_encoders, changes=run_changes)


if __name__ == '__main__':
    main()

"""What each encoder gives per megabyte on real roads.

Every encoder is trained on the same graph with the same settings, for the same
time (``--seconds``) or the same number of steps (``--steps``, for a machine
that is busy), and asked for distances and routes on the graph's own queries.
Forced moves are taken out first where they are many, as in ``real_graphs.py``.
Landmarks are built with exact searches from a few nodes; no other encoder sees
any. Resumable: rows that are there are not run again. ``--quick`` takes a
minute.
"""

from __future__ import annotations

import time
from typing import Any

from torch_geometric import seed_everything
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg import BCM, FitConfig, fit
from bcm_pyg.planning import VisitedGreedy
from benchmarks.lib.graphs import Queries, load
from benchmarks.lib.results import parser, results_for
from benchmarks.scripts.real_graphs import (
    distance_error,
    planner_of,
    quality,
    reduced,
    settings_of,
)

GRAPHS = ['andorra', 'melun', 'goldcoast', 'w_jinan']

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
QUICK = ['axis tables', 'axis tables + landmarks']


def train(
    data: Data, encoder: str, arguments: dict[str, Any], config: FitConfig
) -> tuple[BCM, dict[str, Any]]:
    """A map with this encoder, and how its training went."""
    seed_everything(config.seed)
    began = time.perf_counter()
    model = BCM.from_data(data, encoder, **arguments)
    build_seconds = time.perf_counter() - began
    history = fit(model, data, config)
    return model, {
        'build_seconds': round(build_seconds, 2),
        'train_seconds': round(time.perf_counter() - began, 1),
        'steps': history.steps,
        'rows_per_second': round(history.rows_per_second),
    }


def score(
    model: BCM, planner: Any, data: Data, queries: Queries
) -> dict[str, Any]:
    """Size, error of distances, and the routes of the paper's readout."""
    encoder = sum(p.numel() for p in model.encoder.parameters())
    return {
        'parameters': model.num_parameters(),
        'encoder_parameters': encoder,
        'embedding': model.encoder.out_channels,
        'megabytes': model.storage_bytes() / 1e6,
        'mre': distance_error(planner, queries),
        **quality(planner, data, queries),
    }


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument('--graphs', nargs='+', default=GRAPHS, metavar='NAME')
    flags.add_argument('--encoders', nargs='+', default=[*ENCODERS])
    flags.add_argument('--targets', nargs='+', default=['sweeps', 'exact'])
    flags.add_argument('--seconds', type=float, default=300.0)
    flags.add_argument('--steps', type=int, help='instead of seconds')
    args = flags.parse_args()
    if args.quick:
        args.graphs, args.encoders = ['andorra'], QUICK
        args.targets, args.seconds = ['exact'], 20.0
    results = results_for('encoders_real', args.quick)
    jobs = [
        (graph, targets, encoder, seed)
        for graph in args.graphs
        for targets in args.targets
        for seed in args.seeds
        for encoder in args.encoders
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
        data, queries = load(graph, args.pairs)
        config = FitConfig(
            time_budget=seconds,
            steps=args.steps,
            targets=targets,
            seed=seed,
            validation_queries=0,
        )
        simplified = reduced(data)
        trained_on = data if simplified is None else simplified.data
        model, training = train(trained_on, *ENCODERS[encoder], config)
        planner = planner_of(model, data, simplified, VisitedGreedy())
        row = {
            **key,
            'nodes': data.num_nodes,
            **settings_of(model),
            'queries': queries.starts.numel(),
            **training,
            **score(model, planner, data, queries),
        }
        results.add(row)
        tqdm.write(
            f'{graph:10} {targets:7} {encoder:26} {row["megabytes"]:5.2f} MB, '
            f'MRE {row["mre"]:6.2f} %, SR {row["success_rate"]:.3f}, Gap '
            f'{row["gap"]} %, {row["steps"]} steps'
        )


if __name__ == '__main__':
    main()

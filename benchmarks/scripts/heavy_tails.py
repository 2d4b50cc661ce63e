"""What loss, targets and reduction are worth where short and long edges meet.

The roads of Andorra: edges from 0.04 to 522 seconds. One change at a time from
the way of ``real_graphs.py``, the same steps for all, on queries that are not
those of the file, so that nothing is chosen by them. Resumable: rows that are
there are not run again. ``--quick`` takes seconds.
"""

from __future__ import annotations

import time
from typing import Any

from torch_geometric import seed_everything
from tqdm import tqdm

from bcm_pyg import BCM, FitConfig, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries
from benchmarks.lib.graphs import Queries, load
from benchmarks.lib.results import parser, results_for
from benchmarks.scripts.real_graphs import (
    READOUTS,
    distance_error,
    planner_of,
    quality,
    reduced,
    settings_of,
)

#: Settings that differ from the default; ``full``: with all forced moves. Twice
#: the backups start from a quarter of the values: they need fewer, and so the
#: minimum over them is less too low.
CHANGES: dict[str, dict[str, Any]] = {
    'default': {},
    'errors: absolute': {'relative': False},
    'ranking: none': {'ranking': 0.0},
    'ranking: three times': {'ranking': 0.012},
    'sources: half near the goals': {'near': 0.5},
    'targets: twice the backups': {'sweeps': 50, 'seeds': 14},
    'targets: exact (supervised)': {'targets': 'exact'},
    'forced moves kept': {'full': True},
}
QUERIES_SEED = 7


def run(change: str, steps: int, seed: int, pairs: int) -> dict[str, Any]:
    """A map with this change, and what it is worth."""
    settings = dict(CHANGES[change])
    data, _ = load('andorra', 1)
    graph = None if settings.pop('full', False) else reduced(data)
    trained_on = data if graph is None else graph.data
    starts, goals = sample_queries(data, pairs, seed=QUERIES_SEED)
    queries = Queries(starts, goals, Dijkstra(data)(starts, goals).cost)
    config = FitConfig(steps=steps, seed=seed, validation_queries=0, **settings)
    seed_everything(seed)
    began = time.perf_counter()
    model = BCM.from_data(trained_on)
    fit(model, trained_on, config)
    row: dict[str, Any] = {
        'nodes': trained_on.num_nodes,
        **settings_of(model),
        'train_seconds': round(time.perf_counter() - began, 1),
        'methods': {},
    }
    for label in ('VisitedGreedy', 'BestFirst'):
        planner = planner_of(model, data, graph, READOUTS[label])
        row['methods'][label] = quality(planner, data, queries)
    return {**row, 'mre': distance_error(planner, queries)}


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument('--steps', type=int, default=2000)
    args = flags.parse_args()
    steps, pairs = max(round(args.steps * args.budget), 1), args.pairs
    if args.quick:
        steps, pairs = 20, 50
    results = results_for('heavy_tails', args.quick)
    jobs = [(change, seed) for seed in args.seeds for change in CHANGES]
    for change, seed in tqdm(jobs, unit='map'):
        key = {'change': change, 'steps': steps, 'seed': seed, 'queries': pairs}
        if results.find(**key):
            continue
        row = run(change, steps, seed, pairs)
        results.add({**key, **row})
        walk = row['methods']['VisitedGreedy']
        tqdm.write(
            f'{change:28} MRE {row["mre"]:.1f} %, SR '
            f'{walk["success_rate"]:.3f}, Gap {walk["gap"]} %'
        )


if __name__ == '__main__':
    main()

"""Size of a saved map against its Gap, by the dtype of its weights.

Evaluates the maps that the training benchmark left in the cache; trains none.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, Planner, evaluate, fit
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import VisitedGreedy
from benchmarks.lib.results import (
    CACHE,
    FOLDER,
    Results,
    is_cached,
    map_name,
    parser,
    training_seconds,
)

GRIDS = [(20, 'wide'), (40, 'wide'), (40, 'mild'), (40, 'uniform')]
GRIDS += [(60, 'wide')]
DTYPES = ('float32', 'float16', 'int8')


def measure(
    model: BCM, data: Data, dtype: str, pairs: int, seed: int
) -> dict[str, Any]:
    """Saves a map, looks at the folder, and plans with what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder, dtype=dtype)
        folder_bytes = sum(p.stat().st_size for p in Path(folder).iterdir())
        small = BCM.load(folder, data)
    starts, goals = sample_queries(data, pairs, seed=seed)
    planner = Planner(small, data, VisitedGreedy())
    report = evaluate(planner, data, starts, goals)
    return {
        'parameters': model.num_parameters(),
        'weight_bytes': small.storage_bytes(),
        'folder_bytes': folder_bytes,
        'success_rate': report.success_rate,
        'gap': report.gap,
    }


def main() -> None:
    args = parser(__doc__).parse_args()
    if args.quick:
        data = weighted_grid('ushape', 10, 'wide', 42)
        seed_everything(42)
        model = BCM.from_data(data)
        fit(model, data, FitConfig(steps=100, seed=42))
        look = Results('compact', FOLDER.parent / 'out' / 'benchmarks')
        for dtype in DTYPES:
            row = measure(model, data, dtype, min(args.pairs, 50), 42)
            look.add({'dtype': dtype, **row})
            print(dtype, row)
        return
    results = Results('compact')
    for side, costs in GRIDS:
        seconds = training_seconds(side, costs, args.budget)
        for seed in args.seeds:
            name = map_name('ushape', costs, side, 'sweeps', seconds, seed)
            if not is_cached(name):
                print(f'{name} is not in the cache: run training.py --table')
                continue
            data = weighted_grid('ushape', side, costs, seed)
            model = BCM.load(CACHE / name, data)
            for dtype in DTYPES:
                key = {
                    'side': side,
                    'costs': costs,
                    'seed': seed,
                    'budget_seconds': seconds,
                    'dtype': dtype,
                    'num_queries': args.pairs,
                }
                if results.find(**key) is None:
                    row = measure(model, data, dtype, args.pairs, seed)
                    print(key, row)
                    results.add({**key, **row})


if __name__ == '__main__':
    main()

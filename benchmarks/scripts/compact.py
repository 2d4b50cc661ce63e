"""Size of a saved map against its Gap, by the dtype of its weights.

Evaluates the maps that the training benchmark left in the cache; trains none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.lib.flags import QUICK_SIDE, flags, parse

FLAGS = flags(__doc__)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, fit
from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import walk_quality
from benchmarks.lib.methods import training_seconds
from benchmarks.lib.results import Row, results_for
from benchmarks.lib.trained_maps import (
    cached_map,
    fit_config,
    grid_map_name,
    is_cached,
)

#: Side and costs.
GRIDS = [(20, 'wide'), (40, 'wide'), (40, 'mild'), (40, 'uniform')]
GRIDS += [(60, 'wide')]
DTYPES = ('float32', 'float16', 'int8')


def measure(model: BCM, data: Data, dtype: str, pairs: int, seed: int) -> Row:
    """Saves a map, looks at the folder, and plans with what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder, dtype=dtype)
        folder_bytes = sum(p.stat().st_size for p in Path(folder).iterdir())
        small = BCM.load(folder, data)
    report = walk_quality(small, data, pairs, seed)
    return {
        'parameters': model.num_parameters(),
        'weight_bytes': small.storage_bytes(),
        'folder_bytes': folder_bytes,
        'success_rate': report['success_rate'],
        'gap': report['gap'],
    }


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    results = results_for('compact', args.quick)
    if args.quick:
        data = Grid('ushape', QUICK_SIDE, 'wide', 42).data()
        seed_everything(42)
        model = BCM.from_data(data)
        fit(model, data, fit_config(steps=100, seed=42))
        for dtype in DTYPES:
            row = measure(model, data, dtype, args.pairs, 42)
            results.add({'dtype': dtype, **row})
            print(dtype, row)
        return
    for side, costs in GRIDS:
        seconds = training_seconds(side, costs, args.budget)
        for seed in args.seeds:
            grid = Grid('ushape', side, costs, seed)
            name = grid_map_name(grid, 'sweeps', seconds)
            if not is_cached(name):
                print(f'{name} is not in the cache: run training --table')
                continue
            model = cached_map(name, grid.data())
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
                    row = measure(model, grid.data(), dtype, args.pairs, seed)
                    print(key, row)
                    results.add({**key, **row})


if __name__ == '__main__':
    main()

"""Size of a saved map against its Gap, by what its weights are stored in.

Measures the maps of ``headline``, which are kept in float16, so that float32
can be no better than that here; trains none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path

from benchmarks.lib.flags import QUICK_SIDE, flags, parse

FLAGS = flags(__doc__)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, fit
from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import walk_quality
from benchmarks.lib.results import Job, Results, Row, results_for, run_jobs
from benchmarks.lib.trained_maps import cached_map, fit_config

#: The last one is a trial: no map can be saved so.
DTYPES = ('float32', 'float16', 'int8', '4 bit')
#: Numbers that share a scale in 4 bits.
GROUP = 16
#: What tells a row of the headline.
FIELDS = ('row', 'costs', 'side', 'width', 'channels', 'seed')


def in_four_bits(weight: Tensor) -> tuple[Tensor, int]:
    """A matrix of integers from -7 to 7 times scales, and its bytes."""
    rows = weight.flatten(1)
    groups = torch.nn.functional.pad(rows, (0, -rows.size(1) % GROUP))
    groups = groups.unflatten(1, (-1, GROUP))
    scale = (groups.abs().amax(-1, keepdim=True) / 7).bfloat16().float()
    scale[scale == 0] = 1
    codes = (groups / scale).round().clamp(-7, 7)
    rounded = (codes * scale).flatten(1)[:, : rows.size(1)]
    size = -(-weight.numel() // 2) + 2 * scale.numel()
    return rounded.reshape(weight.shape), size


@torch.no_grad()
def stored(model: BCM, data: Data, dtype: str) -> tuple[BCM, int, int | None]:
    """A map as it comes back, bytes of its weights and of its folder."""
    if dtype == '4 bit':
        small, size = deepcopy(model), 0
        for parameter in small.parameters():
            if parameter.dim() > 1:
                rounded, more = in_four_bits(parameter)
            else:
                rounded, more = parameter.half().float(), 2 * parameter.numel()
            parameter.copy_(rounded)
            size += more
        return small, size, None
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder, dtype=dtype)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        small = BCM.load(folder, data)
    return small, small.storage_bytes(), size


def measure(model: BCM, data: Data, dtype: str, pairs: int, seed: int) -> Row:
    """Stores a map, and plans with what comes back."""
    small, weight_bytes, folder_bytes = stored(model, data, dtype)
    report = walk_quality(small, data, pairs, seed)
    return {
        'parameters': model.num_parameters(),
        'weight_bytes': weight_bytes,
        'folder_bytes': folder_bytes,
        'success_rate': report['success_rate'],
        'gap': report['gap'],
    }


def kept(name: str, grid: Grid, dtype: str, pairs: int) -> Row:
    """A map of the headline."""
    data = grid.data()
    return measure(cached_map(name, data), data, dtype, pairs, grid.seed)


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
    jobs = []
    for row in Results('headline').rows:
        if row['row'] == 'demo40':  # the graph and size of another row
            continue
        grid = Grid('ushape', row['side'], row['costs'], row['seed'])
        for dtype in DTYPES:
            key = {name: row[name] for name in ('map', *FIELDS)}
            key |= {'dtype': dtype, 'num_queries': args.pairs}
            run = partial(kept, row['map'], grid, dtype, args.pairs)
            jobs.append(Job(key, run))
    run_jobs(results, jobs)


if __name__ == '__main__':
    main()

"""Train, save, load, plan and update in a loop, and see that memory is flat.

    python -m benchmarks.scripts.soak --seconds 3600

Each round trains a map for some steps with a checkpoint, stops, goes on,
saves and loads it, plans with every readout and with proofs, changes costs and
edges of the graph, and trains on. The resident memory after each round is
compared: the least of the last third of the rounds may not be more than
``--bound`` MB above that of the first third, once the rounds of the warm-up are
past. (The least, since an allocator keeps a few MB more after some rounds,
though it is asked to give back what is free.) Open files and files left in the
folder may not grow at all. Ends with status 1 if one does.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FLAGS = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
FLAGS.add_argument('--seconds', type=float, default=600)
FLAGS.add_argument('--warm-up', type=int, default=3, help='rounds')
FLAGS.add_argument('--bound', type=float, default=4, help='MB of growth')
FLAGS.add_argument('--side', type=int, default=16)
FLAGS.add_argument('--steps', type=int, default=20)
FLAGS.add_argument('--queries', type=int, default=500)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner, evaluate, fit, planning_graph
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    Readout,
    VisitedGreedy,
)
from benchmarks.lib.trained_maps import fit_config

READOUTS: list[Readout] = [
    Greedy(),
    VisitedGreedy(),
    Backtracking(),
    Lookahead(2),
    Beam(4),
    BestFirst(),
    Corridor(),
]


def resident_bytes() -> int:
    """Memory of this process that is in use; elsewhere than Linux its peak."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)  # of glibc
    if trim is not None:
        trim(0)
    try:
        pages = int(Path('/proc/self/statm').read_text().split()[1])
    except OSError:
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * os.sysconf('SC_PAGE_SIZE')


def open_files() -> int:
    folder = Path('/proc/self/fd')
    return len(list(folder.iterdir())) if folder.exists() else 0


def changed(data: Data, generator: torch.Generator) -> Data:
    """The graph with a tenth of its costs drawn anew and a few edges closed."""
    cost = data.edge_cost.clone()
    pick = torch.rand(cost.shape, generator=generator)
    new = 1 + 9 * torch.rand(cost.shape, generator=generator)
    cost = torch.where(pick < 0.1, new, cost)
    kept = pick < 0.99
    return planning_graph(
        Data(
            pos=data.pos,
            edge_index=data.edge_index[:, kept],
            edge_cost=cost[kept],
            num_nodes=data.num_nodes,
        )
    )


def one_round(
    number: int, side: int, steps: int, queries: int, folder: Path
) -> float:
    """A life of a map; returns its Gap, so that nobody can skip the work."""
    torch.manual_seed(number)
    generator = torch.Generator().manual_seed(number)
    data = weighted_grid('ushape', side, 'wide', seed=number)
    model = BCM.from_data(data)
    checkpoint = folder / 'run.checkpoint'
    config = fit_config(steps=steps, validation_queries=16, validations=1)

    def stop(step: int, metrics: dict[str, float]) -> None:
        if step < steps:
            raise KeyboardInterrupt

    fit(model, data, config, checkpoint=checkpoint, callback=stop)
    fit(model, data, config, checkpoint=checkpoint)
    checkpoint.unlink()
    model.save(folder / 'map')
    model = BCM.load(folder / 'map', data)
    starts, goals = sample_queries(data, queries, seed=number)
    for readout in READOUTS:
        evaluate(Planner(model, data, readout), data, starts, goals)
    proven = Planner(model, data, Corridor(), epsilon=0.1)
    evaluate(proven, data, starts, goals)
    Planner(model, data).distance_matrix(starts[:20], goals[:20])
    after = changed(data, generator)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UserWarning)  # it is another graph
        fit(model, after, config)
    starts, goals = sample_queries(after, queries, seed=number)
    report = evaluate(Planner(model, after), after, starts, goals)
    model.save(folder / 'map')
    return report.gap


def growth(samples: list[int]) -> int:
    """How much higher the last third of the samples lies than the first."""
    third = max(1, len(samples) // 3)
    return min(samples[-third:]) - min(samples[:third])


class Soaked(NamedTuple):
    """Rounds, and by how much memory (MB) and files have grown."""

    rounds: int
    memory: float
    files: int


def soak(args: argparse.Namespace) -> Soaked:
    """Rounds for so many seconds."""
    began, number = time.perf_counter(), 0
    memory: list[int] = []
    files: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # At least so many rounds that there is something to compare.
        while time.perf_counter() - began < args.seconds or len(memory) < 3:
            gap = one_round(number, args.side, args.steps, args.queries, folder)
            number += 1
            size = resident_bytes()
            left = sum(path.is_file() for path in folder.rglob('*'))
            print(
                f'{time.perf_counter() - began:8.1f} s  round {number:5d}  '
                f'{size / 2**20:8.1f} MB  {open_files():3d} open files  '
                f'{left} files left  Gap {gap:.1f} %',
                flush=True,
            )
            if number > args.warm_up:
                memory.append(size)
                files.append(open_files() + left)
    return Soaked(number, growth(memory) / 2**20, files[-1] - files[0])


def main(given: Sequence[str] | None = None) -> int:
    args = FLAGS.parse_args(given)
    out = soak(args)
    print(
        f'{out.rounds} rounds, memory grew by {out.memory:.1f} MB over '
        f'{out.rounds - args.warm_up} rounds after the warm-up (bound: '
        f'{args.bound:g} MB), files by {out.files}'
    )
    return int(out.memory > args.bound or out.files > 0)


if __name__ == '__main__':
    sys.exit(main())

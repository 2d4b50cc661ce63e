"""Graphs, flags and resumable rows of the benchmarks of the paper."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from bcm_pyg.datasets import sample_queries, weighted_grid
from benchmarks.lib.maze import maze_mask
from benchmarks.lib.methods import BASELINES, MAPS, build_and_measure
from benchmarks.lib.results import FOLDER, QUICK_FOLDER, Results, parser

QUICK_SIDE = 10
QUICK_PAIRS = 50

#: Tables that have rows in common, such as those of the U with wide costs.
SHARING = (
    'table1_quality',
    'table2_layouts',
    'table3_encoders',
    'table4_visited',
    'figure3_scaling',
)


def flags(
    description: str | None,
    methods: Iterable[str] = (),
    costs: Iterable[str] = (),
) -> argparse.ArgumentParser:
    """The flags of all benchmarks, and those of the paper's."""
    out = parser(description)
    out.add_argument(
        '--cached-only',
        action='store_true',
        help='leave out rows whose map is not in the cache',
    )
    out.add_argument(
        '--same-steps',
        action='store_true',
        help='train for as many steps as the U of this size makes in that '
        'time, by the training table, for a machine that is busy',
    )
    out.add_argument(
        '--targets', nargs='+', choices=[*MAPS], default=[*MAPS], help='of maps'
    )
    for name, choices in (('methods', methods), ('costs', costs)):
        if choices := [*choices]:
            out.add_argument(
                f'--{name}', nargs='+', choices=choices, default=choices
            )
    return out


def parse(flags: argparse.ArgumentParser) -> argparse.Namespace:
    """The flags as given, with what ``--quick`` cuts down."""
    args = flags.parse_args()
    if args.quick:
        args.pairs = min(args.pairs, QUICK_PAIRS)
        args.seeds = args.seeds[:1]
    return args


def results(name: str, quick: bool) -> Results:
    """The file of a benchmark; that of a quick look is another."""
    return Results(name, QUICK_FOLDER if quick else None)


def figure_folder(quick: bool) -> Path:
    """Where pictures go."""
    return QUICK_FOLDER if quick else FOLDER / 'figures'


@dataclass(frozen=True)
class Grid:
    """A weighted grid by its names."""

    layout: str
    side: int
    costs: str
    seed: int

    def data(self) -> Data:
        """The graph. The maze is the same for all seeds, its costs differ."""
        return _graph(self)

    def queries(self, num: int) -> tuple[Tensor, Tensor]:
        """Starts and goals, the same for all methods and costs."""
        return sample_queries(self.data(), num, seed=self.seed)


@lru_cache(maxsize=2)
def _graph(grid: Grid) -> Data:
    layout = maze_mask(grid.side) if grid.layout == 'maze' else grid.layout
    return weighted_grid(layout, grid.side, grid.costs, grid.seed)


class Job(NamedTuple):
    """A row to be: its key, and what makes the rest (None: not this time)."""

    key: dict[str, Any]
    run: Callable[[], dict[str, Any] | None]


def run_jobs(results: Results, jobs: list[Job]) -> None:
    """Runs what is not there yet, nor in another table, one row at a time."""
    name = results.path.stem
    others = [
        Results(other, results.path.parent)
        for other in SHARING
        if name in SHARING and name != other
    ]
    missing: list[Job] = []
    for job in jobs:
        if results.find(**job.key):
            continue
        found = (other.find(**job.key) for other in others)
        if row := next(filter(None, found), None):
            results.add(row)
        else:
            missing.append(job)
    left_out: list[str] = []
    with tqdm(missing, unit='row') as bar:
        for job in bar:
            name = ' '.join(str(value) for value in job.key.values())
            bar.set_description(name)
            row = job.run()
            if row is None:
                left_out.append(name)
                continue
            results.add({**job.key, **row})
            gap = row.get('gap')
            if gap is not None:
                bar.write(f'{name}: Gap {gap:.2f} %')
    if left_out:
        print(f'{len(left_out)} rows left for later:', *left_out, sep='\n  ')


def baseline_job(grid: Grid, name: str, pairs: int) -> Job:
    """A baseline on a graph."""

    def run() -> dict[str, Any] | None:
        if BASELINES[name].build is None:
            return None
        starts, goals = grid.queries(pairs)
        return build_and_measure(name, grid.data(), grid.seed, starts, goals)

    return Job({**asdict(grid), 'method': name, 'num_queries': pairs}, run)

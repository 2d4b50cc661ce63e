"""What all benchmarks share: flags, results on disk, and trained maps."""

from __future__ import annotations

import argparse
import datetime
import fcntl
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, fit, planning_graph
from bcm_pyg.training.graph_defaults import resolve_config
from bcm_pyg.utils import Adjacency

FOLDER = Path(__file__).parent
RESULTS = FOLDER / 'results'
CACHE = FOLDER / 'cache'
#: A look at everything: tables and pictures go where git does not see them.
QUICK_FOLDER = FOLDER.parent / 'out' / 'benchmarks'

#: What results depend on, besides the data.
CODE = ('bcm_pyg', 'benchmarks/*.py')

#: Seconds of training by side of a grid, before ``--budget``.
SECONDS = {20: 120, 30: 300, 40: 600, 60: 1200, 80: 1800, 100: 1800}


def parser(description: str | None) -> argparse.ArgumentParser:
    """The flags that every benchmark has."""
    flags = argparse.ArgumentParser(description=description)
    flags.add_argument('--seeds', type=int, nargs='+', default=[42])
    flags.add_argument('--pairs', type=_pairs, default=1000, help='queries')
    flags.add_argument(
        '--budget', type=_budget, default=1.0, help='factor on training times'
    )
    flags.add_argument(
        '--quick', action='store_true', help='small and short, for a look'
    )
    return flags


def _pairs(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f'at least 1 is needed (got {number})')
    return number


def _budget(text: str) -> float:
    if not 0 < (factor := float(text)) < float('inf'):
        raise argparse.ArgumentTypeError(f'must be positive (got {factor})')
    return factor


class Results:
    """Rows of one benchmark, in a JSON file that is rewritten as they come.

    A row is found again by its :obj:`key` fields, so that a benchmark that was
    stopped goes on where it was. Two processes may add to one file.
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.path = (folder or RESULTS) / f'{name}.json'
        self.rows = self._read()

    def _read(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        return json.loads(self.path.read_text())['rows']

    def find(self, **key: Any) -> dict[str, Any] | None:
        """The row with these fields, if it is there."""
        for row in self.rows:
            if _has(row, key):
                return row
        return None

    def add(self, row: dict[str, Any]) -> None:
        """Appends a row with where it comes from, and writes the file.

        A row of another file keeps what it tells of that.
        """
        self._write(lambda rows: [*rows, {**row, **PROVENANCE, **row}])

    def extend(self, key: dict[str, Any], field: str, more: dict) -> None:
        """Puts more into a field of the row with this key, as it is on disk."""

        def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
            (place,) = (i for i, row in enumerate(rows) if _has(row, key))
            row = rows[place]
            rows[place] = {**row, field: {**row[field], **more}}
            return rows

        self._write(change)

    def _write(self, change: Callable[[list], list]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix('.lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
            self.rows = change(self._read())
            text = json.dumps({'rows': self.rows}, indent=1) + '\n'
            part = self.path.with_suffix('.part')
            part.write_text(text)
            os.replace(part, self.path)


def _has(row: dict[str, Any], key: dict[str, Any]) -> bool:
    return all(row.get(name) == value for name, value in key.items())


def provenance() -> dict[str, Any]:
    """Command, commit and machine of a result."""
    root = FOLDER.parent

    def git(*args: str) -> str:
        done = subprocess.run(
            ['git', *args], cwd=root, capture_output=True, text=True
        )
        return done.stdout.strip()

    script = f'benchmarks/{Path(sys.argv[0]).name}'
    return {
        'command': shlex.join(['python', script, *sys.argv[1:]]),
        'commit': git('rev-parse', '--short', 'HEAD')
        + ('+' if git('status', '--porcelain', *CODE) else ''),
        'cores': os.cpu_count(),
        'threads': torch.get_num_threads(),
        'cpu': _cpu(),
        'torch': torch.__version__,
        'date': datetime.date.today().isoformat(),
    }


def results_for(name: str, quick: bool) -> Results:
    """The results of a benchmark; those of a quick look are kept apart."""
    return Results(name, QUICK_FOLDER if quick else RESULTS)


def _cpu() -> str:
    for line in Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith('model name'):
            return line.split(':', 1)[1].strip()
    return platform.processor()


#: Taken at the start: the checkout may move on while a long run works.
PROVENANCE = provenance()


def training_seconds(side: int, costs: str, budget: float = 1.0) -> float:
    """Seconds of training for a grid; uniform costs at side 40 need half."""
    seconds = 300 if (costs, side) == ('uniform', 40) else SECONDS[side]
    return seconds * budget


def map_name(
    layout: str,
    costs: str,
    side: int,
    targets: str,
    seconds: float,
    seed: int,
    encoder: str = 'interaction',
) -> str:
    """The folder of a trained map in the cache."""
    name = f'{layout}-{costs}-{side}-{targets}-{seconds:g}s-{seed}'
    return name if encoder == 'interaction' else f'{name}-{encoder}'


def is_cached(name: str) -> bool:
    """Whether the cache has this map."""
    return (CACHE / name / 'config.json').exists()


def trained_map(
    name: str,
    data: Data,
    config: FitConfig,
    seed: int,
    paper: bool = False,
    encoder: str = 'interaction',
) -> tuple[BCM, dict[str, Any]]:
    """A trained map from the cache that all benchmarks share, or a new one.

    Returns the map and how its training went (wall seconds, steps, rate). A
    training that is stopped is not cached; the next call goes on with it.
    """
    folder = CACHE / name
    if is_cached(name):
        model = BCM.load(folder, data)
        _check_config(name, model.info.training['config'], config, data)
        return model, model.info.training['benchmark']
    checkpoint = CACHE / f'{name}.ckpt'
    seed_everything(seed)
    build = BCM.paper if paper else BCM.from_data
    model = build(data, encoder)
    history = fit(model, data, config, progress=True, resume=checkpoint)
    if history.interrupted:  # fit keeps that to itself
        raise KeyboardInterrupt
    record = {
        'train_seconds': round(model.info.training['seconds'], 1),
        'steps': history.steps,
        'rows_per_second': round(history.rows_per_second),
        # A row may be of a later command and commit.
        'trained_by': PROVENANCE['command'],
        'trained_commit': PROVENANCE['commit'],
        'curve': [
            [round(seconds, 1), round(gap, 3)]
            for seconds, gap in zip(history.seconds, history.gap, strict=True)
        ],
    }
    model.info.training['benchmark'] = record
    model.save(folder)
    checkpoint.unlink(missing_ok=True)  # another process may have had it
    return model, record


def _check_config(
    name: str, there: dict[str, Any], asked: FitConfig, data: Data
) -> None:
    """A map of other defaults than today's must not pass for one of these.

    Maps from before a setting came do not have it.
    """
    adjacency = Adjacency.from_data(planning_graph(data))
    odd = [
        field
        for field, value in asdict(resolve_config(asked, adjacency)).items()
        if field not in ('steps', 'time_budget')  # those are in its name
        and there.get(field, value) != value
    ]
    if odd:
        raise SystemExit(f'the map {name} has another {odd}: remove it')

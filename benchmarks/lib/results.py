"""Results on disk: resumable rows with where they come from.

Nothing here imports torch at the top: flags and tables do without it.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

FOLDER = Path(__file__).parents[1]
RESULTS = FOLDER / 'results'
#: A quick look: its results and pictures go where git does not see them.
QUICK_FOLDER = FOLDER.parent / 'out' / 'benchmarks'

#: What results depend on, besides the data.
CODE = ('bcm_pyg', 'benchmarks/lib', 'benchmarks/scripts')

#: Tables that have rows in common, such as those of the U with wide costs.
SHARING = (
    'table1_quality',
    'table2_layouts',
    'table3_encoders',
    'table4_visited',
    'figure3_scaling',
)

Row = dict[str, Any]


class Results:
    """Rows of one benchmark, in a JSON file that is rewritten as they come.

    A row is found again by its :obj:`key` fields, so that a benchmark that was
    stopped goes on where it was. Two processes may add to one file. What else
    the file holds, such as notes on how rows came about, stays.
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.path = (folder or RESULTS) / f'{name}.json'
        self.rows = self._read()['rows']

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {'rows': []}
        return json.loads(self.path.read_text())

    def find(self, **key: Any) -> Row | None:
        """The row with these fields, if it is there."""
        for row in self.rows:
            if _has(row, key):
                return row
        return None

    def add(self, row: Row) -> None:
        """Appends a row with where it comes from, and writes the file.

        A row of another file keeps what it tells of that.
        """
        self._write(lambda rows: [*rows, {**row, **provenance(), **row}])

    def extend(self, key: Row, field: str, more: Row) -> None:
        """Puts more into a field of the row with this key, as it is on disk."""

        def change(rows: list[Row]) -> list[Row]:
            (index,) = (i for i, row in enumerate(rows) if _has(row, key))
            row = rows[index]
            rows[index] = {**row, field: {**row[field], **more}}
            return rows

        self._write(change)

    def _write(self, change: Callable[[list[Row]], list[Row]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix('.lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
            content = self._read()
            content['rows'] = self.rows = change(content['rows'])
            text = json.dumps(content, indent=1) + '\n'
            part = self.path.with_suffix('.part')
            part.write_text(text)
            os.replace(part, self.path)


def _has(row: Row, key: Row) -> bool:
    return all(row.get(name) == value for name, value in key.items())


def results_for(name: str, quick: bool) -> Results:
    """The results of a benchmark; those of a quick look are kept apart."""
    return Results(name, QUICK_FOLDER if quick else RESULTS)


def figure_folder(quick: bool) -> Path:
    """Where pictures go."""
    return QUICK_FOLDER if quick else FOLDER / 'figures'


@cache
def provenance() -> Row:
    """Command, commit and machine of a result.

    Found once: the checkout may move on while a long run works.
    """
    import torch

    def git(*args: str) -> str:
        done = subprocess.run(
            ['git', *args], cwd=FOLDER.parent, capture_output=True, text=True
        )
        return done.stdout.strip()

    script = f'benchmarks.scripts.{Path(sys.argv[0]).stem}'
    return {
        'command': shlex.join(['python', '-m', script, *sys.argv[1:]]),
        'commit': git('rev-parse', '--short', 'HEAD')
        + ('+' if git('status', '--porcelain', *CODE) else ''),
        'cores': os.cpu_count(),
        'threads': torch.get_num_threads(),
        'cpu': _cpu(),
        'torch': torch.__version__,
        'date': datetime.date.today().isoformat(),
    }


def _cpu() -> str:
    for line in Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith('model name'):
            return line.split(':', 1)[1].strip()
    return platform.processor()


class Job(NamedTuple):
    """A row to be: its key, and what makes the rest (None: not this time)."""

    key: Row
    run: Callable[[], Row | None]


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

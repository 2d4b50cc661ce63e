"""Runs the attacks for some seconds each, and prints what they found.

    make stress SECONDS=600

Attacks end earlier where they have tried as much as is promised. With
``--write`` the results go to benchmarks/results/stress.json, from where
``python -m benchmarks.scripts.render`` takes them to SECURITY.md. Ends with
status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sample_files import FILES

from benchmarks.scripts import soak
from stress import bombs, files, kills, queries

ROOT = Path(__file__).parents[2]
RESULT = ROOT / 'benchmarks' / 'results' / 'stress.json'
Round = Callable[[np.random.Generator, Path], tuple[int, list[str]]]


class Attack(NamedTuple):
    """What is tried, how often, and what each round does."""

    what: str
    amount: int
    round: Round


ATTACKS = {
    'queries': Attack('planner queries', 10**6, queries.attack),
    'close': Attack('queries around closed edges', 10**5, queries.closed),
    **{
        Path(name).suffix[1:]: Attack(
            f'damaged {Path(name).suffix} files',
            10**4,
            partial(files.of_graph, name),
        )
        for name in FILES
    },
    'folder': Attack('damaged maps', 10**4, files.of_map),
    'atlas': Attack('damaged cognitive maps', 10**4, files.of_atlas),
    'command': Attack('commands on damaged files', 10**3, files.of_command),
    'checkpoint': Attack('damaged checkpoints', 10**4, files.of_checkpoint),
    'bombs': Attack('small files of much content', 100, bombs.attack),
    'save': Attack('kills during BCM.save', 100, kills.of_save),
    'atlas_save': Attack('kills during CognitiveMap.save', 100, kills.of_atlas),
    'fit': Attack('kills during fit', 100, kills.of_fit),
    'disk': Attack('full disks', 50, kills.of_disk),
    'pair': Attack('kills of one of two processes', 20, kills.of_pair),
}


def run(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """One attack, for so long at most; the row of the table."""
    attack, count, failures = ATTACKS[name], 0, []
    began, rng = time.perf_counter(), np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter('ignore')  # graphs are odd on purpose
        while count < attack.amount:
            tried, failed = attack.round(rng, Path(folder))
            count += tried
            failures += failed
            if time.perf_counter() - began > seconds:
                break
    spent = time.perf_counter() - began
    return {
        'name': name,
        'what': attack.what,
        'count': count,
        'failures': len(failures),
        'first': failures[:5],
        'seconds': round(spent, 1),
    }


def run_soak(seconds: float) -> dict[str, Any]:
    """Memory and files of rounds of training, planning and saving."""
    began = time.perf_counter()
    failed = soak.main(['--seconds', str(seconds)])
    spent = round(time.perf_counter() - began, 1)
    row = {'name': 'soak', 'what': 'seconds of soak', 'count': round(spent)}
    return {**row, 'failures': failed, 'first': [], 'seconds': spent}


def main(given: list[str] | None = None) -> int:
    flags = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*ATTACKS, 'soak']
    flags.add_argument('--seconds', type=float, default=60, help='of each')
    flags.add_argument('--only', nargs='+', choices=names, default=names)
    flags.add_argument('--seed', type=int, default=0)
    flags.add_argument('--write', action='store_true')
    args = flags.parse_args(given)
    torch.set_num_threads(1)  # processes are copied, threads are not
    rows, origin = [], _origin()
    for name in args.only:
        is_soak = name == 'soak'
        row = (
            run_soak(args.seconds)
            if is_soak
            else run(name, args.seconds, args.seed)
        )
        rows.append({**row, **origin, 'seed': args.seed})
        print(
            f'{row["what"]:32s} {row["count"]:>9,d}  '
            f'{row["failures"]} failed  {row["seconds"]:.0f} s',
            flush=True,
        )
        for failure in row['first']:
            print(f'    {failure:.2000}', flush=True)
        if args.write:
            _write(rows)
    return int(any(row['failures'] for row in rows))


@cache
def _origin() -> dict[str, str]:
    """Date and commit, found before the first attack; + if code differs."""

    def git(*args: str) -> str:
        command = ['git', *args]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    commit = git('rev-parse', '--short', 'HEAD')
    changed = '+' if git('status', '--porcelain', 'bcm_pyg', 'tests') else ''
    today = datetime.date.today().isoformat()
    return {'date': today, 'commit': commit + changed}


def _write(rows: list[dict[str, Any]]) -> None:
    """Replaces the rows of these names, the others stay."""
    known = {}
    if RESULT.exists():
        old = json.loads(RESULT.read_text())['rows']
        known = {row['name']: row for row in old}
    known |= {row['name']: row for row in rows}
    order = [name for name in [*ATTACKS, 'soak'] if name in known]
    text = json.dumps({'rows': [known[name] for name in order]}, indent=1)
    RESULT.write_text(text + '\n')


if __name__ == '__main__':
    sys.exit(main())

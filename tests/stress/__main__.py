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
import fcntl
import json
import os
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
from stress import (
    changes,
    files,
    folders,
    kernels,
    kills,
    limits,
    queries,
    strangers,
)

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
    'changes': Attack(
        'queries after edges were closed and costs changed',
        10**5,
        changes.attack,
    ),
    'turns': Attack('queries with costs of turns', 10**5, changes.turns),
    'degrees': Attack(
        'queries on hubs of degree 10,000', 10**3, kernels.of_degrees
    ),
    'scores': Attack(
        'queries with NaN and infinite scores', 10**5, kernels.of_scores
    ),
    'size': Attack('queries on 10^6 nodes', 64, kernels.of_size),
    'threads': Attack(
        'answers in threads, after a fork, after Ctrl-C',
        10**3,
        kernels.of_threads,
    ),
    'caches': Attack(
        'fresh processes, of unusable cache folders too', 4, kernels.of_caches
    ),
    **{
        Path(name).suffix[1:]: Attack(
            f'damaged {Path(name).suffix} files',
            10**4,
            partial(files.of_graph, name),
        )
        for name in FILES
    },
    'folder': Attack('damaged maps', 10**4, folders.of_map),
    'atlas': Attack('damaged cognitive maps', 10**4, folders.of_atlas),
    'parts': Attack(
        'cognitive maps of parts that disagree', 10**4, folders.of_parts
    ),
    'attributes': Attack(
        'graphs of any attribute, saved and loaded',
        10**3,
        folders.of_attributes,
    ),
    'checkpoint': Attack('damaged checkpoints', 10**4, files.of_checkpoint),
    'command': Attack('commands on damaged files', 10**4, strangers.of_command),
    'names': Attack('maps of hostile names', 10**3, strangers.of_names),
    'save': Attack('kills during BCM.save', 100, kills.of_save),
    'atlas_save': Attack('kills during CognitiveMap.save', 100, kills.of_atlas),
    'interrupt': Attack(
        'Ctrl-C during CognitiveMap.save', 100, kills.of_interrupt
    ),
    'savers': Attack(
        'saves of three processes to one folder', 300, kills.of_savers
    ),
    'fit': Attack('kills during fit', 100, kills.of_fit),
    'disk': Attack('disks that fill up during training', 50, kills.of_disk),
    'limit': Attack('limits on the size of files', 50, kills.of_limit),
    'pair': Attack('kills of one of two processes', 20, kills.of_pair),
}
#: These need a disk that keeps what is written, others are faster without.
ON_DISK = ('save', 'atlas_save', 'interrupt', 'savers', 'fit', 'disk', 'limit')
ON_DISK += ('pair', 'caches')
MEMORY = Path('/dev/shm')


def run(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """One attack, for so long at most; the row of the table."""
    attack, count, failures = ATTACKS[name], 0, []
    began, rng = time.perf_counter(), np.random.default_rng(seed)
    in_memory = name not in ON_DISK and os.access(MEMORY, os.W_OK)
    place = tempfile.TemporaryDirectory(dir=MEMORY if in_memory else None)
    with place as folder, warnings.catch_warnings():
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
    args = soak.FLAGS.parse_args(['--seconds', str(seconds)])
    began = time.perf_counter()
    out = soak.soak(args)
    spent = round(time.perf_counter() - began, 1)
    row = {'name': 'soak', 'what': 'seconds of soak', 'count': round(spent)}
    failed = out.memory > args.bound or out.files > 0
    found = f'memory grew by {out.memory:.1f} MB, files by {out.files}'
    return {
        **row,
        'failures': int(failed),
        'first': [found] if failed else [],
        'seconds': spent,
        'rounds': out.rounds,
        'grown_mb': round(out.memory, 2),
    }


def main(given: list[str] | None = None) -> int:
    flags = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*ATTACKS, 'soak', 'limits']
    flags.add_argument('--seconds', type=float, default=60, help='of each')
    flags.add_argument('--only', nargs='+', choices=names, default=names)
    flags.add_argument('--seed', type=int, default=0)
    flags.add_argument('--write', action='store_true')
    args = flags.parse_args(given)
    torch.set_num_threads(1)  # processes are copied, threads are not
    rows: list[dict[str, Any]] = []
    origin, failed = _origin(), False
    for name in args.only:
        if name == 'limits':
            failed |= _limits(origin, args.write)
            continue
        row = (
            run_soak(args.seconds)
            if name == 'soak'
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
            _write('rows', rows, [*ATTACKS, 'soak'])
    return int(failed or any(row['failures'] for row in rows))


def _limits(origin: dict[str, str], write: bool) -> bool:
    """Measures what is promised; returns whether something takes more."""
    rows: list[dict[str, Any]] = []
    for row in limits.measured():
        rows.append({**row, **origin})
        value, unit = row['value'], row['unit']
        print(f'{row["what"]}: {value} {unit}', flush=True)
        if write:
            _write('limits', rows, list(limits.LIMITS))
    return any(row['value'] > row['most'] for row in rows)


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


def _write(part: str, rows: list[dict[str, Any]], order: list[str]) -> None:
    """Replaces the rows of these names, the others stay."""
    with RESULT.open('r+') as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # attacks may run side by side
        whole = json.loads(file.read())
        known = {row['name']: row for row in whole.get(part, [])}
        known |= {row['name']: row for row in rows}
        whole[part] = [known[name] for name in order if name in known]
        file.seek(0)
        file.truncate()
        file.write(json.dumps(whole, indent=1) + '\n')


if __name__ == '__main__':
    sys.exit(main())

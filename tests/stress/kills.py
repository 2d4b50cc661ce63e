"""Processes that are killed, and disks that fill up: nothing is lost."""

from __future__ import annotations

import copy
import json
import os
import resource
import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from small_fits import small_map, tiny, weights

from bcm_pyg import BCM, BCMError, CognitiveMap, FitConfig, fit
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training import checkpoint as checkpoints

from .disks import mounted

STEPS = 20
REFUSED, FOREIGN = 3, 4  # how a process ends


def of_save(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Kills a process that saves; a map is the old one or the new one."""
    data = weighted_grid('open', side=6, seed=1)
    models = [_model(data, seed) for seed in (1, 2)]
    return _killed_saves(rng, folder, models, lambda p: BCM.load(p, data))


def of_atlas(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """The same of a cognitive map, whose folder has four files."""
    return _killed_saves(rng, folder, _two_atlases(), CognitiveMap.load)


def _killed_saves(
    rng: np.random.Generator,
    folder: Path,
    maps: list[Any],
    load: Callable[[Path], Any],
) -> tuple[int, list[str]]:
    path = folder / 'map'
    maps[0].save(path)
    files = len(os.listdir(path))

    def save() -> None:
        for turn in range(1000):
            maps[turn % 2].save(path)

    _kill(_begin(save), rng.uniform(0, 0.1))
    failures = []
    try:
        if _weights(load(path)) not in list(map(_weights, maps)):
            failures.append('neither the old map nor the new one')
    except BCMError as error:
        failures.append(f'the map is lost: {error}')
    maps[0].save(path)
    if len(os.listdir(path)) != files:
        failures.append(f'leftovers: {os.listdir(path)}')
    return 1, failures


def _weights(saved: Any) -> dict[str, list[Any]]:
    return weights(saved if isinstance(saved, BCM) else saved.model)


def of_interrupt(
    rng: np.random.Generator, folder: Path
) -> tuple[int, list[str]]:
    """Ctrl-C while a map is saved leaves the old one or the new one.

    It may come while old files are removed, so that one is left over: the next
    save removes it.
    """
    atlases, path = _two_atlases(), folder / 'map'
    atlases[0].save(path)
    files = len(os.listdir(path))

    def save() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for turn in range(1000):
            atlases[turn % 2].save(path)

    # On a busy machine Ctrl-C may come before the process is ready for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pid = _begin(save)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    time.sleep(rng.uniform(0.01, 0.1))
    os.kill(pid, signal.SIGINT)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    failures = [] if code == FOREIGN else [f'a process ended with {code}']
    failures += _wrong_folder(path, atlases)
    atlases[0].save(path)
    return 1, failures + _wrong_folder(path, atlases, files)


def of_savers(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Three processes save to one folder, and one reads it."""
    atlases, path = _two_atlases(), folder / 'map'
    atlases[0].save(path)
    files, saves = len(os.listdir(path)), 10

    def save(first: int) -> None:
        for turn in range(saves):
            atlases[(first + turn) % 2].save(path)

    pids = {_begin(partial(save, turn)) for turn in range(3)}
    failures: list[str] = []
    while pids:
        failures += _wrong_folder(path, atlases)
        for pid in list(pids):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                pids.remove(pid)
                code = os.waitstatus_to_exitcode(status)
                failures += [f'a process ended with {code}'] if code else []
    return 3 * saves, failures + _wrong_folder(path, atlases, files)


def _two_atlases() -> list[CognitiveMap]:
    data = weighted_grid('open', side=6, seed=1)
    models = [BCM.from_data(data, channels=4) for _ in range(2)]
    return [CognitiveMap(data, model) for model in models]


def _wrong_folder(
    path: Path, atlases: list[CognitiveMap], files: int | None = None
) -> list[str]:
    """What is wrong with a folder that should hold one of two maps."""
    try:
        found = _weights(CognitiveMap.load(path))
    except BCMError as error:
        return [f'the map is lost: {error}']
    if found not in list(map(_weights, atlases)):
        return ['neither the old map nor the new one']
    if files not in (None, len(os.listdir(path))):
        return [f'leftovers: {os.listdir(path)}']
    return []


def of_fit(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Kills a run up to three times; in the end it is as if nothing was."""
    data, config = weighted_grid('open', side=6, seed=1), _config()
    reference, path = _model(data, 1), folder / 'run'
    path.unlink(missing_ok=True)
    kills = int(rng.integers(1, 4))
    before = checkpoints.CHECKPOINT_EVERY
    checkpoints.CHECKPOINT_EVERY = 0.0
    try:
        for _ in range(kills):
            work = partial(fit, _model(data, 1), data, config, checkpoint=path)
            _kill(_begin(work), rng.uniform(0, 0.6))
        model = _model(data, 1)
        fit(model, data, config, checkpoint=path)
    except BCMError as error:
        return kills, [f'the run is lost: {error}']
    finally:
        checkpoints.CHECKPOINT_EVERY = before
    fit(reference, data, config)
    failures = []
    if weights(model) != weights(reference):
        failures.append('the run went another way')
    left = [name for name in os.listdir(folder) if name.endswith('.part')]
    return kills, failures + [f'leftovers: {left}'] * bool(left)


def of_disk(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Fills a small disk up during training: what was there stays."""
    disk, report = folder / 'disk', folder / 'report'
    disk.mkdir(exist_ok=True)
    report.write_text('[]')

    def work() -> None:
        size = int(rng.integers(200, 1500))
        if not mounted(disk, f'size={size}k'):
            raise OSError('there is no disk to fill up')
        report.write_text(json.dumps(_fill_up(rng, disk)))

    code = os.waitstatus_to_exitcode(os.waitpid(_begin(work), 0)[1])
    failures = json.loads(report.read_text())
    return 1, failures + ([] if code == 0 else [f'a process ended with {code}'])


def _fill_up(rng: np.random.Generator, disk: Path) -> list[str]:
    """Trains with a checkpoint and saves, while another fills the disk up."""
    data, config = weighted_grid('open', side=6, seed=1), _config()
    first, path = _model(data, 2), disk / 'run'
    checkpoints.CHECKPOINT_EVERY = 0.0
    filler, failures, saved = disk / 'filler', [], False
    with suppress(BCMError):
        first.save(disk / 'map')
        saved = True

    def fill() -> None:
        time.sleep(rng.uniform(0, 0.2))
        with suppress(OSError), filler.open('wb', buffering=0) as file:
            while True:
                file.write(bytes(4096))

    thread = threading.Thread(target=fill)
    thread.start()
    model = _model(data, 1)
    with suppress(BCMError):
        fit(model, data, config, checkpoint=path)
    thread.join()
    with suppress(BCMError):
        model.save(disk / 'map')
    filler.unlink(missing_ok=True)
    failures += [f'leftovers: {p.name}' for p in disk.rglob('*.part')]
    if saved:
        found = weights(BCM.load(disk / 'map', data))
        if found not in [weights(first), weights(model)]:
            failures.append('the map has changed')
    again, reference = _model(data, 1), _model(data, 1)
    try:
        fit(again, data, config, checkpoint=path)
    except BCMError as error:  # the disk is too small for a checkpoint
        if 'No space' not in str(error):
            failures.append(f'the run is lost: {error}')
        return failures
    fit(reference, data, config)
    if weights(again) != weights(reference):
        failures.append('the run went another way')
    return failures


def of_limit(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Files that may not grow as they should: what was there stays."""
    data, config = weighted_grid('open', side=6, seed=1), _config()
    path, model = folder / 'run', _model(data, 1)
    path.unlink(missing_ok=True)
    model.save(folder / 'map')
    fit(_model(data, 1), data, _config(steps=STEPS), checkpoint=path)
    old, size = path.read_bytes(), path.stat().st_size
    limit = int(rng.integers(0, size))

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if rng.random() < 0.5:
            fit(_model(data, 1), data, config, checkpoint=path)
        else:
            _model(data, 2).save(folder / 'map')

    code = os.waitstatus_to_exitcode(os.waitpid(_begin(work), 0)[1])
    failures = []
    if code not in (0, REFUSED):
        failures.append(f'a process ended with {code}')
    if path.read_bytes() != old:
        failures.append('the checkpoint has changed')
    found = weights(BCM.load(folder / 'map', data))
    if found not in [weights(model), weights(_model(data, 2))]:
        failures.append('the map has changed')
    left = [p.name for p in folder.rglob('*.part')]
    return 1, failures + [f'leftovers: {left}'] * bool(left)


def of_pair(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Kills one of two processes that train together: the other ends."""
    meeting = folder / f'meeting-{rng.integers(2**40)}'
    data = weighted_grid('open', side=6, seed=1)
    config = _config(steps=10**6)

    def work(rank: int) -> None:
        dist.init_process_group(
            'gloo',
            init_method=f'file://{meeting}',
            rank=rank,
            world_size=2,
            timeout=timedelta(seconds=30),
        )
        fit(_model(data, rank), data, config)

    pids = [_begin(partial(work, rank)) for rank in (0, 1)]
    time.sleep(rng.uniform(0.5, 2))
    first, second = rng.permutation(pids).tolist()
    _kill(first, 0)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pid, status = os.waitpid(second, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            # Before they have met, gloo itself says that nobody comes.
            ended = code in (REFUSED, FOREIGN)
            return 1, [] if ended else [f'the other ended with {code}']
        time.sleep(0.05)
    _kill(second, 0)
    return 1, ['the other did not end']


def _model(data: object, seed: int) -> BCM:
    torch.manual_seed(seed)
    return copy.deepcopy(small_map(data))  # type: ignore[arg-type]


def _config(steps: int = STEPS) -> FitConfig:
    return tiny(steps=steps, validation_queries=0)


def _begin(work: Callable[[], object]) -> int:
    """A copy of this process that works: no time for imports."""
    pid = os.fork()
    if pid > 0:
        return pid
    code = FOREIGN
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 2)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            work()
        code = 0
    except BCMError:
        code = REFUSED
    finally:
        os._exit(code)


def _kill(pid: int, after: float) -> None:
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers import tiny_map
from map_folders import assert_same, weights_of
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError
from bcm_pyg.io import folder as folder_module


@pytest.mark.parametrize('call', [1, 2])
@pytest.mark.parametrize('error', [OSError, KeyboardInterrupt])
def test_a_save_that_stops_leaves_the_old_map(
    diamond: Data,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: int,
    error: type[BaseException],
) -> None:
    old = BCM.load(saved, diamond)
    new = tiny_map(diamond)
    new.info = old.info
    write, calls = folder_module.replace_file, []

    def stop(path: Path, content: bytes) -> None:
        calls.append(path.name)
        if len(calls) == call:
            raise error('no more')
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, 'replace_file', stop)
        expected = BCMError if error is OSError else error
        with pytest.raises(expected, match='no more'):
            new.save(saved)
    assert calls[call - 1].endswith(('.safetensors', 'config.json')[call - 1])
    assert_same(old, BCM.load(saved, diamond), diamond)
    new.save(saved)  # and the next one tidies up
    assert_same(new, BCM.load(saved, diamond), diamond)
    assert len(os.listdir(saved)) == 2


def test_a_full_disk_leaves_the_old_map(
    diamond: Data, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, before = BCM.load(saved, diamond), sorted(os.listdir(saved))

    def full(*args: object) -> None:
        raise OSError('disk full')

    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', full)
        with pytest.raises(BCMError, match='cannot write a map.*disk full'):
            tiny_map(diamond).save(saved)
    assert_same(old, BCM.load(saved, diamond), diamond)
    assert sorted(os.listdir(saved)) == before


def test_folders_that_cannot_be_synced(
    diamond: Data, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, number = os.fsync, errno.EINVAL

    def files_alone(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, 'no')
        sync(handle)

    monkeypatch.setattr(os, 'fsync', files_alone)
    model = tiny_map(diamond)
    model.save(saved)
    assert_same(model, BCM.load(saved, diamond), diamond)
    number = errno.EIO
    with pytest.raises(BCMError, match='cannot write a map'):
        model.save(saved)


def test_leftovers_go_with_the_next_save(diamond: Data, saved: Path) -> None:
    leftovers = [
        '.config.json.abc_1234.part',
        '.map-0123456789abcdef.safetensors.abcd1234.part',
        'map-0123456789abcdef.safetensors',
    ]
    for name in leftovers:
        (saved / name).write_text('half')
    BCM.load(saved, diamond)  # they do not matter
    tiny_map(diamond).save(saved)
    assert sorted(os.listdir(saved)) == [
        'config.json',
        weights_of(saved).name,
    ]


def test_what_cannot_be_removed_stays(diamond: Data, saved: Path) -> None:
    stuck = saved / 'map-0123456789abcdef.safetensors'
    stuck.mkdir()
    model = tiny_map(diamond)
    model.save(saved)
    assert stuck.is_dir()
    assert_same(model, BCM.load(saved, diamond), diamond)


def test_savers_wait_for_each_other(
    diamond: Data, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_map(diamond)
    thread = threading.Thread(target=model.save, args=[saved])
    with folder_module._locked(saved) as (is_locked, _):
        assert is_locked
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        monkeypatch.setattr(folder_module, 'PATIENCE', 0.05)
        with pytest.raises(BCMError, match='another process has been saving'):
            tiny_map(diamond).save(saved)
    thread.join(30)
    assert not thread.is_alive()
    assert_same(model, BCM.load(saved, diamond), diamond)


def test_without_locks_nothing_is_removed(
    diamond: Data, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It might be what another process has just written."""
    before = set(os.listdir(saved))

    def no_lock(*args: object) -> None:
        raise OSError(95, 'not supported')

    model = tiny_map(diamond)
    with monkeypatch.context() as patch:
        patch.setattr(folder_module.fcntl, 'flock', no_lock)
        model.save(saved)
    assert set(os.listdir(saved)) > before
    with monkeypatch.context() as patch:
        patch.setattr(folder_module, 'fcntl', None)
        tiny_map(diamond).save(saved)
    assert len(os.listdir(saved)) == 4
    model.save(saved)
    assert len(os.listdir(saved)) == 2
    assert_same(model, BCM.load(saved, diamond), diamond)


def test_a_load_meets_a_save(
    diamond: Data, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights go just after the config that names them was read."""
    model = tiny_map(diamond)
    read, calls = folder_module._read_config, []

    def read_and_save(folder: Path, *args: Any) -> dict:
        config = read(folder, *args)
        calls.append(config['files']['map']['sha256'])
        if len(calls) == 1:
            model.save(folder)
        return config

    monkeypatch.setattr(folder_module, '_read_config', read_and_save)
    assert_same(model, BCM.load(saved, diamond), diamond)
    assert len(set(calls)) == len(calls) == 2


# Killed ---------------------------------------------------------------------

PRELUDE = """
import os, random, signal, sys, time
import torch
from bcm_pyg import BCM
from bcm_pyg.datasets import weighted_grid

torch.set_num_threads(1)
folder = sys.argv[1]
data = weighted_grid('open', side=4, costs='mild', seed=0)
models = [BCM.from_data(data, 'k_hot') for _ in range(2)]

def which():
    weight = BCM.load(folder, data).transition.lin3.weight
    same = [torch.equal(weight, m.transition.lin3.weight) for m in models]
    assert sum(same) == 1
    return same.index(True)

def begin(work, *args):
    child = os.fork()
    if child:
        return child
    try:
        work(*args)
    finally:
        os._exit(0 if sys.exc_info()[0] is None else 1)

def end(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

AT_RANDOM = """
rng = random.Random(0)

def work(order, writer):
    while True:
        for index in order:
            models[index].save(folder)
            os.write(writer, b'.')

for turn in range(15):
    reader, writer = os.pipe()
    child = begin(work, [turn % 2, 1 - turn % 2], writer)
    assert os.read(reader, 1) == b'.'  # it is at work
    time.sleep(rng.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    assert end(child) == -9
    print(which())
"""

AT_EVERY_STEP = """
STEPS = {'open', 'os.rename', 'os.remove', 'os.chmod', 'fcntl.flock',
         'os.listdir', 'os.mkdir', 'tempfile.mkstemp', 'os.scandir'}

def work(step):
    steps = iter(range(step))
    def watch(event, args):
        if event in STEPS and next(steps, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(watch)
    models[1].save(folder)

models[0].save(folder)
for step in range(1000):
    code = end(begin(work, step))
    assert code in (0, -9)
    print(which())
    models[0].save(folder)  # and tidies up
    assert len(os.listdir(folder)) == 2, os.listdir(folder)
    if code == 0:
        break
"""

TOGETHER = """
def work(index):
    for _ in range(12):
        models[index].save(folder)

models[0].save(folder)
children = [begin(work, index) for index in (0, 1)]
for _ in range(12):
    print(which())
assert [end(child) for child in children] == [0, 0]
print(which())
assert len(os.listdir(folder)) == 2
"""


@pytest.fixture(scope='module')
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Which map was there after each step of the three scripts."""
    scripts = [AT_RANDOM, AT_EVERY_STEP, TOGETHER]
    done = subprocess.run(
        [
            sys.executable,
            '-c',
            PRELUDE + "print('-')".join(scripts),
            tmp_path_factory.mktemp('killed') / 'map',
        ],
        capture_output=True,
        text=True,
        timeout=250,
        env={**os.environ, 'OMP_NUM_THREADS': '1'},
    )
    assert done.returncode == 0, done.stderr
    parts = [part.split() for part in done.stdout.split('-')]
    assert len(parts) == len(scripts)
    return parts


def test_saves_killed_at_random_moments(seen: list[list[str]]) -> None:
    assert len(seen[0]) == 15
    assert set(seen[0]) == {'0', '1'}


def test_saves_killed_at_every_step(seen: list[list[str]]) -> None:
    steps = seen[1]
    assert 8 <= len(steps) < 100
    first_new = steps.index('1')
    assert 0 < first_new < len(steps) - 1
    assert set(steps[:first_new]) == {'0'}
    assert set(steps[first_new:]) == {'1'}


def test_two_processes_save_into_one_folder(seen: list[list[str]]) -> None:
    assert len(seen[2]) == 13
    assert set(seen[2]) <= {'0', '1'}

"""A run that was stopped goes on as if it never had been."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from bcm_pyg import BCM, BCMError, FitConfig, fit
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training import trainer as trainer_module
from bcm_pyg.training.checkpoint import read_checkpoint, write_checkpoint

CONFIG = FitConfig(steps=24, seeds=10, validations=3, validation_queries=8)


class Stop(Exception):
    pass


def make(encoder='interaction'):
    torch.manual_seed(0)
    data = weighted_grid('ushape', side=10, seed=3)
    return BCM.from_data(data, encoder), data


def stop_at(step):
    def callback(at, metrics):
        if at >= step:
            raise Stop

    return callback


@pytest.mark.parametrize('optimizer', ['soap', 'adam'])
@pytest.mark.parametrize('targets', ['sweeps', 'paper', 'exact'])
def test_resumes_bit_for_bit(tmp_path, monkeypatch, targets, optimizer):
    from dataclasses import replace

    config = replace(CONFIG, targets=targets, optimizer=optimizer)
    whole, data = make()
    history = fit(whole, data, config)

    monkeypatch.setattr(trainer_module, 'CHECKPOINT_EVERY', 0.0)
    path = tmp_path / 'run.safetensors'
    stopped, _ = make()
    with pytest.raises(Stop):
        fit(stopped, data, config, callback=stop_at(10), resume=path)
    resumed = BCM.from_data(data)  # other weights: the file has the right ones
    again = fit(resumed, data, config, resume=path)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    assert again.step == history.step
    assert again.loss == history.loss
    assert again.gap == history.gap
    assert again.steps == history.steps == 24


def test_finished_run_is_not_run_again(tmp_path):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, resume=path)
    twin = BCM.from_data(data)
    history = fit(twin, data, CONFIG, resume=path)
    assert history.steps == 24
    for name, value in model.state_dict().items():
        assert torch.equal(value, twin.state_dict()[name])


def test_another_run_is_refused(tmp_path):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, resume=path)
    with pytest.raises(BCMError, match='another config'):
        fit(model, data, FitConfig(steps=25), resume=path)
    other = weighted_grid('ushape', side=10, seed=4)
    with pytest.raises(BCMError, match='another graph'):
        fit(model, other, CONFIG, resume=path)
    with pytest.raises(BCMError, match='does not fit this map'):
        fit(BCM.from_data(data, 'k_hot'), data, CONFIG, resume=path)


@pytest.mark.parametrize('damage', ['cut', 'flip', 'junk', 'empty'])
def test_damaged_file(tmp_path, damage):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, resume=path)
    content = bytearray(path.read_bytes())
    if damage == 'cut':
        content = content[: len(content) // 2]
    elif damage == 'flip':
        content[-5] ^= 1
    elif damage == 'junk':
        content = bytearray(b'junk' * 100)
    else:
        content = bytearray()
    path.write_bytes(content)
    with pytest.raises(BCMError):
        fit(model, data, CONFIG, resume=path)


def test_write_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / 'file'
    write_checkpoint(path, {'a': torch.ones(3)}, {'step': 1})

    def broken(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, 'replace', broken)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(path, {'a': torch.zeros(3)}, {'step': 2})
    tensors, facts = read_checkpoint(path)
    assert facts == {'step': 1} and tensors['a'].tolist() == [1, 1, 1]
    assert [p.name for p in tmp_path.iterdir()] == ['file']


KILLED = """
import sys, torch
from bcm_pyg import BCM, FitConfig, fit
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training import trainer
torch.set_num_threads(1)
trainer.CHECKPOINT_EVERY = 0.0
torch.manual_seed(0)
data = weighted_grid('ushape', side=10, seed=3)
model = BCM.from_data(data)
config = FitConfig(steps=60, seeds=10, validation_queries=0)
print('go', flush=True)
fit(model, data, config, resume=sys.argv[1])
model.save(sys.argv[2])
"""


def test_sigkill_at_any_moment(tmp_path):
    """Killed again and again mid-write, the run still ends as it should."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        data = weighted_grid('ushape', side=10, seed=3)
        whole = BCM.from_data(data)
        config = FitConfig(steps=60, seeds=10, validation_queries=0)
        fit(whole, data, config)
    finally:
        torch.set_num_threads(threads)

    path, saved = tmp_path / 'run.safetensors', tmp_path / 'map'
    command = [sys.executable, '-c', KILLED, str(path), str(saved)]
    rng = random.Random(0)
    kills = 0
    for attempt in range(12):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == 'go\n'
        if attempt < 4:
            before = path.stat().st_mtime_ns if path.exists() else 0
            while process.poll() is None:  # until it has written something
                now = path.stat().st_mtime_ns if path.exists() else 0
                if now != before:
                    break
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
        else:
            assert process.wait(timeout=120) == 0
            process.stdout.close()
            break
        process.stdout.close()
    assert kills >= 1
    model = BCM.load(saved, data)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name

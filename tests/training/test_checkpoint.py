"""A run that was stopped goes on as if it never had been."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from small_fits import targets_of

from bcm_pyg import BCM, BCMError, FitConfig, fit
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.io import read_file, write_file
from bcm_pyg.nn import InteractionEncoder, Transition
from bcm_pyg.training import SweepTargets, checkpoint
from bcm_pyg.training.checkpoint import FORMAT

CONFIG = FitConfig(
    steps=24,
    targets=SweepTargets(bootstrap_nodes=10),
    validations=3,
    validation_queries=8,
)


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
    config = replace(
        CONFIG,
        targets=targets_of(targets, bootstrap_nodes=10),
        optimizer=optimizer,
    )
    whole, data = make()
    history = fit(whole, data, config)

    monkeypatch.setattr(checkpoint, 'CHECKPOINT_EVERY', 0.0)
    path = tmp_path / 'run.safetensors'
    stopped, _ = make()
    with pytest.raises(Stop):
        fit(stopped, data, config, callback=stop_at(10), checkpoint=path)
    resumed = BCM.from_data(data)  # other weights: the file has the right ones
    again = fit(resumed, data, config, checkpoint=path)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    assert again.step == history.step
    assert again.loss == history.loss
    assert again.gap == history.gap
    assert again.steps == history.steps == 24


@pytest.mark.parametrize('targets', ['sweeps', 'exact'])
def test_resumes_with_the_scale_of_the_run(tmp_path, monkeypatch, targets):
    """An update keeps the scale of the old graph, also when it is resumed."""
    _, data = make()
    dear = data.clone()
    dear.edge_cost = 3 * data.edge_cost
    old, _ = make()
    fit(old, data, FitConfig(steps=2))
    start = {name: value.clone() for name, value in old.state_dict().items()}
    config = replace(CONFIG, targets=targets_of(targets, bootstrap_nodes=10))
    fit(old, dear, config)

    monkeypatch.setattr(checkpoint, 'CHECKPOINT_EVERY', 0.0)
    path = tmp_path / 'run.safetensors'
    stopped = BCM.from_data(data)
    stopped.load_state_dict(start)
    with pytest.raises(Stop):
        fit(stopped, dear, config, callback=stop_at(10), checkpoint=path)
    resumed = BCM.from_data(dear)  # has another scale before it is resumed
    assert resumed.cost_scale != stopped.cost_scale
    fit(resumed, dear, config, checkpoint=path)
    for name, value in old.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_a_pool_may_know_less_than_that_of_the_start(tmp_path, monkeypatch):
    """Which values no draw knows depends on the draws."""
    data = weighted_grid('open', side=12, seed=3)
    targets = SweepTargets(
        num_backups=5, bootstrap_nodes=30, bootstrap_samples=1, refresh_every=1
    )
    config = FitConfig(steps=40, targets=targets, validations=10)
    monkeypatch.setattr(checkpoint, 'CHECKPOINT_EVERY', 0.0)
    odd = 0
    for seed in range(6):
        path = tmp_path / f'{seed}.safetensors'
        run = replace(config, seed=seed)
        with pytest.raises(Stop):
            fit(
                BCM.from_data(data),
                data,
                run,
                callback=stop_at(9),
                checkpoint=path,
            )
        _, tensors = read_file(path.read_bytes(), FORMAT, path)
        odd += bool(tensors['targets.value'].isnan().any())
        again = fit(BCM.from_data(data), data, run, checkpoint=path)
        assert again.steps == 40
    assert odd > 0


def test_finished_run_is_not_run_again(tmp_path):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, checkpoint=path)
    twin = BCM.from_data(data)
    history = fit(twin, data, CONFIG, checkpoint=path)
    assert history.steps == 24
    for name, value in model.state_dict().items():
        assert torch.equal(value, twin.state_dict()[name])


def test_another_run_is_refused(tmp_path):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, checkpoint=path)
    with pytest.raises(BCMError, match='another config'):
        fit(model, data, FitConfig(steps=25), checkpoint=path)
    other = weighted_grid('ushape', side=10, seed=4)
    graph = model.info.fingerprint
    with pytest.raises(BCMError, match='another graph'):
        fit(model, other, CONFIG, checkpoint=path)
    assert model.info.fingerprint == graph


def test_another_map_is_refused_and_left_alone(tmp_path):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, checkpoint=path)
    others = {
        'encoder .name, config.': BCM.from_data(data, 'k_hot'),
        'encoder .config.': BCM.from_data(data, init='random'),
        'terminal': BCM.from_data(data, terminal='paper'),
        'encoder ': BCM.from_data(data, Own(data)),
    }
    others['does not fit this map: .* is torch.float32'] = BCM(
        model.encoder, Transition(model.encoder.out_channels, 16)
    )
    for message, other in others.items():
        before = {k: v.clone() for k, v in other.state_dict().items()}
        with pytest.raises(BCMError, match=message):
            fit(other, data, CONFIG, checkpoint=path)
        for name, value in other.state_dict().items():
            assert torch.equal(value, before[name])


class Own(torch.nn.Module):
    """Of a user: no name, no settings."""

    def __init__(self, data):
        super().__init__()
        self.out_channels = 2
        self.lin = torch.nn.Linear(2, 2)

    def forward(self, data):
        return self.lin(data.pos)


def test_an_encoder_without_a_name_is_resumed(tmp_path):
    path = tmp_path / 'run.safetensors'
    _, data = make()
    fit(BCM.from_data(data, Own(data)), data, CONFIG, checkpoint=path)
    model = BCM.from_data(data, Own(data))
    assert fit(model, data, CONFIG, checkpoint=path).steps == 24


def test_files_that_do_not_say_of_what_run_they_are(tmp_path):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, checkpoint=path)
    for name in ('terminal', 'encoder'):
        identity, tensors = read_file(path.read_bytes(), FORMAT, path)
        del identity[name]
        write_file(tmp_path / 'old', FORMAT, identity, tensors)
        with pytest.raises(BCMError, match=f'another {name}: remove it'):
            fit(model, data, CONFIG, checkpoint=tmp_path / 'old')


@pytest.mark.parametrize('optimizer', ['soap', 'adam'])
def test_files_of_another_structure(tmp_path, optimizer):
    """The digest is right, but what it vouches for is no state of a run."""
    path, other = tmp_path / 'run.safetensors', tmp_path / 'other'
    config = FitConfig(
        steps=4,
        targets=SweepTargets(bootstrap_nodes=3, goal_pool=2),
        goals=2,
        validation_queries=0,
        optimizer=optimizer,
    )
    data = weighted_grid('open', side=4, seed=3)
    encoder = InteractionEncoder.from_data(data, channels=2)
    model = BCM(encoder, Transition(encoder.out_channels, 4, 4))
    fit(model, data, config, checkpoint=path)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    identity, tensors = read_file(path.read_bytes(), FORMAT, path)

    def refused(identity, tensors):
        write_file(other, FORMAT, identity, tensors)
        with pytest.raises(BCMError) as caught:
            fit(model, data, config, checkpoint=other)
        assert len(str(caught.value)) < 1000
        for name, value in model.state_dict().items():
            assert torch.equal(value, before[name])

    odd = [None, 'x', [1], {'0': 1}, {'config': 1}, -1]
    for key in identity:
        for value in odd:
            refused({**identity, key: value}, tensors)
    refused({}, tensors)
    refused(identity, {})
    may_be_nan = ('targets.value', 'run.history', 'run.losses')
    for key, value in tensors.items():
        refused(identity, {k: v for k, v in tensors.items() if k != key})
        refused(identity, {**tensors, key: value[None]})
        refused(identity, {**tensors, key: value.to(torch.int16)})
        if value.is_floating_point() and value.numel() > 0:
            refused(identity, {**tensors, key: value.bfloat16()})
            for scale in (float('nan'), float('inf')):
                if key not in may_be_nan:
                    refused(identity, {**tensors, key: (value + 1) * scale})
    for key in ('targets.value', 'run.counts', 'run.history'):
        for shift in (-1e9, 1e19)[: 1 + (key != 'targets.value')]:
            refused(identity, {**tensors, key: tensors[key] + shift})
    for key in ('targets.goals', 'targets.next'):
        for shift in (-(10**6), 10**6):
            refused(identity, {**tensors, key: tensors[key] + shift})
    for key, value in tensors.items():
        if key.startswith('optimizer.') and key.endswith('.step'):
            if value.dtype == torch.float64:  # a plain number, not a tensor
                for shift in (-99, 1e19):
                    refused(identity, {**tensors, key: value + shift})
    for key in ('x', 'model.x', 'optimizer.99.mean', 'optimizer.x', 'run.x'):
        refused(identity, {**tensors, key: torch.ones(1)})
    assert fit(model, data, config, checkpoint=path).steps == 4


@pytest.mark.parametrize('path', [3, '', 'a\0b', b'x'])
def test_what_is_no_file(path):
    model, data = make()
    with pytest.raises(BCMError, match='checkpoint must name a file'):
        fit(model, data, CONFIG, checkpoint=path)


def test_a_folder_is_no_file(tmp_path):
    model, data = make()
    with pytest.raises(
        BCMError, match='checkpoint must name a file .got the fol'
    ):
        fit(model, data, CONFIG, checkpoint=tmp_path)


@pytest.mark.parametrize('damage', ['cut', 'flip', 'junk', 'empty'])
def test_damaged_file(tmp_path, damage):
    path = tmp_path / 'run.safetensors'
    model, data = make()
    fit(model, data, CONFIG, checkpoint=path)
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
        fit(model, data, CONFIG, checkpoint=path)


def test_odd_files(tmp_path):
    model, data = make()
    os.mkfifo(tmp_path / 'pipe')  # must not make it wait
    with pytest.raises(BCMError, match='pipe is not a file'):
        fit(model, data, CONFIG, checkpoint=tmp_path / 'pipe')
    for path in (tmp_path / ('x' * 400), '\ud800'):
        with pytest.raises(BCMError, match='cannot write the checkpoint'):
            fit(model, data, CONFIG, checkpoint=path)


def test_many_losses_and_validations(tmp_path):
    """They are tensors: what JSON has is limited."""
    path = tmp_path / 'run'
    model, data = make()
    fit(model, data, CONFIG, checkpoint=path)
    identity, tensors = read_file(path.read_bytes(), FORMAT, path)
    long = {
        'run.losses': torch.rand(10**5, dtype=torch.float64),
        'run.history': torch.ones(5, 10**5, dtype=torch.float64),
    }
    write_file(path, FORMAT, identity, {**tensors, **long})
    history = fit(model, data, CONFIG, checkpoint=path)
    assert len(history.step) == 10**5 + 1  # and one for the last losses


KILLED = """
import os, sys, time, torch
from bcm_pyg import BCM, FitConfig, fit
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training import SweepTargets, checkpoint
torch.set_num_threads(1)
checkpoint.CHECKPOINT_EVERY = 0.0
sync = os.fsync
os.fsync = lambda file: (time.sleep(0.02), sync(file))  # time to be killed in
torch.manual_seed(0)
data = weighted_grid('ushape', side=10, seed=3)
model = BCM.from_data(data)
config = FitConfig(
    steps=60, targets=SweepTargets(bootstrap_nodes=10), validation_queries=0
)
print('go', flush=True)
fit(model, data, config, checkpoint=sys.argv[1])
model.save(sys.argv[2])
"""


def _written_at(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def _changed(path: Path, before: int) -> bool:
    return _written_at(path) != before


def _wait_until(happens: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_sigkill_at_any_moment(tmp_path):
    """Killed again and again mid-write, the run still ends as it should."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        data = weighted_grid('ushape', side=10, seed=3)
        whole = BCM.from_data(data)
        targets = SweepTargets(bootstrap_nodes=10)
        config = FitConfig(steps=60, targets=targets, validation_queries=0)
        fit(whole, data, config)
    finally:
        torch.set_num_threads(threads)

    path, saved = tmp_path / 'run.safetensors', tmp_path / 'map'
    command = [sys.executable, '-c', KILLED, str(path), str(saved)]
    parts = 0
    for attempt in range(5):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == 'go\n'
        if attempt < 4:
            _wait_until(partial(_changed, path, _written_at(path)))
            _wait_until(lambda: [*tmp_path.glob('.run.*.part')])
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
            parts += len([*tmp_path.glob('.run.*.part')])
        else:
            assert process.wait(timeout=120) == 0
        process.stdout.close()
    assert parts >= 1  # killed in the middle of a write
    assert not [*tmp_path.glob('.run.*.part')]
    model = BCM.load(saved, data)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name

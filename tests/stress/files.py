"""Damaged files of every kind: sound content, or one clear error."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from sample_files import FILES
from small_fits import small_map, tiny
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, CognitiveMap, fit, planning_graph
from bcm_pyg.__main__ import main
from bcm_pyg.io import read_file, write_file
from bcm_pyg.io.format import config_digest
from bcm_pyg.training.checkpoint import FORMAT

#: Seconds until a reader counts as hanging.
PATIENCE = 60
NASTY: list[Any] = [
    *(None, True, '', 'x', -1, 0, 1, 300, 2**31, 2**63, 10**30),
    *(0.5, -1e308, 1e308, [], {}, [[]], ['x'], {'name': 'grid'}),
]
ENCODERS = ['interaction', 'k_hot', 'grid', 'landmark', 'node_table']
DTYPES = [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.bool]


class Hang(BaseException):
    """A reader takes too long."""


def of_graph(
    name: str, rng: np.random.Generator, folder: Path
) -> tuple[int, list[str]]:
    """Damages a file of a graph and reads it."""
    content, read = FILES[name]
    path = folder / name
    path.write_bytes(damaged(content, rng))
    return _refused(partial(read, path), path.read_bytes())


def of_map(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Damages the folder of a map and loads it."""
    data, name = _graph(), str(rng.choice(ENCODERS))
    dtype = str(rng.choice(['float32', 'int8']))
    whole = folder / f'{name}-{dtype}'
    if not whole.exists():
        torch.manual_seed(0)
        small_map(data, name).save(whole, dtype=dtype)
    path = _damaged_folder(whole, rng)
    return _refused(partial(_load, path, data), path)


def of_atlas(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Damages the folder of a cognitive map and asks it for a route."""
    path = _damaged_folder(_whole_atlas(rng, folder), rng)

    def ask() -> None:
        atlas = CognitiveMap.load(path)
        names = atlas.names
        atlas.route(names[0], names[-1])

    return _refused(ask, path)


def of_command(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """The command line on damaged files: an exit code, and one line."""
    if rng.random() < 0.5:
        path = _damaged_folder(_whole_atlas(rng, folder), rng)
        verbs = [['info'], ['route', 'a', 'b'], ['evaluate', '--queries', '2']]
        verb, *rest = verbs[rng.integers(3)]
        command = [verb, str(path), *rest]
    else:
        name = str(rng.choice([n for n in FILES if not n.endswith('.scen')]))
        path = folder / name
        path.write_bytes(damaged(FILES[name][0], rng))
        out = str(folder / 'out')
        command = ['learn', str(path), '--budget', '0', '--out', out]
    shown, errors, code = StringIO(), StringIO(), None

    def run() -> None:
        nonlocal code
        with redirect_stdout(shown), redirect_stderr(errors):
            code = main(command)

    count, failures = _refused(run, command)
    if code not in (None, 0, 1, 2):
        failures.append(f'{command} ended with {code}')
    if code == 2 and len(errors.getvalue().splitlines()) != 1:
        failures.append(f'{command} says {errors.getvalue()!r}')
    return count, failures


def _whole_atlas(rng: np.random.Generator, folder: Path) -> Path:
    """The folder of a cognitive map, plain or simplified."""
    simplify = bool(rng.integers(2))
    whole = folder / f'atlas-{simplify}'
    if not whole.exists():
        ring = torch.arange(20)  # with two chords
        ends = torch.stack([ring, ring.roll(1)])
        ends = torch.cat([ends, torch.tensor([[0, 5], [10, 15]])], 1)
        data = Data(
            pos=torch.rand(20, 2),
            edge_index=torch.cat([ends, ends.flip(0)], 1),
            edge_cost=torch.ones(44),
            node_id=[f'n{node}' for node in range(20)],
        )
        config = tiny(steps=2, validation_queries=0)
        CognitiveMap.learn(
            data, config=config, simplify=simplify, snapshots=1
        ).save(whole)
    return whole


def _damaged_folder(whole: Path, rng: np.random.Generator) -> Path:
    """A copy, of which the bytes of a file or what it says is damaged."""
    path = whole.with_name('damaged')
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(whole, path)
    file = path / str(rng.choice(sorted(p.name for p in path.iterdir())))
    if rng.random() < 0.4:
        file.write_bytes(damaged(file.read_bytes(), rng))
        return path
    config = json.loads((path / 'config.json').read_text())
    if file.suffix == '.json':  # with digests that are right
        _spoil(config, rng)
    else:
        tensors = safetensors.torch.load(file.read_bytes())
        _spoil_tensors(tensors, rng)
        content = safetensors.torch.save(tensors)
        digest = hashlib.sha256(content).hexdigest()
        name = file.name.partition('-')[0]
        config['files'][name] = {'sha256': digest, 'bytes': len(content)}
        (path / f'{name}-{digest[:16]}.safetensors').write_bytes(content)
    config.pop('sha256', None)
    config['sha256'] = config_digest(config)
    (path / 'config.json').write_text(json.dumps(config))
    return path


def of_checkpoint(
    rng: np.random.Generator, folder: Path
) -> tuple[int, list[str]]:
    """Damages a checkpoint and goes on from it."""
    data, path, whole = _graph(), folder / 'run', folder / 'whole'
    config = tiny(steps=3, validation_queries=0)
    torch.manual_seed(0)
    model = small_map(data)
    if not whole.exists():
        fit(model, data, config, checkpoint=whole)
    shutil.copy(whole, path)
    if rng.random() < 0.4:
        path.write_bytes(damaged(path.read_bytes(), rng))
    else:
        identity, tensors = read_file(path.read_bytes(), FORMAT, path)
        if rng.random() < 0.3:
            _spoil(identity, rng)
        else:
            _spoil_tensors(tensors, rng)
        try:
            write_file(path, FORMAT, identity, tensors)
        except BCMError:  # no JSON
            return 1, []
    run = partial(fit, model, data, config, checkpoint=path)
    return _refused(run, path.read_bytes())


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A file after up to three accidents."""
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(len(content) + 1))
        end = start + int(rng.integers(9))
        kind = rng.integers(4)
        if kind == 0:
            content = content[:start]
        elif kind == 1:
            content = content[:start] + rng.bytes(4) + content[end:]
        elif kind == 2:
            number = str(10 ** int(rng.integers(20)) - 2).encode()
            content = content[:start] + number + content[end:]
        else:
            content = content[:end] + content[start:]
    return content


def _refused(read: Callable[[], Any], what: object) -> tuple[int, list[str]]:
    """Whether it is read or refused as it should be."""
    try:
        with _patience(), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            read()
    except BCMError as error:
        if not 0 < len(str(error)) < 3000:
            return 1, [f'an error of {len(str(error))} characters: {what!r}']
    except (Exception, Hang) as error:
        return 1, [f'{type(error).__name__}: {error!s:.200}: {what!r:.2000}']
    return 1, []


@contextmanager
def _patience() -> Iterator[None]:
    def ring(*args: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _load(path: Path, data: Data) -> None:
    """A map that is loaded has finite embeddings."""
    model = BCM.load(path, data)
    with torch.no_grad():
        assert bool(model.project_nodes(data).isfinite().all())


def _graph() -> Data:
    return planning_graph(
        Data(
            pos=torch.tensor([[0.0, 0.1], [1.0, 0.5], [1.0, 0.5], [0.3, 2.0]]),
            edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
            edge_cost=torch.tensor([1.0, 2.0, 0.5, 1.5]),
        )
    )


def _spoil(config: Any, rng: np.random.Generator) -> None:
    """Sets or removes an entry of nested dictionaries and lists."""
    while isinstance(config, (dict, list)) and config:
        keys = list(config) if isinstance(config, dict) else range(len(config))
        key = keys[rng.integers(len(keys))]
        if not isinstance(config[key], (dict, list)) or rng.random() < 0.2:
            if rng.random() < 0.2:
                del config[key]
            else:
                config[key] = NASTY[rng.integers(len(NASTY))]
            return
        config = config[key]


def _spoil_tensors(
    tensors: dict[str, torch.Tensor], rng: np.random.Generator
) -> None:
    if not tensors:
        return
    name = str(rng.choice(sorted(tensors)))
    value, kind = tensors[name], rng.integers(5)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[name] = value.to(DTYPES[rng.integers(len(DTYPES))])
    elif kind == 2:
        tensors[name] = value.flatten()[: int(rng.integers(4))].clone()
    elif kind == 3:
        tensors[str(rng.integers(99))] = value.clone()
    elif value.numel():
        numbers = [-1e30, 1e30, 1e19, float('nan'), float('inf'), -1.0, 127.0]
        number = numbers[rng.integers(len(numbers))]
        if not value.is_floating_point():
            least = -100 if value.dtype.is_signed else 0
            number = float(rng.integers(least, 100))
        value.view(-1)[int(rng.integers(value.numel()))] = number

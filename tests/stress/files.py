"""Damaged graph files and checkpoints: sound content, or one clear error."""

from __future__ import annotations

import copy
import gzip
import io
import signal
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sample_files import FILES
from small_fits import small_map, tiny, weights
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, fit, planning_graph
from bcm_pyg.io import read_file, write_file
from bcm_pyg.training.checkpoint import FORMAT

#: Seconds until a reader counts as hanging.
PATIENCE = 60
NASTY: list[Any] = [
    *(None, True, '', 'x', -1, 0, 1, 300, 2**31, 2**63, 10**30),
    *(0.5, -1e308, 1e308, [], {}, [[]], ['x'], {'name': 'grid'}),
]
DTYPES = [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.bool]


class Hang(BaseException):
    """A reader takes too long."""


def of_graph(
    name: str, rng: np.random.Generator, folder: Path
) -> tuple[int, list[str]]:
    """Damages a file of a graph and reads it."""
    content, read = FILES[name]
    path = folder / name
    content = spoiled_graph(name, content, rng)
    path.write_bytes(content)
    return refused(partial(read, path), content)


def spoiled_graph(name: str, content: bytes, rng: np.random.Generator) -> bytes:
    """Accidents to the file, or in an array of a file that is whole."""
    if name.endswith('.npz') and rng.random() < 0.5:
        return _repacked(content, rng)
    content = damaged(content, rng)
    return gzip.compress(content, 1) if rng.random() < 0.1 else content


def _repacked(content: bytes, rng: np.random.Generator) -> bytes:
    """An archive whose checksums are right, and an array in it is not."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {key: archive.read(key) for key in archive.namelist()}
    key = str(rng.choice(sorted(members)))
    array = np.load(io.BytesIO(members[key]))
    kind = rng.integers(4)
    if kind == 0:
        members[key] = damaged(members[key], rng)
    elif kind == 1:
        del members[key]
    else:
        if kind == 2:
            array = array.astype(str(rng.choice(['f2', 'u1', 'S9', 'c8'])))
        else:
            array = array.flatten()[: int(rng.integers(9))]
        file = io.BytesIO()
        np.save(file, array)
        members[key] = file.getvalue()
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as archive:
        for key, value in members.items():
            archive.writestr(key, value)
    return file.getvalue()


def of_checkpoint(
    rng: np.random.Generator, folder: Path
) -> tuple[int, list[str]]:
    """Damages a checkpoint and goes on from it."""
    data, path, whole = small_graph(), folder / 'run', folder / 'whole'
    config = tiny(steps=3, validation_queries=0)
    if not whole.exists():
        fit(_untrained(), data, config, checkpoint=whole)
    if rng.random() < 0.4:
        path.write_bytes(damaged(whole.read_bytes(), rng))
    else:
        identity, tensors = read_file(whole.read_bytes(), FORMAT, path)
        if rng.random() < 0.3:
            spoil(identity, rng)
        else:
            spoil_tensors(tensors, rng)
        try:
            write_file(path, FORMAT, identity, tensors)
        except BCMError:  # no JSON
            return 1, []
    content = path.read_bytes()

    def run() -> None:
        model = _untrained()
        try:
            fit(model, data, config, checkpoint=path)
        except BCMError:
            assert weights(model) == _first_weights(), 'the map was changed'
            assert path.read_bytes() == content, 'the file was changed'
            raise

    return refused(run, content)


def _untrained() -> BCM:
    """Always the same."""
    return copy.deepcopy(_first_map())


@cache
def _first_map() -> BCM:
    torch.manual_seed(0)
    return small_map(small_graph())


@cache
def _first_weights() -> dict[str, list[Any]]:
    return weights(_first_map())


@cache
def small_graph() -> Data:
    return planning_graph(
        Data(
            pos=torch.tensor([[0.0, 0.1], [1.0, 0.5], [1.0, 0.5], [0.3, 2.0]]),
            edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
            edge_cost=torch.tensor([1.0, 2.0, 0.5, 1.5]),
        )
    )


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


def refused(
    read: Callable[[], Any], what: object, is_sound: bool = False
) -> tuple[int, list[str]]:
    """Whether it is read, or, where it is not sound, refused as it should."""
    try:
        with _patience(), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            read()
    except BCMError as error:
        if is_sound:
            return 1, [f'refused: {error!s:.200}: {what!r:.2000}']
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


def spoil(config: Any, rng: np.random.Generator) -> None:
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


def spoil_tensors(
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

"""The state of a training run in one safetensors file, written atomically."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import remove_parts, replace_file

FORMAT = 'bcm_pyg.checkpoint.1'


def write_checkpoint(
    path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]
) -> None:
    """Replaces the file; a process killed on the way leaves the old one.

    What killed ones left beside it is removed: a run has one writer.
    """
    plain = {
        key: value.detach().cpu().contiguous().clone()
        for key, value in tensors.items()
    }
    text = json.dumps(facts)
    metadata = {
        'format': FORMAT,
        'facts': text,
        'digest': _digest(plain, text),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, safetensors.torch.save(plain, metadata))
        remove_parts(path)
    except OSError as error:
        raise BCMError(f'cannot write the checkpoint {path}: {error}') from None


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and facts of a checkpoint."""
    try:
        with safetensors.safe_open(path, framework='pt') as file:
            metadata = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}
    except (OSError, safetensors.SafetensorError) as error:
        raise BCMError(
            f'{path} is not a readable checkpoint: {error}'
        ) from None
    text = metadata.get('facts', '')
    if metadata.get('format') != FORMAT:
        raise BCMError(f'{path} is not a checkpoint of format {FORMAT!r}')
    if metadata.get('digest') != _digest(tensors, text):
        raise BCMError(f'{path} was changed or damaged')
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BCMError(
            f'{path} is not a readable checkpoint: {error}'
        ) from None
    if not isinstance(facts, dict):
        raise BCMError(f'{path} is not a readable checkpoint: no facts')
    return tensors, facts


def optimizer_state(
    optimizer: torch.optim.Optimizer,
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """The state of an optimiser as flat tensors and numbers."""
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, float] = {}
    for index, entries in optimizer.state_dict()['state'].items():
        for name, value in entries.items():
            flat = tensors if isinstance(value, Tensor) else numbers
            flat[f'{index}.{name}'] = value
    return tensors, numbers


def load_optimizer_state(
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, float],
) -> None:
    """The inverse of :func:`optimizer_state`."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**tensors, **numbers}.items():
        index, name = key.split('.', 1)
        state.setdefault(int(index), {})[name] = value
    groups = optimizer.state_dict()['param_groups']
    optimizer.load_state_dict({'state': state, 'param_groups': groups})


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(tensors):
        digest.update(key.encode())
        digest.update(tensors[key].numpy().tobytes())
    return digest.hexdigest()

"""Whether what a checkpoint holds is the state of this very run.

All of it is compared before anything is changed, so that a checkpoint of
another run leaves the caller's map as it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import NodeEncoder

from ._progress import History
from .checkpoint import optimizer_state


def describe_encoder(encoder: torch.nn.Module) -> dict[str, Any]:
    """The kind of an encoder and, if it tells them, its settings."""
    config: dict[str, Any] = {}
    if isinstance(encoder, NodeEncoder):
        with suppress(BCMError):  # some say that they have no config
            config = encoder.config()
    text = json.dumps(config, default=lambda value: type(value).__name__)
    return {'name': type(encoder).__qualname__, 'config': json.loads(text)}


def check_tensors(
    tensors: Mapping[str, Tensor],
    like: Mapping[str, Tensor],
    finite: bool = True,
) -> None:
    """Refuses tensors that could not take the place of others.

    Args:
        tensors: What was read.
        like: What is there.
        finite: Whether values must be finite where those that are there are.
    """
    for key in [*like, *tensors]:
        if key not in tensors or key not in like:
            there = 'an unknown' if key in tensors else 'no'
            raise BCMError(f'there is {there} tensor {key!r:.80}')
        value, wanted = tensors[key], like[key]
        if value.shape != wanted.shape or value.dtype != wanted.dtype:
            raise BCMError(
                f'{key} is {value.dtype} of shape {tuple(value.shape)}, not '
                f'{wanted.dtype} of shape {tuple(wanted.shape)}'
            )
        if not finite or not bool(wanted.isfinite().all()):
            continue
        if not bool(value.isfinite().all()):
            raise BCMError(f'{key} has values that are not finite')


def check_optimizer(
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, float],
) -> None:
    """Refuses what is not the state of an optimiser of these parameters.

    A parameter without gradients yet has no state.
    """
    twins = [
        torch.nn.Parameter(torch.zeros_like(parameter))
        for group in optimizer.param_groups
        for parameter in group['params']
    ]
    for twin in twins:
        twin.grad = torch.zeros_like(twin)
    other = type(optimizer)(twins)  # type: ignore[call-arg]
    other.step()
    moments, counts = optimizer_state(other)
    known = {_index(key) for key in {*tensors, *numbers}}
    check_tensors(
        tensors, {k: v for k, v in moments.items() if _index(k) in known}
    )
    if numbers.keys() != {key for key in counts if _index(key) in known}:
        raise BCMError('the optimiser has counted something else')


def _index(key: str) -> str:
    return key.partition('.')[0]


def checked_progress(facts: Mapping[str, Any]) -> History:
    """The history that a checkpoint tells, if all numbers there are numbers."""
    for key in ('rows', 'validations'):
        if not _is_count(facts[key]):
            raise BCMError(f'{key} is {facts[key]!r:.80}')
    seconds, losses = facts['seconds'], facts['losses']
    if not _is_number(seconds) or not 0 <= seconds < math.inf:
        raise BCMError(f'seconds is {seconds!r:.80}')
    if not isinstance(losses, list) or not all(map(_is_number, losses)):
        raise BCMError('losses are no list of numbers')
    counts = facts['optimizer']
    if not isinstance(counts, dict) or not all(map(_is_count, counts.values())):
        raise BCMError('the optimiser has counted something else')
    return _checked_history(facts['history'])


def _checked_history(history: Any) -> History:
    names = {field.name for field in fields(History)}
    if not isinstance(history, dict) or history.keys() != names:
        raise BCMError('the history has other entries')
    columns = [
        history[name]
        for name in ('step', 'seconds', 'loss', 'gap', 'success_rate')
    ]
    if (
        not all(isinstance(column, list) for column in columns)
        or len({len(column) for column in columns}) > 1
        or not all(_is_number(value) for column in columns for value in column)
        or not all(map(_is_count, history['step']))
        or not _is_count(history['steps'])
        or not _is_number(history['rows_per_second'])
    ):
        raise BCMError('the history is no table of numbers')
    return History(**{**history, 'interrupted': False})


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def difference(there: object, here: object) -> str:
    """Which entries of two settings differ, in brackets, if that is known."""
    if not isinstance(there, dict) or not isinstance(here, dict):
        return ''
    odd = [key for key in here if there.get(key) != here[key]]
    return ' (' + ', '.join(odd) + ')'


def prefixed(name: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as part of a checkpoint that has more of them."""
    return {f'{name}.{key}': value for key, value in tensors.items()}


def part(name: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of one part of a checkpoint."""
    start = f'{name}.'
    return {
        key.removeprefix(start): value
        for key, value in tensors.items()
        if key.startswith(start)
    }

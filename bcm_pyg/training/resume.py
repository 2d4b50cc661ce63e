"""The checkpoint of a run: what it keeps, and whether it is of this very run.

All of it is compared before anything is changed, so that a checkpoint of
another run leaves the caller's map as it was.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import NodeEncoder

from ._progress import History, Progress
from .checkpoint import (
    load_optimizer_state,
    optimizer_state,
    write_checkpoint,
)
from .distributed import shared_checkpoint
from .optim import make_optimizer
from .targets import Blocks, Run

#: Seconds between two checkpoints.
CHECKPOINT_EVERY = 30.0


class Checkpoint:
    """The file that keeps the state of a run, if one is wanted.

    Args:
        path (Path, optional): The file.
        run (Run): The run.
        optimizer (torch.optim.Optimizer): Its optimiser.
        blocks (Blocks): What makes its blocks.
        progress (Progress): How far it is.
    """

    def __init__(
        self,
        path: Path | None,
        run: Run,
        optimizer: torch.optim.Optimizer,
        blocks: Blocks,
        progress: Progress,
    ) -> None:
        self.path = path
        self.run = run
        self.optimizer = optimizer
        self.blocks = blocks
        self.progress = progress
        self._saved = -math.inf  # when

    def save(self, force: bool = True) -> None:
        """Writes the file; without :obj:`force` just every half minute."""
        now = time.perf_counter()
        if self.path is None or not self.run.processes.leads:
            return
        if not force and now - self._saved <= CHECKPOINT_EVERY:
            return
        moments, counts = optimizer_state(self.optimizer)
        tensors = {
            **prefixed('model', self.run.model.state_dict()),
            **prefixed('optimizer', moments),
            **prefixed('targets', self.blocks.state()),
            'generator': self.run.sampler.generator.get_state(),
        }
        facts = {
            **self._identity(),
            'optimizer': counts,
            **self.progress.state(),
        }
        write_checkpoint(self.path, tensors, facts)
        self._saved = time.perf_counter()

    def resume(self) -> None:
        """Goes on from the file, if there is one that fits."""
        found = shared_checkpoint(self.run.processes, self.path)
        if found is None:
            return
        tensors, facts = found
        for name, here in self._identity().items():
            if name not in facts:
                raise BCMError(
                    f'{self.path} does not say of what {name} it is, as those '
                    'of older releases: remove it'
                )
            if facts[name] != here:
                raise BCMError(
                    f'{self.path} is of a run with another {name}'
                    f'{difference(facts[name], here)}: remove it, or give the '
                    'same one'
                )
        try:
            self._restore(tensors, facts)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise BCMError(
                f'{self.path} does not fit this map: {error!s:.500}'
            ) from None

    def _identity(self) -> dict[str, Any]:
        """What a run that goes on must have in common with this one."""
        return {
            'config': self.run.config.to_dict(),
            'graph': self.run.model.graph,
            'terminal': self.run.model.terminal,
            'encoder': describe_encoder(self.run.model.encoder),
        }

    def _restore(
        self, tensors: dict[str, Tensor], facts: dict[str, Any]
    ) -> None:
        """The caller's map comes last, when nothing can go wrong any more."""
        run, generator = self.run, self.run.sampler.generator
        weights, moments, pool = (
            part(name, tensors) for name in ('model', 'optimizer', 'targets')
        )
        history = checked_progress(facts)
        check_tensors(weights, run.model.state_dict())
        # What the pool does not know is NaN: some values now, others then.
        check_tensors(pool, self.blocks.state(), finite=False)
        check_tensors(
            {'generator': tensors['generator']},
            {'generator': generator.get_state()},
        )
        check_optimizer(
            self.optimizer,
            lambda parameters: make_optimizer(parameters, run.config),
            moments,
            facts['optimizer'],
        )
        load_optimizer_state(self.optimizer, moments, facts['optimizer'])
        self.blocks.load_state(pool)
        generator.set_state(tensors['generator'])
        self.progress.load_state(history, facts)
        run.model.load_state_dict(weights)
        self.blocks.rescale()


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
    make: Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer],
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, float],
) -> None:
    """Refuses what is not the state of an optimiser of these parameters.

    :obj:`make` made it. A parameter without gradients yet has no state.
    """
    twins = [
        torch.nn.Parameter(torch.zeros_like(parameter))
        for group in optimizer.param_groups
        for parameter in group['params']
    ]
    for twin in twins:
        twin.grad = torch.zeros_like(twin)
    other = make(twins)
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

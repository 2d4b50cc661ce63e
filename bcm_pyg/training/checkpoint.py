"""What the state of a run is, and whether a file holds that of this very run.

All of it is compared before anything is changed, so that a checkpoint of
another run leaves the caller's map as it was.
"""

import json
import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.io import (
    Format,
    check_finite,
    check_tensors,
    open_file,
    read_file,
    refusing,
    write_file,
)
from bcm_pyg.nn import NodeEncoder

from ._progress import History, Progress
from .blocks import Blocks, Run
from .distributed import shared_bytes
from .optim import make_optimizer, of_encoder

FORMAT = Format('checkpoint', 2)

#: Seconds between two checkpoints.
CHECKPOINT_EVERY = 30.0

#: Columns of a history, in the order in which they are kept.
COLUMNS = ('step', 'seconds', 'loss', 'gap', 'success_rate')


class Checkpoint:
    """The file that keeps the state of a run, if one is wanted.

    Args:
        path (Path, optional): The file. Of many processes the leader has it.
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
        self.model = run.model
        self.config = run.config
        self.optimizer = optimizer
        self.blocks = blocks
        self.generator = run.sampler.generator
        self.progress = progress
        self.processes = run.processes
        #: What a run that goes on must have in common with this one.
        self.identity = {
            'config': run.config.to_dict(),
            'graph': run.model.info.fingerprint,
            'terminal': run.model.terminal,
            'encoder': _describe(run.model.encoder),
        }
        self._saved = -math.inf  # when
        if path is not None:
            _optimizer_state(self._stepped_twin())  # can it be kept?

    def save(self, force: bool = True) -> None:
        """Writes the file; without :obj:`force` just every half minute."""
        if self.path is None or not self.processes.leads:
            return
        if not force and time.perf_counter() - self._saved <= CHECKPOINT_EVERY:
            return
        tensors = self._state(self.optimizer)
        write_file(self.path, FORMAT, self.identity, tensors)
        self._saved = time.perf_counter()

    def load(self) -> None:
        """Takes over the state of the run, if there is a file that fits."""
        content = self._content()
        if content is None:
            return
        identity, tensors = read_file(content, FORMAT, self.path)
        for name, here in self.identity.items():
            if identity.get(name) != here:
                raise BCMError(
                    f'{self.path} is of a run with another {name}'
                    f'{_difference(identity.get(name), here)}: remove it, or '
                    'give the same one'
                )
        with refusing(f'{self.path} does not fit this map'):
            self._restore(tensors)

    def _content(self) -> bytes | None:
        """What is in the file of the leader, for all processes."""
        content, alone = None, self.processes.size == 1
        path = self.path if self.processes.leads else None
        if path is not None and os.path.exists(path):
            try:
                with refusing(f'{path} is not a readable checkpoint'):
                    file, size = open_file(path)
                    with file:
                        content = file.read(size)
            except BCMError:
                if alone:
                    raise
                content = b''  # which all processes refuse, as damaged
        return content if alone else shared_bytes(self.processes, content)

    def _state(self, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
        """All numbers of a run. They may be NaN, which JSON does not have."""
        progress = self.progress
        columns = [getattr(progress.history, name) for name in COLUMNS]
        parts = {
            'model': self.model.state_dict(),
            'optimizer': _optimizer_state(optimizer),
            'groups': _group_numbers(optimizer),
            'targets': self.blocks.state(),
            'run': {
                'generator': self.generator.get_state(),
                'history': _doubles(columns),
                'losses': _doubles(progress.losses),
                'counts': _doubles(progress.counts()),
            },
        }
        return {
            f'{part}.{key}': value
            for part, tensors in parts.items()
            for key, value in tensors.items()
        }

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        """The caller's map comes last, when nothing can go wrong any more."""
        twin = self._stepped_twin()
        like = self._state(twin)
        for key in ('run.history', 'run.losses'):  # of any length
            length = tensors[key].size(-1) if key in tensors else 0
            like[key] = like[key].new_zeros(*like[key].shape[:-1], length)
        # A parameter without gradients yet has no state.
        known = {'', *map(_owner, tensors)}
        like = {k: x for k, x in like.items() if _owner(k) in known}
        check_tensors(tensors, like)
        # What the pool does not know is NaN: some values now, others then.
        check_finite(
            {
                key: value
                for key, value in tensors.items()
                if not key.startswith(('targets.', 'run.history', 'run.losses'))
                and bool(like[key].isfinite().all())
            }
        )
        weights, moments, pool, run = (
            _part(tensors, name)
            for name in ('model', 'optimizer', 'targets', 'run')
        )
        history = _history(run)
        _load_optimizer(self.optimizer, moments, twin)
        for key, value in _part(tensors, 'groups').items():
            index, name = key.split('.', 1)
            group = self.optimizer.param_groups[int(index)]
            group[name] = type(group[name])(value.item())
        self.blocks.load_state(pool)
        self.generator.set_state(run['generator'])
        losses, counts = run['losses'].tolist(), run['counts'].tolist()
        self.progress.go_on(history, losses, counts)
        self.model.load_state_dict(weights)
        self.blocks.rescale()

    def _stepped_twin(self) -> torch.optim.Optimizer:
        """Another optimiser of the same settings and shapes, with state."""
        twins = [
            torch.nn.Parameter(torch.zeros_like(parameter))
            for parameter in self.model.parameters()
            if parameter.requires_grad
        ]
        for twin in twins:
            twin.grad = torch.zeros_like(twin)
        other = make_optimizer(twins, self.config, of_encoder(self.model))
        other.step()
        return other


def _describe(encoder: torch.nn.Module) -> dict[str, str]:
    """The kind of an encoder and, if it tells them, its settings."""
    config: dict[str, Any] = {}
    if isinstance(encoder, NodeEncoder):
        with suppress(BCMError):  # some say that they have no config
            config = encoder.config()
    text = json.dumps(config, default=lambda value: type(value).__name__)
    return {'name': type(encoder).__qualname__, 'config': text}


def _difference(there: object, here: object) -> str:
    """Which entries of two settings differ, in brackets, if that is known."""
    if not isinstance(there, dict) or not isinstance(here, dict):
        return ''
    odd = [key for key in here if there.get(key) != here[key]]
    return ' (' + ', '.join(odd) + ')'


def _doubles(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _history(run: Mapping[str, Tensor]) -> History:
    columns = dict(zip(COLUMNS, run['history'].tolist(), strict=True))
    columns['step'] = [int(step) for step in columns['step']]
    for count in (*run['counts'].tolist(), *columns['step']):
        _check_count('the run', count)
    return History(**columns)


def _check_count(what: str, count: float) -> None:
    if not 0 <= count <= 2**53:  # beyond, adding 1 changes nothing
        raise BCMError(f'{what} has counted {count}')


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser as flat tensors, numbers included."""
    out: dict[str, Tensor] = {}
    for index, entries in optimizer.state_dict()['state'].items():
        for name, value in entries.items():
            if not isinstance(value, (Tensor, int, float)):
                raise BCMError(
                    f'the state {name!r} of {type(optimizer).__name__} is '
                    'neither a tensor nor a number: train without a checkpoint'
                )
            tensor = value if torch.is_tensor(value) else _doubles(value)
            out[f'{index}.{name}'] = tensor
    return out


def _group_numbers(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Numbers of the groups of parameters: some optimisers count there."""
    return {
        f'{index}.{name}': _doubles(value)
        for index, group in enumerate(optimizer.param_groups)
        for name, value in group.items()
        if isinstance(value, (int, float)) and name != 'lr'
    }


def _load_optimizer(
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, Tensor],
    twin: torch.optim.Optimizer,
) -> None:
    """Numbers come back as what they are in the twin."""
    kinds = twin.state_dict()['state']
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        index, name = key.split('.', 1)
        like, entry = kinds[int(index)][name], value
        if not torch.is_tensor(like):
            entry = type(like)(value.item())
            if isinstance(entry, int):
                _check_count('the optimiser', entry)
        state.setdefault(int(index), {})[name] = entry
    groups = optimizer.state_dict()['param_groups']
    optimizer.load_state_dict({'state': state, 'param_groups': groups})


def _owner(key: str) -> str:
    """What has this part of a state: a parameter, in that of an optimiser."""
    part, _, rest = key.partition('.')
    return rest.partition('.')[0] if part == 'optimizer' else ''


def _part(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    begin = f'{name}.'
    return {
        key.removeprefix(begin): value
        for key, value in tensors.items()
        if key.startswith(begin)
    }

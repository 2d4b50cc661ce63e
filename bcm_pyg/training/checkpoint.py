"""What the state of a run is, and whether a file holds that of this very run.

All of it is compared before anything is changed, so that a checkpoint of
another run leaves the caller's map as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

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
from bcm_pyg.nn import BCM, NodeEncoder
from bcm_pyg.utils import Processes

from .distributed import shared_bytes
from .history import History
from .targets import Targets

FORMAT = Format('checkpoint', 2)

#: Columns of a history, in the order in which they are kept.
COLUMNS = ('step', 'seconds', 'loss', 'gap', 'success_rate')


class Progress(NamedTuple):
    """How far a run is: its history, the losses since the last validation, the
    pairs trained, the validations that are past, and its wall time.
    """

    history: History
    losses: list[float]
    rows: int = 0
    validations: int = 0
    seconds: float = 0.0


class Checkpoint:
    """The file that keeps the state of a run.

    Args:
        path (Path, optional): The file, if one is wanted.
        settings (Dict[str, Any]): How the map is trained, of JSON types alone.
        model (BCM): The map.
        optimizer (torch.optim.Optimizer): Its optimiser.
        targets (Targets): What makes its blocks.
        generator (torch.Generator): What they are drawn with.
        processes (Processes): Those that share the run. The leader has the
            file.
    """

    def __init__(
        self,
        path: Path | None,
        settings: dict[str, Any],
        model: BCM,
        optimizer: torch.optim.Optimizer,
        targets: Targets,
        generator: torch.Generator,
        processes: Processes,
    ) -> None:
        self.path = path
        self.model = model
        self.optimizer = optimizer
        self.targets = targets
        self.generator = generator
        self.processes = processes
        #: What a run that goes on must have in common with this one.
        self.identity = {
            'config': settings,
            'graph': model.info.fingerprint,
            'terminal': model.terminal,
            'encoder': _describe(model.encoder),
        }

    def save(self, progress: Progress) -> None:
        """Writes the file, if one is wanted."""
        if self.path is not None and self.processes.leads:
            tensors = self._state(self.optimizer, progress)
            write_file(self.path, FORMAT, self.identity, tensors)

    def load(self) -> Progress | None:
        """Takes over the state of the run, if there is a file that fits."""
        content = self._content()
        if content is None:
            return None
        identity, tensors = read_file(content, FORMAT, self.path)
        for name, here in self.identity.items():
            if identity.get(name) != here:
                raise BCMError(
                    f'{self.path} is of a run with another {name}'
                    f'{_difference(identity.get(name), here)}: remove it, or '
                    'give the same one'
                )
        with refusing(f'{self.path} does not fit this map'):
            return self._restore(tensors)

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

    def _state(
        self, optimizer: torch.optim.Optimizer, progress: Progress
    ) -> dict[str, Tensor]:
        """All numbers of a run. They may be NaN, which JSON does not have."""
        history, losses, *counts = progress
        parts = {
            'model': self.model.state_dict(),
            'optimizer': _optimizer_state(optimizer),
            'targets': self.targets.state(),
            'run': {
                'generator': self.generator.get_state(),
                'history': _doubles([getattr(history, x) for x in COLUMNS]),
                'losses': _doubles(losses),
                'counts': _doubles([history.steps, *counts]),
            },
        }
        return {
            f'{part}.{key}': value
            for part, tensors in parts.items()
            for key, value in tensors.items()
        }

    def _restore(self, tensors: dict[str, Tensor]) -> Progress:
        """The caller's map comes last, when nothing can go wrong any more."""
        twin = _stepped_twin(self.optimizer)
        like = self._state(twin, Progress(History(), []))
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
        progress = _progress(run)
        _load_optimizer(self.optimizer, moments, twin)
        self.targets.load_state(pool)
        self.generator.set_state(run['generator'])
        self.model.load_state_dict(weights)
        self.targets.rescale()
        return progress


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


def _progress(run: Mapping[str, Tensor]) -> Progress:
    *counts, seconds = run['counts'].tolist()
    steps, rows, validations = map(int, counts)
    columns = dict(zip(COLUMNS, run['history'].tolist(), strict=True))
    columns['step'] = [int(step) for step in columns['step']]
    if min(*counts, seconds, *columns['step']) < 0:
        raise BCMError('the run has counts below 0')
    history = History(**columns, steps=steps)
    losses = run['losses'].tolist()
    return Progress(history, losses, rows, validations, seconds)


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser as flat tensors, numbers included."""
    return {
        f'{index}.{name}': value if torch.is_tensor(value) else _doubles(value)
        for index, entries in optimizer.state_dict()['state'].items()
        for name, value in entries.items()
    }


def _stepped_twin(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Another of its kind, for parameters of the same shapes, with state."""
    twins = [
        torch.nn.Parameter(torch.zeros_like(parameter))
        for group in optimizer.param_groups
        for parameter in group['params']
    ]
    for twin in twins:
        twin.grad = torch.zeros_like(twin)
    other = type(optimizer)(twins)  # type: ignore[call-arg]
    other.step()
    return other


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
            if entry < 0:
                raise BCMError('the optimiser has counted below 0')
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

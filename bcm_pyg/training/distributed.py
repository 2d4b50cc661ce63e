"""One training run by many processes: each takes a share of a step's goals.

Graph, map, optimiser, pool and generator are the same on all, to the last bit:
all draw alike, and gradients are summed before they are used.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM
from bcm_pyg.utils import Processes

from .config import FitConfig


def begin_together(processes: Processes, model: BCM, config: FitConfig) -> None:
    """Checks that all processes train the same; the leader's weights count."""
    state = model.state_dict()
    shapes = {k: [*v.shape, str(v.dtype)] for k, v in state.items()}
    parts = {
        'graph': model.info.fingerprint,
        'config': config.to_dict(),
        'map': [shapes, model.terminal],
    }
    mine = [_number(part) for part in parts.values()]
    all_of_them = processes.gather(torch.tensor([mine]), dim=0)
    for column, name in enumerate(parts):
        other = (all_of_them[:, column] != all_of_them[0, column]).nonzero()
        if other.numel() > 0:
            raise BCMError(
                f'process {int(other[0])} has another {name} than process 0: '
                'all processes must call fit alike'
            )
    for value in state.values():
        value.copy_(processes.from_leader(value))


def _number(part: Any) -> int:
    digest = hashlib.sha256(json.dumps(part, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:8], 'little', signed=True)


def sum_gradients(
    processes: Processes,
    parameters: Sequence[Tensor],
    loss: float,
    interrupted: bool,
) -> float:
    """Sums gradients and losses over processes in one flat bucket.

    Returns the summed loss. A Ctrl-C in one process is raised in all of them,
    at the same step.
    """
    used = [float(p.grad is not None) for p in parameters]
    facts = [*used, loss, float(interrupted)]
    flat = [
        (torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1)
        for p in parameters
    ]
    facts_tensor = parameters[0].new_tensor(facts)
    bucket = processes.total(torch.cat([*flat, facts_tensor]))
    *used, loss, interrupts = bucket[-len(facts) :].tolist()
    if interrupts > 0:
        raise KeyboardInterrupt
    pieces = bucket[: -len(facts)].split([p.numel() for p in flat])
    for parameter, piece, times in zip(parameters, pieces, used, strict=True):
        parameter.grad = None
        if times > 0:
            parameter.grad = piece.view_as(parameter).to(parameter.dtype)
    return loss


def shared_bytes(processes: Processes, content: bytes | None) -> bytes | None:
    """What the leader has, for all."""
    size = -1 if content is None else len(content)
    size = int(processes.leaders_numbers([size])[0])
    if size < 0:
        return None
    sent = torch.zeros(size, dtype=torch.uint8)
    if content:
        sent = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    return processes.from_leader(sent).numpy().tobytes()

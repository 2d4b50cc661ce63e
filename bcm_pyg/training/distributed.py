"""One training run by many processes: each takes a share of a step's goals.

The graph, the map, the optimiser, the pool and the generator are on every
process, and stay the same to the last bit: what is drawn is drawn alike, and
gradients are summed before anything is done with them.
"""

from __future__ import annotations

import hashlib
import json
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.nn import BCM
from bcm_pyg.nn.scoring import with_terminal
from bcm_pyg.utils import Adjacency, Processes, scatter_amin

from .checkpoint import read_checkpoint
from .config import FitConfig
from .objective import bellman_target, is_trained
from .targets import Block


def begin_together(processes: Processes, model: BCM, config: FitConfig) -> None:
    """Checks that all processes train the same, and gives them one map.

    They must have the same graph, configuration and kind of map; the weights
    are those of the leader.
    """
    if processes.size == 1:
        return
    state = model.state_dict()
    shapes = {k: [*v.shape, str(v.dtype)] for k, v in state.items()}
    parts = {
        'graph': model.graph,
        'config': asdict(config),
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


def share_of_block(
    processes: Processes, block: Block, model: BCM, adjacency: Adjacency
) -> Block:
    """The goals of a block that are this process's, maybe none.

    It knows its weight: losses of all shares add up to the loss of the block,
    which is a mean over what is trained and over what is to decide.
    """
    head, tail = adjacency.dst[block.edge], block.sources[block.row]
    cost = adjacency.cost[block.edge] / model.cost_scale
    at_goal = head[:, None] == block.goals
    target = bellman_target(cost, block.next_value)
    trained = is_trained(target, tail, head, block.goals).sum(dim=0)
    wanted = with_terminal(target, at_goal, cost[:, None], model.terminal)
    wanted = wanted.masked_fill(tail[:, None] == block.goals, float('inf'))
    best = scatter_amin(wanted, block.row, 0, block.sources.numel())
    decided = best.isfinite().sum(dim=0)
    mine = processes.share(block.goals.numel())
    return block._replace(
        goals=block.goals[mine],
        next_value=block.next_value[:, mine],
        trained_share=_share(trained, mine),
        decided_share=_share(decided, mine),
    )


def _share(count: Tensor, mine: slice) -> float:
    return float(count[mine].sum()) / max(1.0, float(count.sum()))


class GradientSum:
    """Sums gradients and losses over processes, in one flat bucket.

    Ctrl-C in one of them travels along, so that all end at the same step.

    Args:
        processes (Processes): The processes.
        parameters (Sequence[torch.Tensor]): What is trained.
    """

    def __init__(
        self, processes: Processes, parameters: Sequence[Tensor]
    ) -> None:
        self.processes = processes
        self.parameters = parameters
        self.interrupted = False

    def __call__(self, loss: float) -> float:
        """Leaves the summed gradients, and returns the summed loss.

        Raises:
            KeyboardInterrupt: On all processes, after Ctrl-C on one of them.
        """
        used = [float(p.grad is not None) for p in self.parameters]
        facts = [*used, loss, float(self.interrupted)]
        first = self.parameters[0]
        flat = [
            (torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1)
            for p in self.parameters
        ]
        bucket = torch.cat([*flat, first.new_tensor(facts)])
        bucket = self.processes.total(bucket)
        *used, loss, interrupted = bucket[-len(facts) :].tolist()
        if interrupted > 0:
            raise KeyboardInterrupt
        pieces = bucket[: -len(facts)].split([p.numel() for p in flat])
        for parameter, piece, times in zip(
            self.parameters, pieces, used, strict=True
        ):
            parameter.grad = None
            if times > 0:
                piece = piece.view(parameter.shape)
                parameter.grad = piece.to(parameter.dtype)
        return loss

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Keeps Ctrl-C for the next sum; alone, it comes at once."""
        main = threading.current_thread() is threading.main_thread()
        if self.processes.size == 1 or not main:
            yield
            return

        def remember(number: int, frame: FrameType | None) -> None:
            self.interrupted = True

        before = signal.signal(signal.SIGINT, remember)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def shared_checkpoint(
    processes: Processes, path: Path | None
) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The checkpoint that the leader has, for all; None if it has none."""
    content: bytes | None = None
    if processes.leads and path is not None and path.exists():
        content = _content(path) if processes.size > 1 else b''
    size = -1 if content is None else len(content)
    size = int(processes.leaders_numbers([size])[0])
    if size < 0:
        return None
    sent = torch.zeros(size, dtype=torch.uint8)
    if content:
        sent = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    sent = processes.from_leader(sent)
    if processes.leads and path is not None:
        return read_checkpoint(path)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / 'sent by process 0'
        copy.write_bytes(sent.numpy().tobytes())
        return read_checkpoint(copy)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b''  # what cannot be read is refused by all, as damaged

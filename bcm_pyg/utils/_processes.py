"""Processes that work on one thing together, over torch.distributed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from bcm_pyg.errors import BCMError


class Processes:
    """The processes of the default group of :mod:`torch.distributed`.

    All processes must call a method that sends something at the same point. A
    process that works alone sends nothing and gets its own back.

    Args:
        distributed (bool, optional): :obj:`True` asks for an initialised group,
            :obj:`False` for this process alone; by default the group is used
            where there is one. (default: :obj:`None`)
    """

    def __init__(self, distributed: bool | None = None) -> None:
        ready = dist.is_available() and dist.is_initialized()
        if distributed and not ready:
            raise BCMError(
                'distributed=True needs an initialised process group: call '
                'torch.distributed.init_process_group() first, under torchrun'
            )
        together = ready and distributed is not False
        #: Number of this process.
        self.rank = dist.get_rank() if together else 0
        #: Number of processes.
        self.size = dist.get_world_size() if together else 1
        #: Where tensors must be to be sent; None for where they are.
        self._device: torch.device | None = None
        if self.size > 1:
            backend = dist.get_backend()
            if backend == 'nccl':
                self._device = torch.device('cuda', torch.cuda.current_device())
            elif backend == 'gloo':
                self._device = torch.device('cpu')

    @property
    def leads(self) -> bool:
        """Whether this is the one process that writes and shows."""
        return self.rank == 0

    def share(self, num: int) -> slice:
        """The positions of this process among :obj:`num`; there may be none."""
        first = self.rank * num // self.size
        return slice(first, (self.rank + 1) * num // self.size)

    def gather(self, part: Tensor, dim: int) -> Tensor:
        """The parts of all processes, of equal shapes, side by side."""
        if self.size == 1:
            return part
        mine = part.to(self._device).contiguous()
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        with self._talking():
            dist.all_gather(parts, mine)
        return torch.cat(parts, dim=dim).to(part.device)

    def divided(
        self, compute: Callable[[Tensor], Tensor], columns: Tensor
    ) -> Tensor:
        """What a function makes of columns :obj:`[C]`, :obj:`[*, C]`."""
        mine = self.positions(columns.numel())
        if mine is None:
            return compute(columns)
        part = compute(columns[mine.to(columns.device)])
        return self.gather(part, dim=1)[:, : columns.numel()]

    def positions(self, num: int) -> Tensor | None:
        """The part of this process, of equal length; None if nothing to divide.

        Parts follow each other, and the last begin again from the first.
        """
        if self.size == 1 or num == 0:
            return None
        length = -(-num // self.size)
        return (torch.arange(length) + self.rank * length) % num

    def total(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, the same on each to the last bit."""
        return self._sent(tensor, lambda out: dist.all_reduce(out))

    def most(self, tensor: Tensor) -> Tensor:
        """The maximum over all processes."""
        return self._sent(
            tensor, lambda out: dist.all_reduce(out, dist.ReduceOp.MAX)
        )

    def from_leader(self, tensor: Tensor) -> Tensor:
        """What the leader has; the others give something of the same shape."""
        return self._sent(tensor, lambda out: dist.broadcast(out, src=0))

    def _sent(self, tensor: Tensor, send: Callable[[Tensor], object]) -> Tensor:
        if self.size == 1:
            return tensor
        out = tensor.detach().to(self._device, copy=True).contiguous()
        with self._talking():
            send(out)
        return out.to(tensor.device)

    def leaders_numbers(self, numbers: Sequence[float]) -> list[float]:
        """The same for a few numbers."""
        if self.size == 1:
            return list(numbers)
        out = self.from_leader(torch.tensor(numbers, dtype=torch.float64))
        return out.tolist()

    @contextmanager
    def _talking(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise BCMError(
                f'process {self.rank} of {self.size} stops: another one has '
                f'ended or does not answer ({str(error).splitlines()[0]})'
            ) from error

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Walkers:
    """The walks of a batch that are under way.

    Attributes:
        query: :obj:`[A]` which queries they answer.
        node: :obj:`[A]` where they are.
        goal: :obj:`[A]` where they go.
        goal_rows: :obj:`[A, *]` what the chooser keeps of the goals.
        row: :obj:`[A]` their rows in the visited sets.
        ended: :obj:`[A]` whether they have ended and should leave.
        known: :obj:`[A]` how many distinct nodes they have seen.
        stale: :obj:`[A]` how many steps came since the last new one.
    """

    query: Tensor
    node: Tensor
    goal: Tensor
    goal_rows: Tensor
    row: Tensor
    ended: Tensor
    known: Tensor
    stale: Tensor

    def __len__(self) -> int:
        return self.query.numel()

    def leave(self) -> None:
        """Drops the walks that have ended."""
        on = (~self.ended).nonzero().squeeze(1)
        if on.numel() == len(self):
            return
        for name, part in vars(self).items():
            setattr(self, name, part.index_select(0, on))

    def end_circles(self, is_old: Tensor, forgetful: bool) -> None:
        """Ends walks that provably never arrive.

        Without memory, the second visit of a node is a circle. With it, so is a
        walk over old nodes that is longer than their number. A walk that could
        not move is where it was, and so on an old node.

        Args:
            is_old (torch.Tensor): Whether each of the last steps went to a node
                that was not new, :obj:`[K, A]`.
            forgetful (bool): Whether choices do not depend on where the walks
                have been.
        """
        length = is_old.size(0)
        self.known += length
        if not bool(is_old.any()):
            self.stale.zero_()
            return
        self.known -= is_old.sum(dim=0)
        run = is_old.flip(0).cumprod(dim=0).sum(dim=0)
        self.stale = torch.where(run == length, self.stale, 0) + run
        self.ended |= self.stale > (0 if forgetful else self.known)

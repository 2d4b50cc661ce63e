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
        stale: :obj:`[A]` how many steps came since the last new one.
        mark: :obj:`[A]` a node where they were since then; a walk that comes
            back there goes in a circle.
        lap: :obj:`[A]` at how many stale steps to take a new mark.
    """

    query: Tensor
    node: Tensor
    goal: Tensor
    goal_rows: Tensor
    row: Tensor
    ended: Tensor
    stale: Tensor
    mark: Tensor
    lap: Tensor

    def __len__(self) -> int:
        return self.query.numel()

    def leave(self) -> None:
        """Drops the walks that have ended."""
        on = (~self.ended).nonzero().squeeze(1)
        if on.numel() == len(self):
            return
        for name, part in vars(self).items():
            setattr(self, name, part.index_select(0, on))

    def end_circles(
        self, nodes: Tensor, is_old: Tensor, forgetful: bool
    ) -> None:
        """Ends walks that provably never arrive.

        Without memory, the second visit of a node is a circle. With it, so is
        the second visit of a node while no node was new: nothing has changed
        since the first. To look for one node is enough, if that mark is taken
        anew at growing intervals (Brent's algorithm). A walk that could not
        move is where it was, and so on an old node.

        Args:
            nodes (torch.Tensor): Where each of the last steps went,
                :obj:`[K, A]`.
            is_old (torch.Tensor): Whether that node was not new, :obj:`[K, A]`.
            forgetful (bool): Whether choices do not depend on where the walks
                have been.
        """
        length = is_old.size(0)
        if not bool(is_old.any()):
            self.stale.zero_()
            self.lap.zero_()
            self.mark = nodes[-1]
            return
        since = is_old.flip(0).cumprod(dim=0).flip(0).bool()  # none new since
        run = since.sum(dim=0)
        whole = run == length
        self.stale = torch.where(whole, self.stale, 0) + run
        if forgetful:
            self.ended |= self.stale > 0
            return
        again = (nodes[:-1] == nodes[-1]) & since[1:]  # a short circle
        self.ended |= again.any(dim=0) | (whole & (nodes == self.mark).any(0))
        renew = ~whole | (self.stale >= self.lap)
        self.mark = torch.where(renew, nodes[-1], self.mark)
        self.lap = torch.where(renew, 2 * self.stale, self.lap)

"""Squared distances of edges to the goals of their sources."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

#: Edges of one source that are multiplied together.
MAX_WIDTH = 32


def squared_distances(
    z: Tensor, row: Tensor, num_sources: int, num_goals: int
) -> Tensor:
    r"""Of each edge to every goal as its source sees them, :obj:`[M, G]`,

    .. math::
        \lVert z_e \rVert^2 + \lVert z_{s, g} \rVert^2 - 2 z_e^\top z_{s, g} .

    Args:
        z (torch.Tensor): Rows of the edges, then those of all pairs of a source
            and a goal, source by source, :obj:`[M + S * G, Z]`.
        row (torch.Tensor): The source of each edge, ascending, :obj:`[M]`.
        num_sources (int): Number of sources :math:`S`.
        num_goals (int): Number of goals :math:`G`.
    """
    return _SquaredDistances.apply(z, row, num_sources, num_goals)


class _SquaredDistances(torch.autograd.Function):
    """The gradient takes one pass over the rows and two batched products;
    traced, it would take half a dozen passes and as many copies.
    """

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, row: Tensor, num_sources: int, num_goals: int
    ) -> Tensor:
        groups = _Groups(row, num_sources)
        edge, pair = z[: row.numel()], z[row.numel() :]
        pair = pair.view(num_sources, num_goals, z.size(1))
        square = z.square().sum(-1)
        pair_square = square[row.numel() :].view(num_sources, num_goals)
        out = pair_square.index_select(0, row)
        out += square[: row.numel(), None]
        padded = groups.pad(edge)
        product = torch.bmm(padded, groups.spread(pair).transpose(1, 2))
        out.sub_(groups.unpad(product), alpha=2)
        ctx.save_for_backward(z, row, padded)
        ctx.groups = groups
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        z, row, padded = ctx.saved_tensors
        groups: _Groups = ctx.groups
        edges, num_sources, num_goals = row.numel(), groups.rows, grad.size(1)
        weight = z.new_zeros(num_sources, num_goals).index_add_(0, row, grad)
        weight = torch.cat([grad.sum(1), weight.flatten()])
        out = z * weight.mul_(2)[:, None]
        grad = groups.pad(grad)
        pair = z[edges:].view(num_sources, num_goals, z.size(1))
        by_edge = torch.bmm(grad, groups.spread(pair))
        out[:edges].sub_(groups.unpad(by_edge), alpha=2)
        groups.add_product(
            out[edges:].view_as(pair), grad.transpose(1, 2), padded, -2
        )
        return out, None, None, None


class _Groups:
    """Edges of each source, padded to equal number for batched products.

    A source of many edges counts as several, so that a hub pads nobody else.
    """

    def __init__(self, row: Tensor, rows: int) -> None:
        self.rows = rows
        degree = torch.bincount(row, minlength=rows)
        place = torch.arange(row.numel(), device=row.device)
        place -= (degree.cumsum(0) - degree)[row]
        self.width = int(degree.max()) if rows else 0
        self.count = rows
        self.owner: Tensor | None = None
        group = row
        if self.width > MAX_WIDTH:
            self.width = MAX_WIDTH
            parts = degree.div(MAX_WIDTH, rounding_mode='trunc') + 1
            source = torch.arange(rows, device=row.device)
            self.owner = source.repeat_interleave(parts)
            self.count = self.owner.numel()
            group = (parts.cumsum(0) - parts)[row] + place // MAX_WIDTH
            place %= MAX_WIDTH
        self.slot = group * self.width + place

    def pad(self, x: Tensor) -> Tensor:
        """Rows of edges by group, zeros between, :obj:`[Q, width, *]`."""
        out = x.new_zeros(self.count * self.width, x.size(1))
        out.index_copy_(0, self.slot, x)
        return out.view(self.count, self.width, x.size(1))

    def unpad(self, x: Tensor) -> Tensor:
        """The way back."""
        return x.flatten(0, 1).index_select(0, self.slot)

    def spread(self, x: Tensor) -> Tensor:
        """Rows of sources by group, :obj:`[Q, *]`."""
        return x if self.owner is None else x.index_select(0, self.owner)

    def add_product(
        self, out: Tensor, a: Tensor, b: Tensor, alpha: float
    ) -> None:
        """Adds the products of all groups of a source to its rows."""
        if self.owner is None:
            out.baddbmm_(a, b, alpha=alpha)
        else:
            out.index_add_(0, self.owner, torch.bmm(a, b), alpha=alpha)

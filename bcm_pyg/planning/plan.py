from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Plan:
    """Routes for a batch of :math:`B` queries.

    Attributes:
        success: :obj:`[B]` bool, whether the goal was reached.
        cost: :obj:`[B]` float64, what the route costs; infinite where none was
            found.
        hops: :obj:`[B]` long, edges of the route; 0 where none was found.
        nodes: :obj:`[B, L]` long, the route from start to goal, padded with -1;
            all -1 where none was found. :math:`L` is the length of the longest.
        expansions: :obj:`[B]` long, distinct nodes whose neighbours were scored
            or relaxed. Where a fallback or a proof searched again, its nodes
            are added, even those that were touched before.
        lower_bound: :obj:`[B]` float64, a proven lower bound of the optimal
            cost; 0 where nothing is known, infinite where no route exists.
    """

    success: Tensor
    cost: Tensor
    hops: Tensor
    nodes: Tensor
    expansions: Tensor
    lower_bound: Tensor

    def __len__(self) -> int:
        return int(self.success.numel())

    def path(self, query: int = 0) -> list[int]:
        """The nodes of one route, from start to goal; empty if none."""
        if not -len(self) <= query < len(self):
            raise IndexError(
                f'there is no query {query}: the plan is of {len(self)} queries'
            )
        row = self.nodes[query]
        return row[row >= 0].tolist()

    def paths(self) -> list[list[int]]:
        """The nodes of all routes."""
        return [self.path(query) for query in range(len(self))]

    @classmethod
    def cat(cls, plans: Sequence[Self]) -> Self:
        """Plans of several batches as one."""
        longest = max(plan.nodes.size(1) for plan in plans)
        joined = {
            field.name: torch.cat([getattr(plan, field.name) for plan in plans])
            for field in fields(cls)
            if field.name != 'nodes'
        }
        nodes = [
            torch.nn.functional.pad(
                plan.nodes, (0, longest - plan.nodes.size(1)), value=-1
            )
            for plan in plans
        ]
        return cls(nodes=torch.cat(nodes), **joined)

    def __repr__(self) -> str:
        unreachable = int(torch.isinf(self.lower_bound).sum())
        return (
            f'{type(self).__name__}(queries={len(self)}, '
            f'success={int(self.success.sum())}, unreachable={unreachable})'
        )

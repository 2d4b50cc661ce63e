from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency

from .choice import Choice
from .plan import Plan

#: Steps that are read back at a time: about 100 MB of numbers.
MAX_ENTRIES = 2**20


class _Entries(NamedTuple):
    """Steps of walks, one after the other: who, when, where to, how."""

    query: Tensor
    step: Tensor
    node: Tensor
    place: Tensor
    is_old: Tensor


class WalkLog:
    """All steps of a batch of walks, and the plan that they make.

    Walks may go on beyond their goals, unheeded. A step takes 17 bytes.

    Args:
        starts (torch.Tensor): Where the walks start, :obj:`[B]`.
        goals (torch.Tensor): Where they go, :obj:`[B]`.
        adjacency (Adjacency): The graph.
    """

    def __init__(
        self, starts: Tensor, goals: Tensor, adjacency: Adjacency
    ) -> None:
        self.starts = starts
        self.adjacency = adjacency
        # Steps to the goal; more than any walk makes where it was not reached.
        self._never = adjacency.num_nodes + 1
        self._hops = torch.where(starts == goals, 0, self._never)
        self._steps: list[tuple[Tensor, Choice]] = []

    @property
    def num_steps(self) -> int:
        """How many steps there are so far."""
        return len(self._steps)

    def add(self, query: Tensor, choice: Choice) -> None:
        """Notes the next step of some walks.

        Args:
            query (torch.Tensor): Which walks, :obj:`[A]`; all that are not yet
                at their end are among them.
            choice (Choice): The step of each.
        """
        self._steps.append((query, choice))

    def arrive(self, query: Tensor) -> None:
        """Notes that the last step brought these walks to their goals.

        Only their first arrival counts.
        """
        hops = self._hops.index_select(0, query).clamp_(max=self.num_steps)
        self._hops.index_copy_(0, query, hops)

    def plan(self) -> Plan:
        """The routes, what they cost, and what they touched."""
        success = self._hops < self._never
        hops = self._hops.masked_fill(~success, 0)
        num_queries = hops.numel()
        longest = int(hops.max()) if num_queries > 0 else 0
        routes = self.starts.new_full((num_queries, longest + 1), -1)
        routes[:, 0] = torch.where(success, self.starts, -1)
        cost = torch.zeros_like(hops, dtype=torch.float64)
        # Ways were chosen at the start and at all nodes that were new, but for
        # the one where the walk came to its goal or to the step limit.
        expansions = (self._hops > 0).long()
        end = self._hops.clamp(max=self.adjacency.num_nodes)

        for part in self._entries():
            is_new = ~part.is_old & (part.step < end[part.query])
            new = part.query[is_new]
            expansions += torch.bincount(new, minlength=num_queries)
            on_route = part.step <= hops[part.query]
            query, step, node, place, _ = (x[on_route] for x in part)
            routes[query, step] = node
            edge = self.adjacency.rowptr[routes[query, step - 1]] + place
            cost.index_add_(0, query, self.adjacency.cost[edge].double())

        return Plan(
            success,
            cost.masked_fill(~success, float('inf')),
            hops,
            routes,
            expansions,
            torch.zeros_like(cost),
        )

    def _entries(self) -> Iterator[_Entries]:
        first = 0
        while first < self.num_steps:
            end, size = first, 0
            while end < self.num_steps and size < MAX_ENTRIES:
                size += self._steps[end][0].numel()
                end += 1
            part = self._steps[first:end]
            sizes = torch.tensor([query.numel() for query, _ in part])
            step = torch.arange(first + 1, end + 1).repeat_interleave(sizes)
            query = torch.cat([query for query, _ in part])
            choices = zip(*(choice for _, choice in part), strict=True)
            yield _Entries(
                query, step.to(query.device), *(torch.cat(x) for x in choices)
            )
            first = end

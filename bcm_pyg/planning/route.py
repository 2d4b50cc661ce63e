from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, repr=False)
class Route:
    """The route of one query.

    It can be iterated over, has the length of its nodes, and is printed with
    them; one that was not found is empty, and so is False.

    Attributes:
        nodes: From start to goal; empty if none was found. A
            :class:`~bcm_pyg.CognitiveMap` returns the source's own names.
        success: Whether the goal was reached.
        cost: What it costs, infinite if none was found.
        hops: Its edges.
        expansions: Distinct nodes whose neighbours were scored or relaxed.
        lower_bound: A proven lower bound of the optimal cost.
        start: Where it begins, known also if none was found.
        goal: Where it ends.
    """

    nodes: list[Any]
    success: bool
    cost: float
    hops: int
    expansions: int
    lower_bound: float
    start: Any = None
    goal: Any = None

    @property
    def edges(self) -> list[tuple[Any, Any]]:
        """Tail and head of each edge."""
        return list(pairwise(self.nodes))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def __str__(self) -> str:
        if not self.success:
            return repr(self)
        return f'{" -> ".join(map(str, self.nodes))} (cost {self.cost:.6g})'

    def __repr__(self) -> str:
        ends = f'{self.start!r} -> {self.goal!r}'
        if not self.success:
            return f'{type(self).__name__}({ends}, none found)'
        found = f'cost={self.cost:.6g}, hops={self.hops}'
        return f'{type(self).__name__}({ends}, {found})'

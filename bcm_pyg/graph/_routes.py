from __future__ import annotations

from typing import Protocol

from torch import Tensor

from bcm_pyg.errors import BCMError


class Routes(Protocol):
    """What exporting needs of a :class:`~bcm_pyg.Plan`."""

    @property
    def success(self) -> Tensor:
        """Whether the goal was reached, :obj:`[B]`."""

    @property
    def cost(self) -> Tensor:
        """What each route costs, :obj:`[B]`."""

    @property
    def hops(self) -> Tensor:
        """Edges of each route, :obj:`[B]`."""

    @property
    def nodes(self) -> Tensor:
        """The routes, padded with -1, :obj:`[B, L]`."""

    def __len__(self) -> int: ...

    def path(self, query: int) -> list[int]:
        """The nodes of one route."""


def check_routes(plan: Routes, num_nodes: int) -> None:
    """Refuses what is no plan, or a plan of a larger graph."""
    if not isinstance(getattr(plan, 'nodes', None), Tensor):
        raise BCMError(f'plan must be a Plan (got {type(plan).__name__})')
    if plan.nodes.numel() and int(plan.nodes.max()) >= num_nodes:
        raise BCMError(
            f'the plan visits node {int(plan.nodes.max())}, but data has '
            f'{num_nodes} nodes: pass the graph that was planned on'
        )

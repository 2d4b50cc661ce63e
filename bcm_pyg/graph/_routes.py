from __future__ import annotations

from typing import Protocol

from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from .fingerprint import fingerprint
from .planning_graph import planning_graph


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


def check_routes(plan: Routes, data: Data) -> None:
    """Refuses what is no plan, or a plan of another graph."""
    num_nodes = int(data.num_nodes)
    if not isinstance(getattr(plan, 'nodes', None), Tensor):
        raise BCMError(f'plan must be a Plan (got {type(plan).__name__})')
    if plan.nodes.numel() and int(plan.nodes.max()) >= num_nodes:
        raise BCMError(
            f'the plan visits node {int(plan.nodes.max())}, but data has '
            f'{num_nodes} nodes: pass the graph that was planned on'
        )
    planned = getattr(plan, 'graph', None)
    if planned is None:
        return
    try:
        data = planning_graph(data)
    except BCMError:  # not what costs are called here: nothing to compare
        return
    if fingerprint(data) != planned:
        raise BCMError(
            'the plan is of another graph, or of other costs: pass the graph '
            'that was planned on (of a simplified graph, the full one)'
        )

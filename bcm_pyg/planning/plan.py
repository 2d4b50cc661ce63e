from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, labels_of, planning_graph
from bcm_pyg.utils import counted

from .route import Route

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

#: What nodes are called that have no names.
NUMBERS = range(2**63)


@dataclass(frozen=True, eq=False)
class Plan:
    """Routes for a batch of :math:`B` queries.

    :obj:`plan[b]` is the :class:`Route` of a query, :obj:`plan[2:5]` the plan
    of some, and a plan can be iterated over.

    Attributes:
        success: :obj:`[B]` bool, whether the goal was reached.
        cost: :obj:`[B]` float64, what the route costs; infinite where none was
            found.
        hops: :obj:`[B]` long, edges of the route; 0 where none was found.
        nodes: :obj:`[B, L]` long, the route from start to goal, padded with -1;
            all -1 where none was found. :math:`L` is the length of the longest.
        expansions: :obj:`[B]` long, distinct nodes whose neighbours were scored
            or relaxed, plus those of a fallback or a proof.
        lower_bound: :obj:`[B]` float64, a proven lower bound of the optimal
            cost; 0 where nothing is known, infinite where no route exists.
        walked_cost: :obj:`[B]` float64, what it cost to walk until the route
            was found (:class:`~bcm_pyg.planning.Backtracking`). (default:
            :obj:`cost`)
        graph: Fingerprint of the graph that was planned on, if known.
        starts: :obj:`[B]` long, the starts, if known.
        goals: :obj:`[B]` long, the goals, if known.
        names: What the nodes are called, if they have names: routes of
            :obj:`plan[b]` and of iteration are in these, tensors and
            :meth:`path` in numbers.
    """

    success: Tensor
    cost: Tensor
    hops: Tensor
    nodes: Tensor
    expansions: Tensor
    lower_bound: Tensor
    walked_cost: Tensor = None  # type: ignore[assignment]
    graph: str | None = None
    starts: Tensor | None = None
    goals: Tensor | None = None
    names: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.walked_cost is None:
            object.__setattr__(self, 'walked_cost', self.cost)

    @classmethod
    def from_routes(
        cls,
        cost: Tensor,
        nodes: Tensor,
        expansions: Tensor,
        lower_bound: Tensor | None = None,
        walked_cost: Tensor | None = None,
    ) -> Self:
        """From costs :obj:`[B]` (infinite if there is no route) and nodes
        :obj:`[B, L]`, padded with -1.
        """
        if lower_bound is None:
            lower_bound = torch.zeros_like(cost)
        hops = ((nodes >= 0).sum(dim=1) - 1).clamp(min=0)
        return cls(
            success=torch.isfinite(cost),
            cost=cost,
            hops=hops,
            nodes=_trimmed(nodes, hops),
            expansions=expansions,
            lower_bound=lower_bound,
            walked_cost=walked_cost,  # type: ignore[arg-type]
        )

    @classmethod
    def from_steps(
        cls,
        starts: Tensor,
        steps: Sequence[tuple[Tensor, Tensor]],
        *,
        success: Tensor,
        cost: Tensor,
        expansions: Tensor,
    ) -> Self:
        """From walks that were made step by step.

        Args:
            starts (torch.Tensor): :obj:`[B]`.
            steps (list): Per step the queries that moved and the nodes they
                moved to; a query moves in every step until its walk has ended.
            success (torch.Tensor): :obj:`[B]`.
            cost (torch.Tensor): :obj:`[B]`.
            expansions (torch.Tensor): :obj:`[B]`.
        """
        hops = torch.zeros_like(starts)
        for query, _ in steps:
            hops[query] += 1
        hops = hops.masked_fill(~success, 0)
        longest = int(hops.max()) if hops.numel() > 0 else 0
        nodes = starts.new_full((starts.numel(), longest + 1), -1)
        nodes[:, 0] = torch.where(success, starts, -1)
        for step, (query, node) in enumerate(steps[:longest], start=1):
            found = success[query]
            nodes[query[found], step] = node[found]
        cost = cost.masked_fill(~success, float('inf'))
        return cls.from_routes(cost, nodes, expansions)

    @classmethod
    def empty(cls, device: torch.device) -> Self:
        """The plan of no queries."""
        none = torch.empty(0, dtype=torch.long, device=device)
        return cls.from_routes(none.double(), none.view(0, 1), none)

    @classmethod
    def cat(cls, plans: Sequence[Self]) -> Self:
        """Plans of several batches as one."""
        if len(plans) == 1:
            return plans[0]
        longest = max(plan.nodes.size(1) for plan in plans)
        parts = {
            name: [getattr(plan, name) for plan in plans] for name in _columns()
        }
        parts['nodes'] = [
            pad(nodes, (0, longest - nodes.size(1)), value=-1)
            for nodes in parts['nodes']
        ]
        joined: dict[str, Any] = {
            name: torch.cat(part)
            for name, part in parts.items()
            if all(each is not None for each in part)
        }
        return cls(**joined, graph=plans[0].graph, names=plans[0].names)

    def __len__(self) -> int:
        return int(self.success.numel())

    @overload
    def __getitem__(self, query: int) -> Route: ...

    @overload
    def __getitem__(self, query: slice | Tensor | Sequence[int]) -> Plan: ...

    def __getitem__(
        self, query: int | slice | Tensor | Sequence[int]
    ) -> Route | Plan:
        if not isinstance(query, slice) and np.ndim(query) == 0:
            query = operator.index(query)  # type: ignore[arg-type]
            nodes, labels = self.path(query), self._labels()
            return Route(
                nodes=[labels[node] for node in nodes],
                success=bool(self.success[query]),
                cost=float(self.cost[query]),
                hops=int(self.hops[query]),
                expansions=int(self.expansions[query]),
                lower_bound=float(self.lower_bound[query]),
                start=self._end(self.starts, query, nodes[:1]),
                goal=self._end(self.goals, query, nodes[-1:]),
            )
        if isinstance(query, slice):
            query = range(len(self))[query]
        if not isinstance(query, Tensor):
            query = torch.from_numpy(np.array(query, ndmin=1))
            query = query if query.numel() > 0 else query.long()
        query = query.to(self.success.device)
        some = {n: value[query] for n, value in self._values().items()}
        some['nodes'] = _trimmed(some['nodes'], some['hops'])
        return replace(self, **some)

    def _values(self) -> dict[str, Any]:
        """All that is there for each query, by name."""
        values = {name: getattr(self, name) for name in _columns()}
        return {n: value for n, value in values.items() if value is not None}

    def _end(self, ends: Tensor | None, query: int, known: list[int]) -> Any:
        if ends is not None:
            known = [int(ends[query])]
        return self._labels()[known[0]] if known else None

    def __iter__(self) -> Iterator[Route]:
        return (self[query] for query in range(len(self)))

    def path(self, query: int = 0) -> list[int]:
        """The nodes of one route, from start to goal; empty if none."""
        if not -len(self) <= query < len(self):
            raise IndexError(
                f'there is no query {query}: the plan is of '
                + counted(len(self), 'query', 'queries')
            )
        row = self.nodes[query]
        return row[row >= 0].tolist()

    def paths(self) -> list[list[int]]:
        """The nodes of all routes."""
        return [self.path(query) for query in range(len(self))]

    def to_labels(self, data: Data | None = None) -> list[list[Any]]:
        """Routes as lists of node labels (see :func:`bcm_pyg.graph.labels_of`),
        empty where there is none.

        Args:
            data (torch_geometric.data.Data, optional): The graph that was
                planned on. (default: :attr:`names`)
        """
        if data is None and self.names is None:
            raise BCMError('pass the graph that was planned on, for its labels')
        labels = self._labels(data)
        return [[labels[node] for node in path] for path in self.paths()]

    def _labels(self, data: Data | None = None) -> Sequence[Any]:
        """What nodes are called: by a graph, else by names, else by numbers."""
        if data is None:
            return NUMBERS if self.names is None else self.names
        labels: list[Any] = labels_of(data)
        self.check_graph(data)
        return labels

    def to_frame(self, data: Data | None = None) -> pd.DataFrame:
        """A pandas table with one row per query: :obj:`query`, :obj:`start`,
        :obj:`goal`, :obj:`success`, :obj:`cost`, :obj:`hops`,
        :obj:`lower_bound` and :obj:`nodes`, the whole route.

        Where no route was found, start and goal are missing unless the plan
        knows its queries.

        Args:
            data (torch_geometric.data.Data, optional): The graph that was
                planned on, whose labels are the nodes. (default:
                :attr:`names`, else numbers)
        """
        try:
            import pandas as pd
        except ImportError:
            raise BCMError(
                "to_frame needs pandas: run 'pip install bcm_pyg[geo]'"
            ) from None
        labels = self._labels(data)
        routes = [[labels[node] for node in path] for path in self.paths()]
        ends = {}
        for name, at in (('start', 0), ('goal', -1)):
            nodes = getattr(self, f'{name}s')
            if nodes is None:
                found = [route[at] if route else None for route in routes]
            else:
                found = [labels[node] for node in nodes.tolist()]
            # Objects: pandas would make floats of numbers beside None.
            ends[name] = pd.Series(found, dtype=object)
        rest = {
            name: getattr(self, name).cpu().numpy()
            for name in ('success', 'cost', 'hops', 'lower_bound')
        }
        return pd.DataFrame(
            {'query': range(len(self)), **ends, **rest, 'nodes': routes}
        )

    def to_geodataframe(self, data: Data) -> gpd.GeoDataFrame:
        """The same with the lines of routes, as a table of geopandas (see
        :func:`bcm_pyg.export.to_geodataframe`).

        Args:
            data (torch_geometric.data.Data): The graph that was planned on.
        """
        from bcm_pyg.export import to_geodataframe

        return to_geodataframe(self, data)

    def check_graph(self, data: Data) -> None:
        """Refuses a graph that is not the one that was planned on."""
        num_nodes = int(data.num_nodes)
        if self.nodes.numel() and int(self.nodes.max()) >= num_nodes:
            raise BCMError(
                f'the plan visits node {int(self.nodes.max())}, but data has '
                f'{num_nodes} nodes: pass the graph that was planned on'
            )
        if self.graph is None:
            return
        try:
            data = planning_graph(data)
        except BCMError:  # costs have another name here: nothing to compare
            return
        if fingerprint(data) != self.graph:
            raise BCMError(
                'the plan is of another graph, or of other costs: pass the '
                'graph that was planned on (of a simplified graph, the full '
                'one)'
            )

    def to(self, device: torch.device | str) -> Plan:
        """The plan with its tensors on a device."""
        values, device = self._values(), torch.device(device)
        if all(getattr(v, 'device', None) == device for v in values.values()):
            return self
        moved: dict[str, Any] = {
            name: torch.as_tensor(value).to(device)
            for name, value in values.items()
        }
        return replace(self, **moved)

    def without(self, impossible: Tensor) -> Plan:
        """The plan, marked where there is no route, bool :obj:`[B]`."""
        none = float('inf')
        return replace(
            self,
            success=self.success & ~impossible,
            cost=self.cost.masked_fill(impossible, none),
            hops=self.hops.masked_fill(impossible, 0),
            nodes=self.nodes.masked_fill(impossible[:, None], -1),
            lower_bound=self.lower_bound.masked_fill(impossible, none),
            walked_cost=self.walked_cost.masked_fill(impossible, none),
        )

    def cheaper(self, query: Tensor, other: Plan) -> Plan:
        """The plan with routes of another one, which is of these queries, where
        those cost less. Expansions are added, and of the lower bounds the
        higher one holds.
        """
        order = torch.arange(len(self), device=self.success.device)
        better = other.cost < self.cost[query]
        order[query[better]] = len(self) + better.nonzero().squeeze(1)
        expansions = self.expansions.clone()
        expansions[query] += other.expansions
        bound = self.lower_bound.clone()
        bound[query] = torch.maximum(bound[query], other.lower_bound)
        plan = Plan.cat([self, other])[order]
        return replace(plan, expansions=expansions, lower_bound=bound)

    def __repr__(self) -> str:
        unreachable = int(torch.isinf(self.lower_bound).sum())
        found = self.cost[self.success]
        cost = f'{float(found.mean()):.6g}' if found.numel() else 'none'
        return (
            f'{type(self).__name__}(queries={len(self)}, '
            f'success={found.numel()}, unreachable={unreachable}, '
            f'mean_cost={cost})'
        )


def _columns() -> list[str]:
    """Names of what a plan may have for each query."""
    return [x.name for x in fields(Plan) if x.name not in ('graph', 'names')]


def _trimmed(nodes: Tensor, hops: Tensor) -> Tensor:
    longest = int(hops.max()) if hops.numel() > 0 else 0
    return nodes[:, : longest + 1]

"""How good routes are, by the paper's definitions."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.baselines import shortest_distances
from bcm_pyg.datasets import sample_queries
from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph
from bcm_pyg.nn import BCM
from bcm_pyg.planning import Plan
from bcm_pyg.typing import Ids
from bcm_pyg.utils import Adjacency, as_queries

#: How far a stated cost may be from the sum of its edges, relatively.
TOLERANCE = 1e-4
#: Queries where none are given.
NUM_QUERIES = 1000


def success_rate(plan: Plan, optimal: Tensor) -> float:
    """Share of the reachable queries whose goal was reached."""
    return _mean(plan.success[torch.isfinite(optimal)].double())


def gap(plan: Plan, optimal: Tensor) -> float:
    r"""Mean excess cost in percent over the successful queries,

    .. math::
        100 \cdot \mathbb{E}\left[ \frac{c_{\mathrm{path}}}{c_{\mathrm{opt}}}
        - 1 \;\middle|\; \mathrm{success} \right] .

    Queries of optimal cost 0 have no relative excess and are left out.
    """
    counted = plan.success & (optimal > 0) & torch.isfinite(optimal)
    return 100 * _mean(plan.cost[counted] / optimal[counted] - 1)


def wspl(plan: Plan, optimal: Tensor) -> float:
    r"""Success weighted by weighted path length, over the reachable queries,

    .. math::
        \frac{1}{M} \sum_i S_i \frac{c_i^{\mathrm{opt}}}{\max(c_i^{
        \mathrm{opt}}, c_i^{\mathrm{path}})} .
    """
    reachable = torch.isfinite(optimal)
    best = optimal[reachable]
    found = torch.maximum(plan.cost[reachable], best)
    share = torch.where(found > 0, best / found, 1.0)
    return _mean(torch.where(plan.success[reachable], share, 0.0))


@dataclass(frozen=True, repr=False)
class Report:
    """What :func:`evaluate` measured. Cost, Gap and hops are of successes.

    Attributes:
        success_rate: Share of reachable queries whose goal was reached.
        cost: Mean cost of the successful routes.
        gap: Their mean excess over the optimum, in percent.
        wspl: Success weighted by weighted path length.
        hops: Mean number of edges of the successful routes.
        expansions: Mean number of nodes expanded, over all queries.
        seconds_per_query: Wall time of planning over the number of queries.
        num_queries: Number of queries.
    """

    success_rate: float
    cost: float
    gap: float
    wspl: float
    hops: float
    expansions: float
    seconds_per_query: float
    num_queries: int

    @staticmethod
    def header() -> str:
        """The head of a table of reports."""
        return (
            f'{"SR":>6} {"Cost":>10} {"Gap %":>8} {"wSPL":>6} {"hops":>7} '
            f'{"expanded":>8} {"us/query":>9} {"queries":>8}'
        )

    def row(self) -> str:
        """One row of a table of reports."""
        return (
            f'{self.success_rate:6.3f} {self.cost:10.3f} {self.gap:8.3f} '
            f'{self.wspl:6.3f} {self.hops:7.1f} {self.expansions:8.1f} '
            f'{1e6 * self.seconds_per_query:9.1f} {self.num_queries:8d}'
        )

    def __str__(self) -> str:
        return f'{self.header()}\n{self.row()}'

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(num_queries={self.num_queries}, '
            f'success_rate={self.success_rate:.3f}, gap={self.gap:.3f})'
        )

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


def evaluate(
    planner: Callable[[Ids, Ids], Plan],
    data: Data,
    starts: Ids | None = None,
    goals: Ids | None = None,
) -> Report:
    """Plans queries, checks the routes and compares with exact Dijkstra.

    Args:
        planner (Callable): A :class:`~bcm_pyg.Planner`, a baseline, or anything
            that turns starts and goals into a :class:`~bcm_pyg.Plan`.
        data (torch_geometric.data.Data): The graph.
        starts (int, list, numpy.ndarray or torch.Tensor, optional): The starts.
            (default: with :obj:`goals`, 1000 queries of
            :func:`~bcm_pyg.datasets.sample_queries`, always the same)
        goals (int, list, numpy.ndarray or torch.Tensor, optional): The goals.

    Example:
        >>> from bcm_pyg import evaluate
        >>> from bcm_pyg.baselines import Dijkstra
        >>> from bcm_pyg.datasets import weighted_grid
        >>> data = weighted_grid('open', side=4, seed=42)
        >>> report = evaluate(Dijkstra(data), data, [0, 1], 15)
        >>> report.success_rate, report.gap
        (1.0, 0.0)
    """
    if isinstance(planner, (BCM, type)) or not callable(planner):
        raise BCMError(
            'planner must be a Planner, a baseline or another callable of '
            f'starts and goals (got {type(planner).__name__})'
        )
    data = planning_graph(data).cpu()
    adjacency = Adjacency.from_data(data)
    if starts is None and goals is None:
        starts, goals = sample_queries(data, NUM_QUERIES)
    if starts is None or goals is None:
        raise BCMError('give starts and goals, or neither of them')
    start, goal = as_queries(starts, goals, adjacency.num_nodes)
    began = time.perf_counter()
    plan = planner(start, goal)
    seconds = time.perf_counter() - began
    if isinstance(plan, Plan):
        plan = plan.to('cpu')
        if plan.graph not in (None, fingerprint(data)):
            raise BCMError(
                'the planner plans on another graph, or with other costs: '
                'evaluate it on its own (of a simplified graph, the full one)'
            )
    check_plan(plan, adjacency, start, goal)
    optimal = shortest_distances(adjacency, start, goal)
    return Report(
        success_rate=success_rate(plan, optimal),
        cost=_mean(plan.cost[plan.success]),
        gap=gap(plan, optimal),
        wspl=wspl(plan, optimal),
        hops=_mean(plan.hops[plan.success].double()),
        expansions=_mean(plan.expansions.double()),
        seconds_per_query=seconds / max(1, start.numel()),
        num_queries=start.numel(),
    )


def check_plan(
    plan: Plan, adjacency: Adjacency, starts: Tensor, goals: Tensor
) -> None:
    """Refuses a plan with a wrong edge, end or cost of a successful query."""
    if not isinstance(plan, Plan):
        kind = type(plan).__name__
        raise BCMError(f'a planner must return a Plan (got {kind})')
    if len(plan) != starts.numel() or plan.nodes.dim() != 2:
        raise BCMError(
            f'the planner answered {len(plan)} of {starts.numel()} queries, '
            f'with nodes of shape {tuple(plan.nodes.shape)}'
        )
    nodes = plan.nodes.to(adjacency.device)[plan.success]
    query = plan.success.nonzero().squeeze(1)
    if query.numel() == 0:
        return
    used = nodes >= 0
    length = used.sum(dim=1)
    column = torch.arange(nodes.size(1), device=nodes.device)
    padded = (used == (column < length[:, None])).all(dim=1) & (length > 0)
    _refuse(query, ~padded, 'its nodes are not padded with -1 at the end')
    last = nodes.gather(1, (length - 1)[:, None]).squeeze(1)
    ends = (nodes[:, 0] == starts[query]) & (last == goals[query])
    _refuse(query, ~ends, 'it does not lead from its start to its goal')
    missing = (adjacency.route_edges(nodes) == -2).any(dim=1)
    _refuse(query, missing, 'it uses a missing edge')
    cost = adjacency.route_costs(nodes)
    stated = plan.cost.to(cost)[plan.success]
    right = (stated - cost).abs() <= TOLERANCE * cost.clamp(min=1e-12)
    _refuse(query, ~right, 'its cost is not the sum of its edges')
    hops = plan.hops.to(length)[plan.success]
    _refuse(query, hops != length - 1, 'its hops are not those of its nodes')


def _refuse(query: Tensor, bad: Tensor, why: str) -> None:
    if bool(bad.any()):
        raise BCMError(
            f'the route of query {int(query[bad][0])} is wrong: {why} (was the '
            'planner built for this graph and these costs?)'
        )


def _mean(values: Tensor) -> float:
    return float(values.mean()) if values.numel() > 0 else float('nan')

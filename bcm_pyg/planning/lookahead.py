from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency, check_int, scatter_amin, scatter_min

from .node_lists import INFINITE, NodeLists
from .pairs import place_of, united
from .plan import Plan
from .readout import cost_scale
from .scorer import Scorer
from .walks import Steps, plan_of_walks


@dataclass(frozen=True)
class Lookahead:
    r"""A walk that looks a few hops ahead before it trusts the map.

    Each step leads to the node :math:`j` at :math:`d` hops with the lowest

    .. math::
        c_{i j_1} + c_{j_1 j_2} + \dots + c_{j_{d-1} j} + \min_k D_j(k; g) ,

    or to the goal if it is nearer, by its first hop; then it looks again. Nodes
    of the walk are not entered again.

    *Guarantees* routes without loops, but may end in a way of no return that is
    longer than it can see; the planner then falls back on
    :class:`~bcm_pyg.planning.BestFirst`.

    *Costs* a pass for each node that was ever :math:`d` hops away: on a grid
    about :math:`2 d + 1` per hop.

    *Use it* with maps whose distances are better than their choices, where a
    walk is wanted and not a search: it decides each step by what lies around
    it. :class:`~bcm_pyg.planning.BestFirst` does more with fewer passes.

    Args:
        depth (int, optional): How many true edge costs to sum, :math:`d`.
            (default: :obj:`2`)
    """

    depth: int = 2

    def __post_init__(self) -> None:
        check_int('depth', self.depth, 1)

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        success = starts == goals
        cost = torch.zeros_like(starts, dtype=torch.float64)
        expansions = torch.zeros_like(starts)
        steps: Steps = []
        query = (~success).nonzero().squeeze(1)  # those still under way
        node, goal = starts[query], goals[query]
        view = _View(scorer, adjacency, query.numel())
        while query.numel() > 0:
            edge = view.step(node, goal, self.depth)
            moved = edge >= 0
            edge = edge[moved]
            arrived = moved.clone()
            arrived[moved] = adjacency.dst[edge] == goal[moved]
            steps.append((query[moved], adjacency.dst[edge]))
            cost[query[moved]] += adjacency.cost[edge].double()
            success[query[arrived]] = True

            on = moved & ~arrived
            node = adjacency.dst[edge[on[moved]]]
            if not bool(on.all()):
                expansions[query[~on]] = view.seen.size[~on]
                query, goal = query[on], goal[on]
                view.seen.keep(on.nonzero().squeeze(1))
        return plan_of_walks(
            starts, steps, success=success, cost=cost, expansions=expansions
        )


class _View:
    """What the walks of a batch of queries have seen.

    The cost kept with a node is what the map says is left from there, infinite
    if it was not asked, and minus infinite if the walk has been there.
    """

    def __init__(
        self, scorer: Scorer, adjacency: Adjacency, num_queries: int
    ) -> None:
        self.scorer = scorer
        self.adjacency = adjacency
        self.cost_scale = cost_scale(scorer)
        self.seen = NodeLists(
            num_queries, adjacency.num_nodes, adjacency.device
        )

    def step(self, node: Tensor, goal: Tensor, depth: int) -> Tensor:
        """The edge to take from each node, -1 if there is none, :obj:`[R]`."""
        num_rows, num_nodes = node.numel(), self.adjacency.num_nodes
        row = torch.arange(num_rows, device=node.device)
        self.seen.cost.view(-1)[self._note(row, node)] = -INFINITE
        near = row * num_nodes + node  # pairs of all nodes in sight
        cost = torch.zeros_like(node, dtype=torch.float64)
        first = torch.full_like(node, -1)  # edge that the way there begins with
        options = []
        for hop in range(min(depth, num_nodes)):
            if node.numel() == 0:
                break
            edge, origin = self.adjacency.out_edges(node)
            row, node = row[origin], self.adjacency.dst[edge]
            cost = cost[origin] + self.adjacency.cost[edge].double()
            first = edge if hop == 0 else first[origin]
            pair, group = (row * num_nodes + node).unique(return_inverse=True)
            best = scatter_min(cost, group, dim_size=pair.numel())[1]
            best = best[(place_of(near, pair) < 0) & ~self._visited(pair)]
            row, node, cost, first = (
                part[best] for part in (row, node, cost, first)
            )
            at_goal = node == goal[row]
            options.append((row[at_goal], cost[at_goal], first[at_goal]))
            row, node, cost, first = (
                part[~at_goal] for part in (row, node, cost, first)
            )
            self._note(row, node)
            near = united(near, row * num_nodes + node)
        options.append((row, cost + self._left(row, node, goal), first))
        rows, costs, firsts = (
            torch.cat(parts) for parts in zip(*options, strict=True)
        )
        least, best = scatter_min(costs, rows, dim_size=num_rows)
        edge = torch.full_like(goal, -1)
        found = least < INFINITE
        edge[found] = firsts[best[found]]
        return edge

    def _visited(self, pair: Tensor) -> Tensor:
        num_nodes = self.adjacency.num_nodes
        row = pair.div(num_nodes, rounding_mode='trunc')
        slot = self.seen.find(row, pair % num_nodes)
        cost = self.seen.cost.view(-1)[self.seen.at(row, slot.clamp(min=0))]
        return (slot >= 0) & (cost == -INFINITE)

    def _note(self, row: Tensor, node: Tensor) -> Tensor:
        """Adds nodes to those seen, where new; their positions."""
        slot = self.seen.find(row, node)
        new = slot < 0
        slot[new] = self.seen.append(row[new], node[new])
        return self.seen.at(row, slot)

    def _left(self, row: Tensor, node: Tensor, goal: Tensor) -> Tensor:
        """What the map says it costs from each node on, asked once."""
        here = self.seen.at(row, self.seen.find(row, node))
        known = self.seen.cost.view(-1)
        new = (known[here] == INFINITE).nonzero().squeeze(1)
        ways = self.scorer(node[new], goal[row[new]])
        score = ways.score.detach().double() * self.cost_scale
        largest = torch.finfo(score.dtype).max
        score = score.nan_to_num(nan=largest, posinf=largest)
        head, owner = self.adjacency.dst[ways.edge], row[new][ways.row]
        back = self._visited(owner * self.adjacency.num_nodes + head)
        score = score.masked_fill(back, INFINITE)
        known[here[new]] = scatter_amin(score, ways.row, 0, new.numel())
        return known[here]

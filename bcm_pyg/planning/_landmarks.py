"""Lower bounds of costs by landmarks, and proofs by them."""

import copy
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from bcm_pyg.kernels import NO_WAY, Array, Bounds, Found, Map, blank_map
from bcm_pyg.nn.encoders.parts.landmark_distances import find_landmarks
from bcm_pyg.utils import Adjacency, check_int

from ._engine import Engine, in_parts
from .base import EdgeScores
from .plan import Plan

#: Pairs of nodes that are bounded at a time.
MAX_ROWS = 2**17
#: The largest distance in units. Differences are one unit too large at most,
#: and a hair for the rounding of sums.
MOST, MARGIN = NO_WAY - 1, 1 + 2**-20


class LandmarkBounds:
    r"""Lower bounds of shortest distances by the triangle inequality (ALT),

    .. math::
        d(s, g) \ge \max_l \, \max \left( d(l, g) - d(l, s), \; d(s, l) -
        d(g, l) \right) ,

    where the landmarks :math:`l` are far apart from each other. A bound is
    infinite where the distances show that there is no way, and 0 where they
    show nothing.

    Distances are exact and then rounded down to multiples of a unit, which is
    the largest of them over :math:`2^{16} - 2`. So a bound of the exact sums of
    edge costs is up to two units lower than it could be, and never too high.

    Takes two exact searches a landmark to build and keeps :math:`4 L` bytes a
    node, or :math:`2 L` if distances are the same in both directions. Bounds
    are computed :math:`2^{17}` at a time, with 50 MB at :math:`L = 16`.

    Args:
        adjacency (Adjacency): The graph.
        num_landmarks (int, optional): :math:`L`. Small graphs get fewer.
            (default: :obj:`16`)
    """

    def __init__(self, adjacency: Adjacency, num_landmarks: int = 16) -> None:
        check_int('num_landmarks', num_landmarks, 1)
        self.adjacency = adjacency
        nodes, outward, inward = find_landmarks(adjacency, num_landmarks)
        self.nodes = torch.from_numpy(nodes).to(adjacency.device)
        symmetric = np.allclose(outward, inward, rtol=1e-12, atol=0)
        table = outward if symmetric else np.hstack([outward, inward])
        known = np.isfinite(table)
        unit = float(table[known].max(initial=0.0)) / MOST or 1.0
        whole = np.floor(np.where(known, table, 0) / unit).clip(max=MOST)
        rows = np.where(known, whole, NO_WAY).astype(np.uint16)
        #: What compiled searches read, too.
        self.arrays = Bounds(rows, nodes.size, symmetric, unit, MARGIN)

    def __call__(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Lower bound of the cost of each query, float64 :obj:`[B]`."""
        start, goal = starts.cpu().numpy(), goals.cpu().numpy()
        bound = np.empty(start.size)
        for first in range(0, start.size, MAX_ROWS):
            part = slice(first, first + MAX_ROWS)
            bound[part] = self._differences(start[part], goal[part])
        bound = np.maximum(bound - MARGIN, 0) * self.arrays.unit
        return torch.from_numpy(bound).to(starts.device)

    def _differences(self, start: Array, goal: Array) -> Array:
        """The largest over all landmarks, in units."""
        rows, outward = self.arrays.rows, self.arrays.outward
        # Whole numbers of this size are exact.
        near, far = (rows[end].astype(np.float32) for end in (start, goal))
        near[near == NO_WAY] = far[far == NO_WAY] = np.inf
        with np.errstate(invalid='ignore'):
            ahead = far - near
        ahead[:, outward:] *= -1
        if self.arrays.symmetric:
            ahead = np.abs(ahead)
        # Where both are infinite, nothing is known.
        largest: Array = np.fmax.reduce(ahead, axis=1, initial=0)
        return largest

    def on(self, adjacency: Adjacency) -> Self:
        """The same for a graph of which edges are gone or cost more: what they
        bound from below has only grown.
        """
        out = copy.copy(self)
        out.adjacency = adjacency
        return out

    def num_bytes(self) -> int:
        """Bytes of what is kept per node."""
        return int(self.arrays.rows.nbytes)


class BoundScorer:
    """Scores that never overestimate: edge cost and bound of the rest."""

    def __init__(self, bounds: LandmarkBounds) -> None:
        self.bounds = bounds

    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """All edges of each node, scored for its goal."""
        adjacency = self.bounds.adjacency
        edge, source = adjacency.out_edges(nodes)
        rest = self.bounds(adjacency.dst[edge], goals[source])
        return EdgeScores(edge, source, adjacency.exact_cost[edge] + rest)

    def for_kernels(self) -> tuple[Map, Bounds]:
        """What the kernels read."""
        return blank_map(), self.bounds.arrays


def with_bounds(
    plan: Plan, bounds: LandmarkBounds, starts: Tensor, goals: Tensor
) -> Plan:
    """The plan with lower bounds of the costs of its queries."""
    bound = torch.minimum(bounds(starts, goals), plan.cost)
    return replace(plan, lower_bound=torch.maximum(bound, plan.lower_bound))


def certified(
    plan: Plan,
    bounds: LandmarkBounds,
    starts: Tensor,
    goals: Tensor,
    epsilon: float,
) -> Plan:
    r"""Routes that cost at most :math:`1 + \epsilon` times the lower bound.

    Where a route of cost :math:`u` is not proven to, an exact search expands
    only nodes that may lie on a route cheaper than :math:`u / (1 + \epsilon)`:
    those for which the cost from the start and the bound of the rest are less.
    It finds such a route, or proves that there is none.

    Queries must be connected. Bounds hold up to rounding: relatively
    :math:`10^{-12}` on small graphs and :math:`10^{-9}` at a million nodes.
    """
    plan = with_bounds(plan, bounds, starts, goals)
    doubtful = plan.cost > (1 + epsilon) * plan.lower_bound
    query = doubtful.nonzero().squeeze(1)
    if query.numel() == 0:
        return plan
    known = plan.cost[query]
    # A hair more, so that the proof survives a division and a product.
    ceiling = known / (1 + epsilon) * (1 + 2**-50)
    queries = starts[query], goals[query], known, ceiling
    found = in_parts(_prove, BoundScorer(bounds), bounds.adjacency, *queries)
    return plan.cheaper(query, found)


def _prove(
    engine: Engine, start: Array, goal: Array, known: Array, ceiling: Array
) -> Found:
    searched = engine.expand(start, goal, ceiling=ceiling, reopen=True)
    span = searched.span[:, None]
    found = engine.inside(start, goal, searched.nodes, span, 0)
    cost = np.minimum(found.cost, known)
    # Every route that was not found passes an open node.
    bound = np.where(searched.reached, cost, np.minimum(searched.bound, cost))
    return found._replace(bound=bound)

"""Lower bounds of costs, from exact distances of a few nodes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.nn.encoders.landmark_distances import find_landmarks
from bcm_pyg.utils import Adjacency, check_int

from .scorer import Candidates

#: Pairs of nodes that are bounded at a time.
MAX_ROWS = 2**17
#: More than what rounding to float32 can take from a difference of two numbers
#: of at most 1.
MARGIN = 2**-22


class LandmarkBounds:
    r"""Lower bounds of shortest distances by the triangle inequality (ALT),

    .. math::
        d(s, g) \ge \max_l \, \max \left( d(l, g) - d(l, s), \; d(s, l) -
        d(g, l) \right) ,

    where the landmarks :math:`l` are far apart from each other. A bound is
    infinite where the distances show that there is no way, and 0 where they
    show nothing. It takes rounding into account: it is a bound of the exact
    sums of edge costs.

    Takes two exact searches a landmark to build and keeps :math:`8 L` bytes a
    node. Bounds are computed :math:`2^{17}` at a time, with 50 MB at
    :math:`L = 16`.

    Args:
        adjacency (Adjacency): The graph.
        num_landmarks (int, optional): :math:`L`. Small graphs get fewer.
            (default: :obj:`16`)
    """

    def __init__(self, adjacency: Adjacency, num_landmarks: int = 16) -> None:
        check_int('num_landmarks', num_landmarks, 1)
        self.adjacency = adjacency
        graph = Data(
            edge_index=torch.stack([adjacency.src, adjacency.dst]),
            edge_cost=adjacency.cost,
            num_nodes=adjacency.num_nodes,
        )
        landmarks = find_landmarks(graph, num_landmarks)
        self.nodes = torch.from_numpy(landmarks.nodes).to(adjacency.device)
        # The difference of two rows is what all terms of the bound are.
        rows = np.concatenate([landmarks.outward, -landmarks.inward], axis=1)
        finite = np.abs(rows[np.isfinite(rows)])
        self._unit = float(finite.max(initial=0.0)) or 1.0
        rows /= self._unit
        self._rows = torch.from_numpy(rows).float().to(adjacency.device)

    def __call__(self, starts: Tensor, goals: Tensor) -> Tensor:
        """Lower bound of the cost of each query, float64 :obj:`[B]`."""
        bound = torch.empty_like(starts, dtype=torch.float64)
        for first in range(0, starts.numel(), MAX_ROWS):
            part = slice(first, first + MAX_ROWS)
            ahead = self._rows[goals[part]] - self._rows[starts[part]]
            ahead = ahead.nan_to_num_(nan=0.0, posinf=float('inf'))
            bound[part] = ahead.amax(dim=1)
        return (bound - MARGIN).clamp_(min=0) * self._unit

    def num_bytes(self) -> int:
        """Bytes of what is kept per node."""
        return self._rows.numel() * self._rows.element_size()


class BoundScorer:
    """Scores that never overestimate: edge cost and bound of the rest.

    Args:
        bounds (LandmarkBounds): The bounds.
    """

    def __init__(self, bounds: LandmarkBounds) -> None:
        self.bounds = bounds

    def __call__(self, nodes: Tensor, goals: Tensor) -> Candidates:
        """All candidates of each node, scored for its goal."""
        adjacency = self.bounds.adjacency
        edge, row = adjacency.out_edges(nodes)
        rest = self.bounds(adjacency.dst[edge], goals[row])
        return Candidates(edge, row, adjacency.cost[edge].double() + rest)

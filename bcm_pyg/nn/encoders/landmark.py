from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import Linear, Parameter
from torch.nn.functional import silu
from torch_geometric.data import Data

from bcm_pyg.utils import Adjacency, check_int

from .base import NodeEncoder, node_ids
from .parts.landmark_distances import find_landmarks

#: The largest code of a distance, and that of an infinite one.
MOST, NO_ROUTE = 254, 255


class LandmarkEncoder(NodeEncoder):
    r"""Distances of a node to and from a few landmarks,

    .. math::
        \psi(x_n) = [\mathbf{l}_n ; \sigma(W \mathbf{l}_n + b)], \qquad
        \mathbf{l}_n = [d(\ell, n), d(n, \ell)]_{\ell = 1 \ldots L} .

    Differences of such distances bound the distance of two nodes from below
    (the triangle inequality). The network gets distances in units of their
    mean; a learned number replaces infinite ones.

    Distances are exact and then rounded to a byte: a code :math:`q` of a
    landmark with the unit :math:`u`, a 255th of its largest distance, stands
    for all distances from :math:`q u` to :math:`(q + 1) u` and is read as the
    middle. So :math:`(q_g - q_n - 1) u` is a lower bound still.

    Building it takes about :math:`2 L` exact searches. It stores :math:`2 L`
    bytes a node, or half of that if distances are the same in both directions,
    as a buffer that counts in :meth:`bcm_pyg.BCM.storage_bytes`. If costs
    change, build a new encoder. It works best with coordinates, as
    :obj:`"interaction+landmark"`.

    Args:
        num_nodes (int): Number of nodes.
        num_landmarks (int): :math:`L`.
        both_ways (bool, optional): Whether distances to and from a landmark
            are stored, or one for both. (default: :obj:`True`)
        channels (int, optional): Width of :math:`W`, may be 0. (default:
            :obj:`32`)

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, 2 L + C)`, or
          :math:`(|\mathcal{V}|, L + C)` with one distance for both
    """

    per_node = True
    needs_pos = False

    codes: Tensor
    units: Tensor

    def __init__(
        self,
        num_nodes: int,
        num_landmarks: int,
        both_ways: bool = True,
        channels: int = 32,
    ) -> None:
        super().__init__()
        check_int('num_nodes', num_nodes, 1)
        check_int('num_landmarks', num_landmarks, 1)
        check_int('channels', channels, 0)
        self.num_nodes = num_nodes
        self.num_landmarks = num_landmarks
        self.both_ways = both_ways
        self.channels = channels
        width = (2 if both_ways else 1) * num_landmarks
        self.out_channels = width + channels
        codes = torch.zeros(num_nodes, width, dtype=torch.uint8)
        self.register_buffer('codes', codes)
        self.register_buffer('units', torch.ones(width))
        self.no_way = Parameter(torch.empty(width))
        self.lin = Linear(width, channels) if channels > 0 else None
        self.reset_parameters()

    @classmethod
    def from_data(
        cls, data: Data, num_landmarks: int = 8, **kwargs: Any
    ) -> Self:
        """Picks landmarks of the graph and searches from them.

        Args:
            data (torch_geometric.data.Data): The canonical graph.
            num_landmarks (int, optional): The largest number of landmarks.
                (default: :obj:`8`)
            **kwargs (optional): Other constructor arguments.
        """
        check_int('num_landmarks', num_landmarks, 1)
        adjacency = Adjacency.from_data(data)
        nodes, outward, inward = find_landmarks(adjacency, num_landmarks)
        both_ways = not np.allclose(outward, inward, rtol=1e-6, atol=0)
        table = np.hstack([outward, inward] if both_ways else [outward])
        known = np.isfinite(table)
        mean = table[known].mean() or 1.0
        table = np.where(known, table, 0)
        most = table.max(axis=0)
        units = np.where(most > 0, most / (MOST + 1), 1.0)
        codes = np.where(known, np.minimum(table // units, MOST), NO_ROUTE)
        out = cls(len(outward), nodes.size, both_ways, **kwargs)
        out.codes.copy_(torch.from_numpy(codes))
        out.units.copy_(torch.from_numpy(units / mean))
        return out

    def reset_parameters(self) -> None:
        """Resets the projection."""
        torch.nn.init.zeros_(self.no_way)
        if self.lin is not None:
            self.lin.reset_parameters()

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`."""
        codes = self.codes[node_ids(data, self.num_nodes)]
        distance = (codes + 0.5) * self.units
        distance = torch.where(codes == NO_ROUTE, self.no_way, distance)
        if self.lin is None:
            return distance
        return torch.cat([distance, silu(self.lin(distance))], dim=1)

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        return {
            'num_nodes': self.num_nodes,
            'num_landmarks': self.num_landmarks,
            'both_ways': self.both_ways,
            'channels': self.channels,
        }

    def __repr__(self) -> str:
        settings = [f'{name}={value}' for name, value in self.config().items()]
        return f'{type(self).__name__}({", ".join(settings)})'

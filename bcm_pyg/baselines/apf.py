import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.graph.planning_graph import check_pos
from bcm_pyg.planning import BasePlanner, EdgeScores, Greedy, Plan, Readout
from bcm_pyg.planning.readouts import resolve_readout
from bcm_pyg.utils import check_float


class APF(BasePlanner):
    r"""The artificial potential field of `"Real-Time Obstacle Avoidance for
    Manipulators and Mobile Robots"
    <https://doi.org/10.1177/027836498600500106>`_,

    .. math::
        U(x; g) = \frac{k_a}{2} \| x - g \|^2 + \begin{cases} \frac{k_r}{2}
        \left( \frac{1}{\rho(x)} - \frac{1}{\rho_0} \right)^2 & \text{if }
        \rho(x) \leq \rho_0, \\ 0 & \text{otherwise,} \end{cases}

    where :math:`\rho(x)` is the straight-line distance from node :math:`x` to
    the nearest obstacle. Each step goes to the neighbour of least potential,
    the lowest index among equals, without memory: a second visit is a circle
    and a failure. Obstacles are the nodes that :obj:`data.blocked` marks, if it
    exists; the border is none.

    As in the paper, it uses "only geometric distance rather than edge costs".
    The paper gives no gains: the defaults are fitted to its success rates,
    which cannot tell :math:`k_r = 1` from 0.

    Args:
        data (torch_geometric.data.Data): The graph.
        attraction (float, optional): :math:`k_a`. (default: :obj:`1.0`)
        repulsion (float, optional): :math:`k_r`. (default: :obj:`1.0`)
        radius (float, optional): :math:`\rho_0`, in units of :obj:`pos`.
            (default: :obj:`2.0`)
        readout (Readout or str, optional): How to turn potentials into routes.
            (default: :class:`~bcm_pyg.planning.Greedy`)
    """

    def __init__(
        self,
        data: Data | SimplifiedGraph,
        *,
        attraction: float = 1.0,
        repulsion: float = 1.0,
        radius: float = 2.0,
        readout: Readout | str | None = None,
    ) -> None:
        check_float('attraction', attraction)
        check_float('repulsion', repulsion)
        check_float('radius', radius, positive=True)
        self.attraction = attraction
        self.repulsion = repulsion
        self.radius = radius
        self.readout = resolve_readout(readout or Greedy())
        super().__init__(data)
        check_pos(self.data, 'APF')
        self._pos = self.data.pos.double()
        self._repulsion = self._repulsive_potential(_obstacles(self.data))

    def potential(self, nodes: Tensor, goals: Tensor) -> Tensor:
        """Potential of each node for its goal, float64 :obj:`[B]`."""
        square: Tensor = (self._pos[nodes] - self._pos[goals]).square().sum(-1)
        return 0.5 * self.attraction * square + self._repulsion[nodes]

    def storage_bytes(self) -> int:
        """Nothing is stored besides the graph and its obstacles."""
        return 0

    def score(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """Potentials of the neighbours of each node, for its goal."""
        edge, source = self.adjacency.out_edges(nodes)
        potential = self.potential(self.adjacency.dst[edge], goals[source])
        return EdgeScores(edge, source, potential)

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        return self.readout(self.score, self.adjacency, starts, goals)

    def _repulsive_potential(self, blocked: Tensor) -> Tensor:
        out = torch.zeros_like(self._pos[:, 0])
        if self.repulsion == 0 or not bool(blocked.any()):
            return out
        pos = self._pos.cpu().numpy()
        from scipy.spatial import KDTree  # slow to import

        rho, _ = KDTree(pos[blocked.cpu().numpy()]).query(pos)
        # A node on an obstacle is very bad, not infinitely so.
        rho = np.clip(rho, 1e-9 * self.radius, self.radius)
        value = 0.5 * self.repulsion * (1 / rho - 1 / self.radius) ** 2
        return torch.from_numpy(value).to(out)

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(attraction={self.attraction}, '
            f'repulsion={self.repulsion}, radius={self.radius})'
        )


def _obstacles(data: Data) -> Tensor:
    blocked = data.get('blocked')
    if blocked is None:
        return torch.zeros(data.num_nodes, dtype=torch.bool)
    got = type(blocked).__name__
    if isinstance(blocked, Tensor):
        if blocked.dtype == torch.bool and blocked.shape == (data.num_nodes,):
            return blocked
        got = f'{blocked.dtype} of shape {tuple(blocked.shape)}'
    raise BCMError(
        f'blocked must be a bool tensor [{data.num_nodes}] (got {got})'
    )

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, EdgeScores, Greedy, Plan, Readout
from bcm_pyg.planning.readouts import resolve_readout
from bcm_pyg.typing import Ids
from bcm_pyg.utils import as_ids, check_choice, check_float, check_int

WEIGHTS = ('binary', 'inverse', 'rbf')

#: Nodes of the largest component that is solved densely.
MAX_DENSE = 4096
#: Largest table of modes.
MAX_TABLE_BYTES = 2**32
#: Bytes of potentials held at a time.
MAX_BYTES = 2**28
#: Modes with a smaller eigenvalue are constant on a component.
NULL_EIGENVALUE = 1e-6


class EigenAgent(BasePlanner):
    r"""Climbs a spectral potential of the graph Laplacian :math:`L = D - A`,

    .. math::
        \Phi(i; g) = \sum_{k : \lambda_k > 10^{-6}} \frac{u_k(i) \, u_k(g)}
        {\lambda_k + \epsilon} , \qquad L u_k = \lambda_k u_k ,

    moving to the neighbour of largest :math:`\Phi`, the lowest index among
    equals, without memory. (Ties depend on rounding, and so on threads and
    batches.) On an undirected graph with all modes, neighbours average above
    :math:`\Phi(i)` wherever :math:`i \neq g`: no node but the goal is a trap.

    The paper describes "a spectral potential that does not use edge costs",
    built "analytically from the binary graph Laplacian", and counts
    :math:`m = n - 2` modes for the :math:`n` nodes that have edges; the table
    has a row for all :math:`N`, 9.824 MB at :math:`N = 1600`. The rest is a
    reconstruction, since neither text nor code of the method is public:
    :math:`\Phi`, :obj:`epsilon` and :obj:`sigma` are fitted to the paper's
    tables, and no choice tried fits all of them.

    Weights are divided by their mean, so that :obj:`epsilon` means the same in
    all variants. On directed graphs :math:`A` is the mean of both directions,
    walks follow the edges, and there may be traps. Of all components together,
    the lowest eigenvalues are kept. They are computed densely in float64, in 25
    seconds at 3456 nodes; components of more than 4096 are refused.

    Args:
        data (torch_geometric.data.Data): The graph.
        weights (str, optional): :math:`A_{ij}` of an edge of cost :math:`c`:
            :obj:`"binary"` (1), :obj:`"inverse"` (:math:`1 / c`, a cost of 0
            counting as the smallest positive one) or :obj:`"rbf"`
            (:math:`\exp(-c^2 / 2 \sigma^2)`). (default: :obj:`"binary"`)
        epsilon (float, optional): 0 is the pseudo-inverse of :math:`L`.
            (default: :obj:`3e-3`)
        sigma (float, optional): Bandwidth of :obj:`"rbf"`. Edges much costlier
            than it all but vanish, and success with them. (default:
            :obj:`2.0`)
        modes (int, optional): How many modes to keep, smallest eigenvalues
            first. (default: :obj:`None`, that is :math:`n - 2`, and no less
            than 2)
        readout (Readout or str, optional): How to turn potentials into routes.
            (default: :class:`~bcm_pyg.planning.Greedy`)

    Attributes:
        eigenvalues: :obj:`[m]` float32, ascending.
        eigenvectors: :obj:`[N, m]` float32.
    """

    def __init__(
        self,
        data: Data | SimplifiedGraph,
        weights: str = 'binary',
        *,
        epsilon: float = 3e-3,
        sigma: float = 2.0,
        modes: int | None = None,
        readout: Readout | str | None = None,
    ) -> None:
        check_choice('weights', weights, WEIGHTS)
        check_float('epsilon', epsilon)
        check_float('sigma', sigma, positive=True)
        if modes is not None:
            check_int('modes', modes, 1)
        self.weights = weights
        self.epsilon = epsilon
        self.sigma = sigma
        self.readout = resolve_readout(readout or Greedy())
        super().__init__(data)
        # A table of potentials for each goal of a batch must fit.
        size = MAX_BYTES // (4 * self.adjacency.num_nodes)
        self.batch_size = min(max(1, size), 4096)
        self._potentials: tuple[Tensor, Tensor, float] | None = None
        components = self._components()
        most = sum(part.size for part in components)
        self.modes = max(most - 2, 2) if modes is None else int(modes)
        if self.modes > most:
            raise BCMError(
                f'modes must be at most {most}, the number of nodes with edges '
                f'(got {modes})'
            )
        if self.storage_bytes() > MAX_TABLE_BYTES:
            raise BCMError(
                f'a table of {self.modes} modes of {self.adjacency.num_nodes} '
                f'nodes needs {self.storage_bytes()} bytes: pass fewer modes'
            )
        values, vectors = self._spectrum(components)
        device = self.adjacency.device
        self.eigenvalues = torch.from_numpy(values).to(device)
        self.eigenvectors = torch.from_numpy(vectors).to(device)

    def potential(self, goals: Ids) -> Tensor:
        r""":math:`\Phi` of every node for each goal, :obj:`[G, N]`."""
        goal = as_ids(goals, self.adjacency.num_nodes, 'goals')
        gain = 1 / (self.eigenvalues + self.epsilon)
        gain = gain.masked_fill(self.eigenvalues <= NULL_EIGENVALUE, 0.0)
        modes = self.eigenvectors[goal.to(self.adjacency.device)]
        return (modes * gain) @ self.eigenvectors.T

    def storage_bytes(self) -> int:
        """Bytes of modes and eigenvalues, the paper's count."""
        return 4 * (self.adjacency.num_nodes + 1) * self.modes

    def score(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        r"""Minus :math:`\Phi` of the neighbours of each node, for its goal."""
        # Those of the last goals are kept; other threads may change them.
        kept = self._potentials
        is_known = kept is not None and kept[2] == self.epsilon
        if kept is None or not (is_known and torch.isin(goals, kept[0]).all()):
            unique = goals.unique()
            kept = unique, self.potential(unique), self.epsilon
            self._potentials = kept
        edge, source = self.adjacency.out_edges(nodes)
        row = torch.searchsorted(kept[0], goals)[source]
        return EdgeScores(edge, source, -kept[1][row, self.adjacency.dst[edge]])

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        return self.readout(self.score, self.adjacency, starts, goals)

    def _components(self) -> list[np.ndarray]:
        """The nodes of each component with edges."""
        label = self.reachability.weak.cpu().numpy()
        order = np.argsort(label, kind='stable')
        parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
        return [part for part in parts if part.size > 1]

    def _affinity(self) -> csr_array:
        """The symmetric matrix of weights, of mean 1 over the edges."""
        cost = self.adjacency.exact_cost
        if self.weights == 'binary':
            weight = torch.ones_like(cost)
        elif self.weights == 'inverse':
            weight = inverse_costs(cost)
        else:
            weight = (-((cost / self.sigma) ** 2) / 2).exp()
        mean = float(weight.mean())
        if mean == 0:
            raise BCMError(
                f'sigma = {self.sigma} is so small against the costs (at least '
                f'{float(cost.min()):g}) that all weights vanish: raise it'
            )
        out = self.adjacency.to_scipy()
        out.data = (weight / mean).cpu().numpy()
        return ((out + out.T) / 2).tocsr()

    def _spectrum(
        self, components: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        affinity = self._affinity()
        laplacian = (diags_array(affinity.sum(axis=1)) - affinity).tocsr()
        solved = []
        for part in components:
            if part.size > MAX_DENSE:
                raise BCMError(
                    f'a component of {part.size} nodes is too large for a '
                    f'dense solution (at most {MAX_DENSE})'
                )
            dense = laplacian[part][:, part].toarray()
            values, vectors = np.linalg.eigh(dense)
            solved.append((values[: self.modes], vectors[:, : self.modes]))
        values = np.concatenate([value for value, _ in solved])
        keep = np.argsort(values, kind='stable')[: self.modes]
        table = np.zeros((self.adjacency.num_nodes, self.modes), np.float32)
        first = 0
        for part, (value, vector) in zip(components, solved, strict=True):
            last = first + value.size
            column = np.flatnonzero((keep >= first) & (keep < last))
            table[np.ix_(part, column)] = vector[:, keep[column] - first]
            first = last
        return values[keep].astype(np.float32), table

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}({self.weights!r}, epsilon={self.epsilon}, '
            f'modes={self.modes})'
        )


def inverse_costs(cost: Tensor) -> Tensor:
    r"""One over each cost, float64 :obj:`[E]`.

    A cost of 0 counts as the smallest positive one, or 1 if there is none.
    """
    cost = cost.double()
    positive = cost[cost > 0]
    least = float(positive.min()) if positive.numel() else 1.0
    return 1 / cost.clamp(min=least)

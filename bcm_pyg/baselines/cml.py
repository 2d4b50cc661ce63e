from math import inf

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm.auto import tqdm

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, Plan
from bcm_pyg.utils import Adjacency, check_int, scatter_min

from .eigen import inverse_costs

#: Learning rates of states, actions and inverse model.
RATES = (0.1, 0.01, 0.01)
#: Bytes of utilities and memories held at a time.
MAX_BYTES = 2**28
#: Bytes of the largest states, actions and inverse models.
MAX_TABLE_BYTES = 2**32


class CML(BasePlanner):
    r"""The Cognitive Map Learner of `"Local Prediction-Learning in
    High-Dimensional Spaces Enables Neural Networks to Plan"
    <https://doi.org/10.1038/s41467-024-46586-0>`_.

    It learns, from random walks alone, states :math:`Q \in \mathbb{R}^{N
    \times d}`, actions :math:`V \in \mathbb{R}^{A \times d}` and an inverse
    model :math:`W \in \mathbb{R}^{A \times d}`, where an action is a directed
    edge. A walk :math:`(o_t, a_t, o_{t+1})_t` is one update, all of it computed
    from the values before:

    .. math::
        \delta_t &= Q_{o_{t+1}} - Q_{o_t} , \qquad
        \varepsilon_t = \delta_t - V_{a_t} , \\
        Q_{o_{t+1}} &\leftarrow Q_{o_{t+1}} - 0.1 \, \varepsilon_t , \qquad
        V_{a_t} \leftarrow V_{a_t} + 0.01 \, \varepsilon_t , \qquad
        W_{a_t} \leftarrow W_{a_t} + 0.01 \, \delta_t .

    Where an index comes twice in a walk, the last write to :math:`Q` and
    :math:`V` survives, while :math:`W` accumulates, as in the released code.

    At node :math:`i` the planner takes the outgoing action, among those not
    used before in this walk, of largest utility :math:`f_a W_a \cdot (Q_g -
    Q_i)`, if that is positive; else the one of largest :math:`f_a V_a \cdot
    (Q_g - Q_i)` among all outgoing ones, which may oscillate (the released code
    may jump to another node here). A walk fails after :math:`N` steps, or
    earlier where it provably goes in a circle. The affordance :math:`f_a` is 1,
    or :math:`1 / c_a` if :obj:`weighted`; costs play no part in learning.

    Rules, rates, :obj:`dim`, :obj:`length` and :obj:`epochs` are the authors';
    :math:`d (N + 2 A)` is the paper's 13.43M parameters at :math:`N = 1600`.
    The paper does not state its budget. With the default of :obj:`walks`, the
    squared error :math:`\lVert \varepsilon \rVert^2` is below a twentieth of
    :math:`\lVert \delta \rVert^2` there; larger graphs need more. Actions are
    in the order of the edges.

    Args:
        data (torch_geometric.data.Data): The graph. On a directed one, walks
            end early where no edge leads on.
        seed (int, optional): Seed of the initial values, the walks and their
            order. (default: :obj:`42`)
        walks (int, optional): Number of random walks, from nodes with
            out-edges. (default: :obj:`5000`)
        length (int, optional): Nodes of a walk. (default: :obj:`32`)
        epochs (int, optional): Times that each walk is learned from. (default:
            :obj:`10`)
        dim (int, optional): :math:`d`. (default: :obj:`1000`)
        weighted (bool, optional): Whether the planner weighs utilities by
            inverse costs. (default: :obj:`False`)
        progress (bool, optional): Whether to show a bar. (default:
            :obj:`False`)

    Attributes:
        Q: :obj:`[N, d]` float32 array, a row for every node, isolated or not.
        V: :obj:`[A, d]` float32 array.
        W: :obj:`[A, d]` float32 array.
    """

    def __init__(
        self,
        data: Data | SimplifiedGraph,
        seed: int = 42,
        *,
        walks: int = 5000,
        length: int = 32,
        epochs: int = 10,
        dim: int = 1000,
        weighted: bool = False,
        progress: bool = False,
    ) -> None:
        check_int('seed', seed, 0)
        check_int('walks', walks, 0)
        check_int('length', length, 2)
        check_int('epochs', epochs, 0)
        check_int('dim', dim, 1)
        self.seed = seed
        self.walks = walks
        self.length = length
        self.epochs = epochs
        self.dim = dim
        self.weighted = weighted
        super().__init__(data, torch.device('cpu'))
        rng = np.random.default_rng(seed)
        num_nodes = self.adjacency.num_nodes
        num_actions = self.adjacency.num_edges
        if (size := 4 * dim * (num_nodes + 2 * num_actions)) > MAX_TABLE_BYTES:
            raise BCMError(
                f'CML of dimension {dim} on {num_nodes} nodes and '
                f'{num_actions} edges needs {size} bytes, more than '
                f'{MAX_TABLE_BYTES}: pass a smaller dim'
            )
        size = MAX_BYTES // (17 * num_actions + num_nodes)
        self.batch_size = min(max(1, size), 4096)
        self.Q = rng.standard_normal((num_nodes, dim), dtype=np.float32)
        self.V = rng.standard_normal((num_actions, dim), dtype=np.float32)
        self.W = rng.standard_normal((num_actions, dim), dtype=np.float32)
        self.V *= np.float32(0.1)
        self.W *= np.float32(0.1)
        routes = random_walks(self.adjacency, walks, length, rng)
        with tqdm(total=epochs * walks, disable=not progress) as bar:
            for _ in range(epochs):
                for walk in rng.permutation(walks):
                    self.update(routes[walk])
                    bar.update()

    def update(self, actions: np.ndarray) -> None:
        """Learns from one walk, given as its actions :obj:`[T]`."""
        tail = self.adjacency.src.numpy()[actions]
        head = self.adjacency.dst.numpy()[actions]
        after = self.Q[head]
        delta = after - self.Q[tail]
        value = self.V[actions]
        error = delta - value
        rate_q, rate_v, rate_w = (np.float32(rate) for rate in RATES)
        # Of equal indices numpy keeps the last; index_add_ adds up all.
        self.Q[head] = after - rate_q * error
        self.V[actions] = value + rate_v * error
        torch.from_numpy(self.W).index_add_(
            0, torch.from_numpy(actions), torch.from_numpy(rate_w * delta)
        )

    def utilities(self, goals: Tensor) -> tuple[Tensor, Tensor]:
        """Utilities of actions for each goal, by W and by V, :obj:`[G, A]`."""
        state = torch.from_numpy(self.Q)
        leaving = state[self.adjacency.src]
        cost = self.adjacency.cost
        factor = inverse_costs(cost if self.weighted else torch.ones_like(cost))

        def utility(model: Tensor) -> Tensor:
            # model . (Q_g - Q_i), with the part of i computed once per action.
            there = (state[goals] @ model.T).double()
            here = torch.einsum('ad,ad->a', model, leaving).double()
            return there.sub_(here).mul_(factor)

        by_inverse = utility(torch.from_numpy(self.W))
        return by_inverse, utility(torch.from_numpy(self.V))

    def num_parameters(self) -> int:
        """Number of learned values, the paper's count."""
        return int(self.Q.size + self.V.size + self.W.size)

    def storage_bytes(self) -> int:
        """Bytes of the learned values."""
        return 4 * self.num_parameters()

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        adjacency, num_queries = self.adjacency, starts.numel()
        unique, goal_row = goals.unique(return_inverse=True)
        by_inverse, by_action = self.utilities(unique)
        used = torch.zeros(num_queries, adjacency.num_edges, dtype=torch.bool)
        seen = torch.zeros(num_queries, adjacency.num_nodes, dtype=torch.bool)
        success = starts == goals
        cost = torch.zeros(num_queries, dtype=torch.float64)
        expansions = torch.zeros_like(starts)
        stale = torch.zeros_like(starts)  # steps since a new action was used
        steps: list[tuple[Tensor, Tensor]] = []

        query = (~success).nonzero().squeeze(1)  # those still under way
        node = starts[query]
        for _ in range(adjacency.num_nodes):
            if query.numel() == 0:
                break
            expansions[query] += ~seen[query, node]
            seen[query, node] = True
            edge, row = adjacency.out_edges(node)
            at = goal_row[query][row], edge
            again = used[query[row], edge]
            new = (-by_inverse[at]).masked_fill(
                again | (by_inverse[at] <= 0), inf
            )
            best, first = scatter_min(new, row, dim_size=query.numel())
            _, second = scatter_min(-by_action[at], row, dim_size=query.numel())
            chosen = torch.where(best < inf, first, second)
            moved = chosen >= 0  # False at a dead end
            chosen, query = chosen[moved], query[moved]
            edge, again = edge[chosen], again[chosen]
            used[query, edge] = True
            node = adjacency.dst[edge]
            cost[query] += adjacency.exact_cost[edge]
            steps.append((query, node))
            arrived = node == goals[query]
            success[query] = arrived
            # A walk of more old actions than nodes goes in a circle.
            stale[query] = torch.where(again, stale[query] + 1, 0)
            on = ~arrived & (stale[query] <= expansions[query])
            query, node = query[on], node[on]

        return Plan.from_steps(
            starts, steps, success=success, cost=cost, expansions=expansions
        )

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(walks={self.walks}, length={self.length}, '
            f'epochs={self.epochs}, dim={self.dim}, weighted={self.weighted})'
        )


def random_walks(
    adjacency: Adjacency, num: int, length: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Actions of random walks over :obj:`length` nodes, or to a dead end."""
    begin = adjacency.rowptr.numpy()
    degree = adjacency.degree().numpy()
    head = adjacency.dst.numpy()
    node = rng.choice(np.flatnonzero(degree), size=num)
    actions = np.full((num, length - 1), -1)
    for step in range(length - 1):
        on = np.flatnonzero(degree[node])  # the others stand at a dead end
        action = begin[node[on]] + rng.integers(degree[node[on]])
        actions[on, step] = action
        node[on] = head[action]
    return [walk[walk >= 0] for walk in actions]

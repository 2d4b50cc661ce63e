import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.utils import Adjacency, check_int


def sample_queries(
    data: Data, num: int, seed: int = 42
) -> tuple[Tensor, Tensor]:
    r"""Draws start and goal nodes that can reach each other.

    Pairs are uniform over the ordered pairs of distinct nodes of one strongly
    connected component, without repetition while there are enough. They depend
    on the edges and the seed, not on costs.

    Args:
        data (torch_geometric.data.Data): The graph.
        num (int): Number of pairs.
        seed (int, optional): Seed of the draw. (default: :obj:`42`)

    Returns:
        The starts :obj:`[num]` and the goals :obj:`[num]`.
    """
    return sample_pairs(Adjacency.from_data(planning_graph(data)), num, seed)


def sample_pairs(
    adjacency: Adjacency, num: int, seed: int = 42
) -> tuple[Tensor, Tensor]:
    """The same of the edges of a graph."""
    check_int('num', num, 0)
    label = adjacency.reachability.strong.cpu().numpy()

    nodes = np.argsort(label, kind='stable')  # component by component
    sizes = np.bincount(label)
    pairs = sizes * (sizes - 1)
    total = int(pairs.sum())
    if total == 0:
        raise BCMError(
            'no two nodes can reach each other in both directions (edges are '
            'directed; an undirected graph holds both directions)'
        )
    rng = generator(seed)
    pick = rng.choice(total, size=int(num), replace=int(num) > total)

    last = np.cumsum(pairs)
    component = np.searchsorted(last, pick, side='right')
    rank = pick - (last - pairs)[component]
    others = sizes[component] - 1
    start, goal = rank // others, rank % others
    goal += goal >= start  # skips the start itself
    first = (np.cumsum(sizes) - sizes)[component]
    ends = np.stack([nodes[first + start], nodes[first + goal]])
    starts, goals = torch.from_numpy(ends).long().to(adjacency.device)
    return starts, goals


def generator(seed: int) -> np.random.Generator:
    """A fresh generator of this seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise BCMError(
            f'seed must be an int and not negative (got {seed!r})'
        ) from None

"""Where methods without a plan B go, also where they fail.

A :class:`~bcm_pyg.Plan` holds no route for a query that failed. A picture of
why it failed needs the walk: these follow one query step by step, with the
choices of the planners of the same name.
"""

from __future__ import annotations

import torch

from bcm_pyg.baselines import APF, CML
from bcm_pyg.utils import Adjacency


def apf_walk(planner: APF, start: int, goal: int) -> list[int]:
    """Downhill, until the goal or the second visit of a node."""
    walk = [start]
    while walk[-1] != goal and len(set(walk)) == len(walk):
        heads = _heads(planner.adjacency, walk[-1])[1]
        goals = torch.full_like(heads, goal)
        walk.append(int(heads[planner.potential(heads, goals).argmin()]))
    return walk


def cml_walk(planner: CML, start: int, goal: int) -> list[int]:
    """By W among unused actions, else by V among all, for N steps at most."""
    by_inverse, by_action = planner.utilities(torch.tensor([goal]))
    used = torch.zeros(planner.adjacency.num_edges, dtype=torch.bool)
    walk = [start]
    while walk[-1] != goal and len(walk) <= planner.adjacency.num_nodes:
        edges, heads = _heads(planner.adjacency, walk[-1])
        unused = by_inverse[0, edges].masked_fill(used[edges], 0.0)
        best = unused.argmax()
        if unused[best] <= 0:
            best = by_action[0, edges].argmax()
        used[edges[best]] = True
        walk.append(int(heads[best]))
    return walk


def _heads(
    adjacency: Adjacency, node: int
) -> tuple[torch.Tensor, torch.Tensor]:
    edges, _ = adjacency.out_edges(torch.tensor([node]))
    return edges, adjacency.dst[edges]

"""Where a training step goes, and how near it is to bare matrix products."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bcm_pyg import BCM, FitConfig, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training.fit import resolve_config
from bcm_pyg.training.loss import block_loss
from bcm_pyg.training.optimizer import make_optimizer
from bcm_pyg.training.sampling import PairSampler
from bcm_pyg.training.targets import Block, make_targets
from bcm_pyg.utils import Adjacency, Reachability


def profile_step(side: int, steps: int = 160) -> dict[str, Any]:
    """Milliseconds of wall time a step, by part, on the wide U-shape.

    The bare products are run between the steps, so that both see the same
    machine.
    """
    torch.manual_seed(0)
    data = planning_graph(weighted_grid('ushape', side, 'wide', 42))
    adjacency = Adjacency.from_data(data)
    config = resolve_config(FitConfig(steps=steps), adjacency)
    model = BCM.from_data(data)
    generator = torch.Generator().manual_seed(0)
    sampler = PairSampler(adjacency, Reachability(adjacency), generator)
    targets = make_targets(model, data, adjacency, sampler, config)
    optimizer = make_optimizer(model, config)

    spent = dict.fromkeys(('targets', 'forward', 'backward', 'optimizer'), 0.0)
    bare = 0.0
    products = _products(model, adjacency, targets.block(0))
    for step in range(1, steps + 1):
        clock = _Clock(spent)
        block = targets.block(step)
        clock('targets')
        optimizer.zero_grad()
        loss = block_loss(model, data, adjacency, block, config)
        clock('forward')
        loss.backward()
        clock('backward')
        optimizer.step()
        clock('optimizer')
        began = time.perf_counter()
        for product in products:
            product()
        bare += time.perf_counter() - began

    total = sum(spent.values())
    row: dict[str, Any] = {'side': side, 'steps': steps}
    row['pairs_per_step'] = config.sources * config.goals
    for name, seconds in spent.items():
        row[f'{name}_ms'] = round(1e3 * seconds / steps, 3)
        row[f'{name}_share'] = round(seconds / total, 3)
    row['bare_products_ms'] = round(1e3 * bare / steps, 3)
    network = spent['forward'] + spent['backward']
    row['bare_products_over_network'] = round(bare / network, 3)
    return row


class _Clock:
    def __init__(self, spent: dict[str, float]) -> None:
        self.spent = spent
        self.last = time.perf_counter()

    def __call__(self, name: str) -> None:
        now = time.perf_counter()
        self.spent[name] += now - self.last
        self.last = now


def _products(
    model: BCM, adjacency: Adjacency, block: Block
) -> list[Callable[[], Tensor]]:
    """The matrix products of forward and backward, alone."""
    sources, goals = block.sources.numel(), block.goals.numel()
    edges = block.edge.numel()
    width = int(torch.bincount(block.row).max())
    hidden = model.transition.hidden_channels
    codes = model.transition.in_channels
    out: list[Callable[[], Tensor]] = []
    # First layer once per node; second and third for edges and pairs. Each
    # has one product forward and two backward (the first layer of a table has
    # both too: the tables are trained).
    shapes = [(sources + edges + goals, codes, hidden)]
    shapes += 2 * [(edges + sources * goals, hidden, hidden)]
    for rows, inner, outer in shapes:
        x, w = torch.randn(rows, inner), torch.randn(outer, inner)
        y = torch.randn(rows, outer)
        out += [
            lambda x=x, w=w: x @ w.T,
            lambda y=y, w=w: y @ w,
            lambda x=x, y=y: y.T @ x,
        ]
    a = torch.randn(sources, width, hidden)
    b = torch.randn(sources, goals, hidden)
    c = torch.randn(sources, width, goals)
    out += [
        lambda: torch.bmm(a, b.transpose(1, 2)),
        lambda: torch.bmm(c, b),
        lambda: torch.bmm(c.transpose(1, 2), a),
    ]
    return out

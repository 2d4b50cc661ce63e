"""Where a training step goes, and how near it is to bare matrix products."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bcm_pyg import BCM, FitConfig, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training.graph_defaults import resolve_config
from bcm_pyg.training.loss import block_loss
from bcm_pyg.training.optimizer import make_optimizer
from bcm_pyg.training.sampling import PairSampler
from bcm_pyg.training.targets import Block, make_targets
from bcm_pyg.training.trainer import MAX_GRAD_NORM
from bcm_pyg.utils import Adjacency


class _Run:
    """What a step of training needs, on the wide U-shape."""

    def __init__(self, side: int, steps: int) -> None:
        torch.manual_seed(0)
        self.data = planning_graph(weighted_grid('ushape', side, 'wide', 42))
        self.adjacency = Adjacency.from_data(self.data)
        self.config = resolve_config(FitConfig(steps=steps), self.adjacency)
        self.model = BCM.from_data(self.data)
        generator = torch.Generator().manual_seed(0)
        sampler = PairSampler(
            self.adjacency, self.adjacency.reachability, generator
        )
        self.targets = make_targets(
            self.model, self.data, self.adjacency, sampler, self.config
        )

    def loss(self, block: Block) -> Tensor:
        """The loss of a block."""
        return block_loss(
            self.model, self.data, self.adjacency, block, self.config
        )


def profile_step(side: int, steps: int = 160) -> dict[str, Any]:
    """Milliseconds of wall time a step, by part.

    The bare products are run between the steps, so that both see the same
    machine. Times are medians over steps, but means where steps differ: few
    renew targets or turn a basis of the optimiser.
    """
    run = _Run(side, steps)
    targets, config = run.targets, run.config
    optimizer = make_optimizer(run.model, config)

    clock = _Clock()
    products = _products(run.model, targets.block(0))
    for step in range(1, steps + 1):
        clock.start()
        block = targets.block(step)
        clock('targets')
        optimizer.zero_grad()
        loss = run.loss(block)
        clock('forward')
        loss.backward()
        clock('backward')
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), MAX_GRAD_NORM)
        optimizer.step()
        clock('optimizer')
        for product in products:
            product()
        clock('bare_products')

    spent = {
        'targets': clock.mean('targets'),
        'forward': clock.median('forward'),
        'backward': clock.median('backward'),
        'optimizer': clock.mean('optimizer'),
    }
    total = sum(spent.values())
    row: dict[str, Any] = {'side': side, 'steps': steps}
    row['pairs_per_step'] = config.sources * config.goals
    for name, seconds in spent.items():
        row[f'{name}_ms'] = round(1e3 * seconds, 3)
        row[f'{name}_share'] = round(seconds / total, 3)
    bare = clock.median('bare_products')
    row['bare_products_ms'] = round(1e3 * bare, 3)
    network = spent['forward'] + spent['backward']
    row['bare_products_over_network'] = round(bare / network, 3)
    return row


def profile_compiled(side: int, steps: int = 160) -> dict[str, Any]:
    """Forward and backward with and without ``torch.compile``, in turns."""
    run = _Run(side, steps)
    compiled = torch.compile(run.loss, dynamic=True)
    began = time.perf_counter()
    for step in range(10):  # the first blocks of other sizes compile again
        compiled(run.targets.block(step)).backward()
    compiling = time.perf_counter() - began
    clock = _Clock()
    for step in range(steps):
        block = run.targets.block(step)
        clock.start()
        run.loss(block).backward()
        clock('plain')
        compiled(block).backward()
        clock('compiled')
    return {
        'side': side,
        'steps': steps,
        'compile_seconds': round(compiling, 1),
        'plain_ms': round(1e3 * clock.median('plain'), 3),
        'compiled_ms': round(1e3 * clock.median('compiled'), 3),
    }


class _Clock:
    """Times of the parts of many steps."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.start()

    def start(self) -> None:
        """From here on counts."""
        self.last = time.perf_counter()

    def __call__(self, name: str) -> None:
        """What came since the last call was this part."""
        now = time.perf_counter()
        self.times.setdefault(name, []).append(now - self.last)
        self.last = now

    def median(self, name: str) -> float:
        """Seconds of a part in an ordinary step."""
        return statistics.median(self.times[name])

    def mean(self, name: str) -> float:
        """Seconds of a part over all steps."""
        return statistics.mean(self.times[name])


def _products(model: BCM, block: Block) -> list[Callable[[], Tensor]]:
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

"""How fast maps are trained.

``--step``     where a training step goes, and how near it is to bare products
``--compile``  whether torch.compile makes a step faster

Run it alone on the machine. Watches :func:`~bcm_pyg.fit` from outside, by what
it calls of torch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from benchmarks.lib.flags import part_flags, run_parts

FLAGS = part_flags(__doc__, 'step', 'compile')
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch_geometric.data import Data

from bcm_pyg import BCM, fit
from bcm_pyg.utils import Adjacency
from benchmarks.lib.graphs import Grid
from benchmarks.lib.results import Row, results_for
from benchmarks.lib.trained_maps import fit_config

#: Sources and goals of a step.
SOURCES = GOALS = 32
#: Steps that are watched.
STEPS = 160


class Clock:
    """Times of the parts of many steps."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.last = time.perf_counter()

    def __call__(self, name: str) -> None:
        """What came since the last call was this part."""
        now = time.perf_counter()
        self.times.setdefault(name, []).append(now - self.last)
        self.last = time.perf_counter()

    def median(self, name: str) -> float:
        """Seconds of a part in an ordinary step."""
        return statistics.median(self.times[name])

    def mean(self, name: str) -> float:
        """Seconds of a part over all steps."""
        return statistics.mean(self.times[name])


@contextmanager
def watched(clock: Clock, after: Callable[[], Any]) -> Iterator[None]:
    """Tells the clock when a step of training goes from part to part.

    Targets are made before gradients are set to zero. Clipping counts with the
    optimiser. :obj:`after` is called after each step.
    """
    zero_grad, backward = Optimizer.zero_grad, Tensor.backward

    def zeroed(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        clock('targets')
        zero_grad(self, *args, **kwargs)

    def propagated(self: Tensor, *args: Any, **kwargs: Any) -> None:
        clock('forward')
        backward(self, *args, **kwargs)
        clock('backward')

    def stepped(*_: Any) -> None:
        clock('optimizer')
        after()
        clock('after')

    hook = register_optimizer_step_post_hook(stepped)
    try:
        with (
            mock.patch.object(Optimizer, 'zero_grad', zeroed),
            mock.patch.object(Tensor, 'backward', propagated),
        ):
            yield
    finally:
        hook.remove()


def profile_step(side: int, steps: int = STEPS) -> Row:
    """Milliseconds of wall time a step, by part.

    The bare products are run between the steps, so that both see the same
    machine. Times are medians over steps, but means where steps differ: few
    refresh targets or turn a basis of the optimiser.
    """
    data = Grid('ushape', side, 'wide', 42).data()
    torch.manual_seed(0)
    model = BCM.from_data(data)
    products = bare_products(model, data)
    clock = Clock()
    with watched(clock, lambda: [product() for product in products]):
        fit(model, data, step_config(steps))
    spent = {
        'targets': clock.mean('targets'),
        'forward': clock.median('forward'),
        'backward': clock.median('backward'),
        'optimizer': clock.mean('optimizer'),
    }
    total = sum(spent.values())
    row: Row = {'side': side, 'steps': steps}
    row['pairs_per_step'] = SOURCES * GOALS
    for name, seconds in spent.items():
        row[f'{name}_ms'] = round(1e3 * seconds, 3)
        row[f'{name}_share'] = round(seconds / total, 3)
    bare = clock.median('after')
    row['bare_products_ms'] = round(1e3 * bare, 3)
    network = spent['forward'] + spent['backward']
    row['bare_products_over_network'] = round(bare / network, 3)
    return row


def step_config(steps: int) -> Any:
    """So many steps, and nothing beside them."""
    return fit_config(
        steps=steps, sources=SOURCES, goals=GOALS, validation_queries=0
    )


def profile_compiled(side: int, steps: int = STEPS) -> Row:
    """Forward and backward with and without ``torch.compile``."""
    data = Grid('ushape', side, 'wide', 42).data()
    torch.manual_seed(0)
    plain, compiled = BCM.from_data(data), BCM.from_data(data)
    calls: list[Any] = []
    with plain.register_forward_pre_hook(lambda *call: calls.append(call)):
        fit(plain, data, step_config(1))
    if not calls:
        raise SystemExit('fit does not call the map: nothing to compile')
    compiled.compile(dynamic=True)
    began = time.perf_counter()
    fit(compiled, data, step_config(10))  # blocks of other sizes compile again
    row: Row = {
        'side': side,
        'steps': steps,
        'compile_seconds': round(time.perf_counter() - began, 1),
    }
    for name, model in (('plain', plain), ('compiled', compiled)):
        clock = Clock()
        with watched(clock, lambda: None):
            fit(model, data, step_config(steps))
        network = clock.median('forward') + clock.median('backward')
        row[f'{name}_ms'] = round(1e3 * network, 3)
    return row


def bare_products(model: BCM, data: Data) -> list[Callable[[], Tensor]]:
    """The matrix products of forward and backward, alone."""
    degree = Adjacency.from_data(data).degree()
    degree = degree[degree > 0]
    sources, goals = SOURCES, GOALS
    edges = round(sources * float(degree.float().mean()))
    width = int(degree.max())
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


def run_step(args: Any) -> None:
    sides = (10,) if args.quick else (20, 40, 60)
    run_sides(profile_step, 'training_profile', sides, args)


def run_compile(args: Any) -> None:
    sides = (10,) if args.quick else (20, 40)
    run_sides(profile_compiled, 'training_compile', sides, args)


def run_sides(
    profile: Callable[[int, int], Row],
    name: str,
    sides: Sequence[int],
    args: Any,
) -> None:
    results = results_for(name, args.quick)
    for side in sides:
        key = {'side': side, 'profiled_threads': torch.get_num_threads()}
        if results.find(**key):
            continue
        row = profile(side, 10 if args.quick else STEPS) | key
        for field, value in row.items():
            print(f'{field:40} {value}')
        results.add(row)


def main(given: Sequence[str] | None = None) -> None:
    run_parts(FLAGS, given, step=run_step, compile=run_compile)


if __name__ == '__main__':
    main()

"""What each of two processes does in test_distributed.py, run as a script."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import (
    BCM,
    BCMError,
    FitConfig,
    History,
    Plan,
    Planner,
    fit,
    planning_graph,
)
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.nn import Transition, encoder_resolver
from bcm_pyg.planning import plan_distributed
from bcm_pyg.training import ExactTargets, SweepTargets, blocks
from bcm_pyg.training import checkpoint as checkpoints

POOL = {'goal_pool': 9, 'refresh': 5, 'refresh_every': 3}
TINY = FitConfig(
    steps=20,
    sources=8,
    goals=6,
    targets=SweepTargets(**POOL, bootstrap_nodes=10),
    validation_queries=0,
    validations=1,
)

#: Graph and configuration of runs that one process and two must agree on.
RUNS: dict[str, tuple[str, FitConfig]] = {
    'default': (
        'grid',
        FitConfig(
            steps=20,
            targets=SweepTargets(bootstrap_nodes=10),
            validations=1,
            validation_queries=8,
        ),
    ),
    'sweeps': ('grid', replace(TINY, optimizer='adam')),
    'paper': ('grid', replace(TINY, targets='paper', optimizer='adam')),
    'exact': (
        'grid',
        replace(TINY, targets=ExactTargets(**POOL), optimizer='adam'),
    ),
    'uneven shares': ('islands', replace(TINY, goals=5, optimizer='adam')),
    'an idle process': ('islands', replace(TINY, goals=1, optimizer='adam')),
    'directed, paper': (
        'islands',
        replace(TINY, targets='paper', optimizer='adam'),
    ),
}
KILLED = replace(TINY, steps=40, optimizer='adam')
KILLED_AT = 25


def graph(name: str) -> Data:
    """A grid, or a directed graph of several parts with sinks."""
    if name == 'grid':
        return weighted_grid('ushape', side=10, seed=3)
    generator = torch.Generator().manual_seed(3)
    edges = torch.randint(24, (2, 30), generator=generator)
    return planning_graph(
        Data(
            pos=torch.rand(24, 2, generator=generator),
            edge_index=edges,
            edge_cost=torch.rand(30, generator=generator),
        )
    )


def make_map(data: Data, small: bool, seed: int = 0) -> BCM:
    torch.manual_seed(seed)
    if not small:
        return BCM.from_data(data)
    module = encoder_resolver('interaction', data)
    return BCM(module, Transition(module.out_channels, 32, 32))


def run(
    name: str, seed: int = 0, distributed: bool | None = None
) -> tuple[BCM, History]:
    data = graph(RUNS[name][0])
    model = make_map(data, small=name != 'default', seed=seed)
    history = fit(model, data, RUNS[name][1], distributed=distributed)
    return model, history


def outcome(model: BCM, history: History) -> dict[str, Any]:
    return {
        'weights': model.state_dict(),
        'loss': history.loss,
        'gap': history.gap,
        'steps': history.steps,
        'interrupted': history.interrupted,
    }


def queries() -> dict[str, tuple[Any, Any]]:
    starts, goals = sample_queries(graph('grid'), 101, seed=4)
    return {
        'many': (starts, goals),
        'one': (starts[:1], goals[:1]),
        'none': ([], []),
        'to one goal': (starts.tolist(), int(goals[0])),
        'blocked': ([0, 0, int(starts[0])], [0, 99, int(starts[0])]),
    }


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except BCMError as error:
        return str(error)
    return 'no error'


def plans(rank: int) -> dict[str, Any]:
    data = graph('grid')
    planner = Planner(run('sweeps', distributed=False)[0], data)

    def broken(starts: Tensor, goals: Tensor) -> Plan:
        if rank == 1:
            raise BCMError('mine')
        return planner(starts, goals)

    out: dict[str, Any] = {
        name: vars(plan_distributed(planner, *query))
        for name, query in queries().items()
    }
    many = queries()['many']
    out['Dijkstra'] = vars(plan_distributed(Dijkstra(data), *many))
    out['broken'] = refusal(lambda: plan_distributed(broken, *many))
    out['bad'] = refusal(lambda: plan_distributed(planner, [5, 1, 2], [5, 1]))
    out['no node'] = refusal(lambda: plan_distributed(planner, [5, 999], 1))
    return out


def interrupted_run() -> dict[str, Any]:
    """Ctrl-C reaches process 0 at its first validation."""
    data = graph('grid')
    model = make_map(data, small=True)

    def callback(step: int, metrics: dict[str, float]) -> None:
        if step < 20:
            os.kill(os.getpid(), signal.SIGINT)

    return outcome(model, fit(model, data, TINY, callback=callback))


def stopped_run() -> dict[str, Any]:
    """The callback of process 0 stops the run; then all go on together."""
    data = graph('grid')
    model = make_map(data, small=True)

    def callback(step: int, metrics: dict[str, float]) -> None:
        raise KeyboardInterrupt

    out = outcome(model, fit(model, data, TINY, callback=callback))
    plan_distributed(Planner(model, data), *queries()['many'])
    return out


def killed_run(rank: int, checkpoint: Path) -> None:
    """Process 1 is gone in the middle of a step."""
    checkpoints.CHECKPOINT_EVERY = 0.0
    original = blocks.PooledBlocks.block

    def block(self: blocks.PooledBlocks, step: int) -> blocks.Block:
        if rank == 1 and step == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, step)

    blocks.PooledBlocks.block = block  # type: ignore[method-assign]
    data = graph('grid')
    fit(make_map(data, small=True), data, KILLED, checkpoint=checkpoint)


def main(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        'gloo',
        init_method=f'file://{folder / "store"}',
        rank=rank,
        world_size=2,
        timeout=timedelta(seconds=60),
    )
    # Other weights at first: those of process 0 count.
    out: dict[str, Any] = {
        name: outcome(*run(name, seed=rank)) for name in RUNS
    }
    out['alone'] = outcome(*run('sweeps', distributed=False))
    data = graph('grid')
    model = make_map(data, small=True)
    timed = replace(TINY, steps=None, time_budget=0.4)
    out['timed'] = outcome(model, fit(model, data, timed))
    other = replace(TINY, steps=20 + rank)
    out['refused'] = refusal(lambda: fit(model, data, other))
    out['plans'] = plans(rank)
    out['interrupted'] = interrupted_run()
    out['stopped'] = stopped_run()
    shared = folder / 'shared.checkpoint'  # which process 0 alone can see
    mine = shared if rank == 0 else folder / 'not there' / 'at all'
    for _ in range(2):  # made, then found finished
        resumed = make_map(data, small=True, seed=rank)
        out['resumed'] = outcome(
            resumed, fit(resumed, data, RUNS['sweeps'][1], checkpoint=mine)
        )
    damaged = folder / 'damaged.checkpoint'
    if rank == 0:
        damaged.write_bytes(shared.read_bytes()[:-9])
    out['damaged'] = refusal(
        lambda: fit(resumed, data, TINY, checkpoint=damaged)
    )
    torch.save(out, folder / f'{rank}.pt')
    killed_run(rank, folder / 'killed.checkpoint')


if __name__ == '__main__':
    main(int(sys.argv[1]), Path(sys.argv[2]))

"""Compiled readouts on extreme graphs, in many threads and processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from helpers import ALL_READOUTS, tiny_map
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import Plan, Planner, planning_graph
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import Corridor, EdgeScores, VisitedGreedy
from bcm_pyg.utils import Adjacency

from .disks import mounted
from .queries import random_graph, wrong

THREADS = 4
#: Seconds until another process counts as hanging.
PATIENCE = 300


def of_degrees(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """A hub of degree 10,000 among nodes of degree 0."""
    hub, size = 10_000, 10_100
    data = _random_costs(rng, [star(hub), _random_edges(rng, hub, 400)], size)
    readout = ALL_READOUTS[rng.integers(len(ALL_READOUTS))]
    planner = Planner(tiny_map(data), data, readout, complete=True)
    starts = torch.from_numpy(rng.integers(0, size, 48))
    goals = torch.from_numpy(rng.integers(0, size, 48))
    starts[:3], goals[2:6] = 0, 0
    return _checked(planner, data, starts, goals)


def of_scores(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Scores that are NaN, infinite or negative: routes stay routes."""
    data = random_graph(rng)
    readout = ALL_READOUTS[rng.integers(len(ALL_READOUTS))]
    adjacency = Adjacency.from_data(data)
    odd = [float('nan'), float('inf'), -float('inf'), -1.0, 1e38]
    values = torch.from_numpy(rng.choice(odd, int(data.num_edges))).float()
    some = torch.from_numpy(rng.random(int(data.num_edges)) < rng.random())
    values = values.where(some, torch.ones(()))

    def score(nodes: Tensor, goals: Tensor) -> EdgeScores:
        edge, source = adjacency.out_edges(nodes)
        return EdgeScores(edge, source, values[edge])

    planner = Planner(score, data, readout, complete=True)
    pairs = torch.from_numpy(rng.integers(0, data.num_nodes, (2, 40)))
    return _checked(planner, data, *pairs)


def of_size(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """A million nodes: a grid, a line, a star, or edges at random."""
    size, kind = 10**6, int(rng.integers(4))
    if kind == 0:
        data = weighted_grid('open', side=1000, seed=int(rng.integers(99)))
    else:
        edges = [
            torch.stack([torch.arange(size - 1), torch.arange(1, size)]),
            star(size - 1),
            _random_edges(rng, size - 1, 2 * size),
        ][kind - 1]
        data = _random_costs(rng, [edges], size)
    readout = [VisitedGreedy(), Corridor()][rng.integers(2)]
    planner = Planner(tiny_map(data), data, readout, complete=True)
    starts = torch.from_numpy(rng.integers(0, size, 4))
    goals = torch.from_numpy(rng.integers(0, size, 4))
    goals[:2] = (starts[:2] + 1) % size  # near, and far
    return _checked(planner, data, starts, goals)


def star(leaves: int) -> Tensor:
    leaf = torch.arange(1, leaves + 1)
    return torch.stack([torch.zeros_like(leaf), leaf])


def _random_edges(rng: np.random.Generator, size: int, number: int) -> Tensor:
    return torch.from_numpy(rng.integers(0, size, (2, number)))


def _random_costs(
    rng: np.random.Generator, edges: list[Tensor], size: int
) -> Data:
    """A graph of these edges, both ways; nodes without any stay."""
    ends = torch.cat([*edges, *(edge.flip(0) for edge in edges)], 1)
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    return planning_graph(
        Data(
            pos=torch.rand(size, 2, generator=generator),
            edge_index=ends,
            edge_cost=torch.rand(ends.size(1), generator=generator),
            num_nodes=size,
        )
    )


def _checked(
    planner: Planner, data: Data, starts: Tensor, goals: Tensor
) -> tuple[int, list[str]]:
    """The routes of some queries, compared with scipy."""
    graph = Adjacency.from_data(data).to_scipy()
    best = [
        dijkstra(graph, indices=start)[goal]
        for start, goal in zip(starts.tolist(), goals.tolist(), strict=True)
    ]
    exact = torch.tensor(best, dtype=torch.float64)
    what = f'{planner} on {data}'
    try:
        plan = planner(starts, goals)
    except Exception as error:
        return 0, [f'{what}: {type(error).__name__}: {error!s:.200}']
    reasons = wrong(plan, data, starts, goals, exact, True, None)
    return len(plan), [f'{what}: {reason}' for reason in reasons]


# --- threads and processes ----------------------------------------------------


def of_threads(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """One planner in threads, in a copy of the process, interrupted."""
    data = random_graph(rng)
    readout = ALL_READOUTS[rng.integers(len(ALL_READOUTS))]
    planner = Planner(tiny_map(data), data, readout)
    queries = torch.from_numpy(rng.integers(0, data.num_nodes, (2, 200)))
    wanted = _answer(planner, queries)
    ways: list[Callable[[], list[object]]] = [
        partial(_in_threads, planner, queries),
        partial(_in_a_copy, planner, queries),
        partial(_interrupted, planner, queries, rng.uniform(0, 0.02)),
    ]
    way = ways[rng.integers(len(ways))]
    found = way()
    same = all(one == wanted for one in found)
    return len(found), [] if same else [f'{way} answers something else']


def _answer(planner: Planner, queries: Tensor) -> object:
    plan: Plan = planner(*queries)
    return plan.cost.tolist(), plan.nodes.tolist(), plan.expansions.tolist()


def _in_threads(planner: Planner, queries: Tensor) -> list[object]:
    ready = threading.Barrier(THREADS, timeout=60)

    def work(_: int) -> object:
        ready.wait()
        return _answer(planner, queries)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, range(THREADS)))


def _in_a_copy(planner: Planner, queries: Tensor) -> list[object]:
    context = multiprocessing.get_context('fork')
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        asked = pool.submit(_answer, planner, queries)
        return [asked.result(timeout=PATIENCE), _answer(planner, queries)]


class Stopped(BaseException):
    """What Ctrl-C raises here."""


def _interrupted(
    planner: Planner, queries: Tensor, seconds: float
) -> list[object]:
    """Ctrl-C during a batch; then the planner is asked again."""

    def stop(*args: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGINT, stop)
    try:
        bell = partial(os.kill, os.getpid(), signal.SIGINT)
        threading.Timer(seconds, bell).start()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            planner(*queries.repeat(1, 20))
        return ['it was not interrupted']
    except Stopped:
        return [_answer(planner, queries)]
    finally:
        signal.signal(signal.SIGINT, before)


def of_caches(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Fresh processes; cache folders as usual, none, read-only and full."""
    data = weighted_grid('open', side=8, seed=int(rng.integers(99)))
    data.edge_cost = data.edge_cost.clone()
    torch.manual_seed(0)
    planner = Planner(tiny_map(data), data)
    queries = torch.stack(sample_queries(data, 40, seed=1))
    torch.save((data, queries), folder / 'asked')
    kinds = ['spawned', 'none', 'read-only', 'full']
    wanted = _answer(planner, queries)
    failures = [_wrong_in_fresh(kind, folder, wanted) for kind in kinds]
    return len(kinds), [failure for failure in failures if failure]


def _wrong_in_fresh(kind: str, folder: Path, wanted: object) -> str:
    """What is wrong with a process of its own, or nothing."""
    command = [sys.executable, '-m', 'stress.kernels', kind, str(folder)]
    path = os.pathsep.join(['.', 'tests'])
    env = {**os.environ, 'PYTHONPATH': path, 'OMP_NUM_THREADS': '1'}
    done = subprocess.run(
        command,
        env=env,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode:
        return f'{kind}: {done.returncode}: {done.stderr[-300:]}'
    same = torch.load(folder / 'answer') == wanted
    return '' if same else f'{kind}: other answers'


def _fresh(kind: str, folder: Path) -> None:
    """What the fresh process does."""
    cache = folder / 'cache'
    cache.mkdir(exist_ok=True)
    options = {'full': 'size=64k', 'read-only': 'ro'}.get(kind)
    if kind == 'none' or (options and not mounted(cache, options)):
        (folder / 'file').touch()
        cache = folder / 'file' / 'cache'  # cannot be made
    if kind != 'spawned':
        os.environ['NUMBA_CACHE_DIR'] = str(cache)
    data, queries = torch.load(folder / 'asked', weights_only=False)
    torch.manual_seed(0)
    planner = Planner(tiny_map(data), data)
    torch.save(_answer(planner, queries), folder / 'answer')


if __name__ == '__main__':
    _fresh(sys.argv[1], Path(sys.argv[2]))

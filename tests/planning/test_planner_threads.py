"""One planner, many threads: the answers of one thread."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest
import torch
from helpers import ALL_READOUTS, random_graph, tiny_map
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner, planning_graph
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import Readout

THREADS = 4
Question = Callable[[Planner, Tensor, Tensor], list[Tensor]]


def routes(planner: Planner, starts: Tensor, goals: Tensor) -> list[Tensor]:
    values = vars(planner(starts, goals)).values()
    return [value for value in values if isinstance(value, Tensor)]


def distances(planner: Planner, starts: Tensor, goals: Tensor) -> list[Tensor]:
    return [
        planner.distance(starts, goals),
        planner.distance_matrix(starts[:5], goals),
    ]


def in_threads(
    planner: Planner, ask: Question, queries: list[tuple[Tensor, Tensor]]
) -> list[list[Tensor]]:
    """All threads begin at once, on a planner that nobody has asked before."""
    ready = threading.Barrier(THREADS, timeout=60)

    def work(number: int) -> list[list[Tensor]]:
        ready.wait()
        return [ask(planner, *query) for query in queries[number::THREADS]]

    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(pool.map(work, range(THREADS)))
    return [
        parts[number % THREADS][number // THREADS]
        for number in range(len(queries))
    ]


@pytest.fixture(params=['grid', 'directed'])
def graph(request: pytest.FixtureRequest) -> Data:
    if request.param == 'grid':
        return weighted_grid('open', side=6, seed=2)
    return planning_graph(random_graph(30, 75, seed=1))


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
def test_routes(graph: Data, readout: Readout) -> None:
    assert_same_answers(graph, readout, routes)


def test_distances(graph: Data) -> None:
    assert_same_answers(graph, None, distances)


def assert_same_answers(
    graph: Data, readout: Readout | None, ask: Question
) -> None:
    model = BCM.from_data(graph)
    starts, goals = sample_queries(graph, 2 * THREADS * 5, seed=3)
    queries = list(zip(starts.split(5), goals.split(5), strict=True))
    alone = Planner(model, graph, readout)
    expected = [ask(alone, *query) for query in queries]
    for _ in range(2):
        found = in_threads(Planner(model, graph, readout), ask, queries)
        for mine, other in zip(found, expected, strict=True):
            for value, wanted in zip(mine, other, strict=True):
                assert not value.requires_grad
                torch.testing.assert_close(value, wanted, rtol=1e-5, atol=1e-6)
                if not value.is_floating_point():
                    assert torch.equal(value, wanted)


def test_planners_built_at_once_leave_the_mode_alone() -> None:
    data = weighted_grid('open', side=6, seed=2)
    model = BCM.from_data(data, 'gnn').train()
    ready = threading.Barrier(THREADS, timeout=60)

    def build(_: int) -> None:
        ready.wait()
        for _ in range(10):
            Planner(model, data)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(build, range(THREADS)))
    assert all(part.training for part in model.modules())


@pytest.mark.parametrize(
    'option', [{'epsilon': 0.05}, {'landmarks': 3}], ids=str
)
def test_proofs(graph: Data, option: dict[str, float]) -> None:
    model = BCM.from_data(graph)
    queries = [sample_queries(graph, 20, seed=seed) for seed in range(8)]
    alone = Planner(model, graph, **option)  # type: ignore[arg-type]
    expected = [routes(alone, *query) for query in queries]
    shared = Planner(model, graph, **option)  # type: ignore[arg-type]
    found = in_threads(shared, routes, queries)
    for one, two in zip(expected, found, strict=True):
        assert all(map(torch.equal, one, two))


# Interrupted, forked, spawned -------------------------------------------------


class Stopped(BaseException):
    """Like Ctrl-C, which pytest would take for its own."""


@pytest.mark.parametrize('threads', [1, 2])
@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
def test_a_batch_that_is_interrupted(readout: Readout, threads: int) -> None:
    """It ends within a part, and the planner answers as before."""
    data = weighted_grid('open', side=14, seed=1)
    planner = Planner(tiny_map(data), data, readout)
    starts, goals = sample_queries(data, 64, seed=1)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)

    def stop(*args: object) -> None:
        raise Stopped

    old = signal.signal(signal.SIGINT, stop)
    # A timer of its own would get in the way of that of pytest.
    bell = partial(os.kill, os.getpid(), signal.SIGINT)
    try:
        wanted = routes(planner, starts, goals)
        for seconds in (0.001, 0.004, 0.01):
            with pytest.raises(Stopped):
                threading.Timer(seconds, bell).start()
                while True:  # however fast it is
                    planner(starts.repeat(20), goals.repeat(20))
        again = routes(planner, starts, goals)
    finally:
        signal.signal(signal.SIGINT, old)
        torch.set_num_threads(before)
    assert all(map(torch.equal, wanted, again))


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_in_another_process(method: str) -> None:
    data = weighted_grid('open', side=8, seed=1)
    planner = Planner(tiny_map(data), data)
    starts, goals = sample_queries(data, 40, seed=1)
    wanted = planner(starts, goals)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        ends = starts.tolist(), goals.tolist()
        found = pool.submit(costs, planner, *ends).result(timeout=200)
    assert found == wanted.cost.tolist()


@pytest.mark.parametrize('options', [{}, {'landmarks': 4}], ids=str)
def test_tensors_that_move_to_shared_memory(options: dict[str, int]) -> None:
    """As those do that are sent to another process: kernels read no memory
    that is freed then. In a copy, as it may not live on.
    """
    context = multiprocessing.get_context('fork')
    copy = context.Process(target=_plan_before_and_after, args=(options,))
    copy.start()
    copy.join(timeout=200)
    assert copy.exitcode == 0


def _plan_before_and_after(options: dict[str, int]) -> None:
    torch.set_num_threads(1)
    data = weighted_grid('open', side=70, seed=1)  # above what malloc keeps
    planner = Planner(BCM.from_data(data, channels=4), data, **options)
    assert planner.scorer.hidden.size(1) % 32 == 0  # no copy with padding
    starts, goals = sample_queries(data, 20, seed=1)
    before = routes(planner, starts, goals)
    multiprocessing.reduction.ForkingPickler.dumps([planner, data])
    assert planner.scorer.hidden.is_shared()
    rubbish = [torch.full_like(planner.adjacency.dst, -1) for _ in range(9)]
    assert all(map(torch.equal, before, routes(planner, starts, goals)))
    del rubbish


def costs(planner: Planner, starts: list[int], goals: list[int]) -> list[float]:
    torch.set_num_threads(2)
    return planner(starts, goals).cost.tolist()

"""Two processes take the steps of one, and one that dies ends the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from small_fits import targets_of
from torch import Tensor
from torch_geometric.data import Data
from two_processes import (
    KILLED,
    RUNS,
    graph,
    make_map,
    outcome,
    queries,
    run,
)

from bcm_pyg import BCMError, FitConfig, Planner, fit, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.planning import plan_distributed
from bcm_pyg.training import Run
from bcm_pyg.training.objective import block_loss
from bcm_pyg.training.sampling import PairSampler
from bcm_pyg.training.sweeps import hop_diameter
from bcm_pyg.utils import Adjacency, Processes

HERE = Path(__file__).parent


class OneOf(Processes):
    """A process of a group that sends nothing."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(distributed=False)
        self.rank, self.size = rank, size


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes left behind; their exit codes and last words too."""
    folder = tmp_path_factory.mktemp('two_processes')
    path = os.pathsep.join([str(HERE.parent), str(HERE.parents[1])])
    environment = {**os.environ, 'PYTHONPATH': path, 'OMP_NUM_THREADS': '1'}
    script = str(HERE / 'two_processes.py')
    with ExitStack() as stack:
        processes = [
            subprocess.Popen(
                [sys.executable, script, str(rank), str(folder)],
                env=environment,
                stderr=stack.enter_context((folder / f'{rank}.err').open('w')),
            )
            for rank in range(2)
        ]
        try:
            codes = [process.wait(timeout=150) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
    (folder / 'codes').write_text(' '.join(map(str, codes)))
    for rank in range(2):
        assert (folder / f'{rank}.pt').exists(), errors(folder, rank)
    return folder


def errors(folder: Path, rank: int) -> str:
    return (folder / f'{rank}.err').read_text()


@pytest.fixture(scope='module')
def results(folder: Path) -> list[dict[str, Any]]:
    return [
        torch.load(folder / f'{rank}.pt', weights_only=False)
        for rank in range(2)
    ]


def assert_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    """The same to the last bit."""
    for name, value in one['weights'].items():
        assert torch.equal(value, two['weights'][name]), name
    for key in ('loss', 'gap', 'steps', 'interrupted'):
        assert one[key] == pytest.approx(two[key], abs=0, nan_ok=True), key


def assert_close(
    one: dict[str, Any], two: dict[str, Any], factor: float = 1.0
) -> None:
    """The same steps, up to rounding."""
    assert one['steps'] == two['steps']
    assert one['loss'] == pytest.approx(two['loss'], rel=factor * 3e-4)
    for name, value in one['weights'].items():
        torch.testing.assert_close(
            value,
            two['weights'][name],
            rtol=1e-3,
            atol=factor * 5e-4,
            msg=lambda text, name=name: f'{name}: {text}',
        )


@pytest.mark.parametrize('name', RUNS)
def test_the_steps_of_one_process(
    results: list[dict[str, Any]], name: str
) -> None:
    alone = outcome(*run(name))
    assert alone['steps'] == 20
    # SOAP divides by small numbers more often than Adam does. Weights move by
    # up to 0.04 in these steps.
    factor = 4 if name == 'default' else 1
    assert_close(results[0][name], alone, factor)


@pytest.mark.parametrize('name', RUNS)
def test_all_have_the_same_map(
    results: list[dict[str, Any]], name: str
) -> None:
    assert_same(results[0][name], results[1][name])


def test_alone_in_a_group(results: list[dict[str, Any]]) -> None:
    # Also: the same bits in another process.
    assert_same(results[0]['alone'], results[1]['alone'])
    assert_close(results[0]['alone'], outcome(*run('sweeps')))


def test_a_time_budget_ends_on_the_same_step(
    results: list[dict[str, Any]],
) -> None:
    assert results[0]['timed']['steps'] > 0
    assert_same(results[0]['timed'], results[1]['timed'])


def test_an_interrupt_ends_all_on_the_same_step(
    results: list[dict[str, Any]],
) -> None:
    assert results[0]['interrupted']['interrupted'] is True
    assert 0 < results[0]['interrupted']['steps'] < 20
    assert_same(results[0]['interrupted'], results[1]['interrupted'])


def test_a_callback_that_stops_ends_all_on_the_same_step(
    results: list[dict[str, Any]],
) -> None:
    assert results[0]['stopped']['interrupted'] is True
    assert 0 < results[0]['stopped']['steps'] < 20
    assert_same(results[0]['stopped'], results[1]['stopped'])


def test_processes_must_agree(results: list[dict[str, Any]]) -> None:
    for result in results:
        assert 'process 1 has another config' in result['refused']


def test_process_0_reads_and_writes(
    folder: Path, results: list[dict[str, Any]]
) -> None:
    assert not (folder / 'not there').exists()
    assert_same(results[0]['resumed'], results[1]['resumed'])
    assert_same(results[0]['resumed'], results[0]['sweeps'])
    for result in results:
        assert 'not a readable checkpoint' in result['damaged']


def same(one: Tensor | str | None, two: Tensor | str | None) -> bool:
    """Of the fields of a plan."""
    if isinstance(two, Tensor):
        return torch.equal(one, two)
    return one == two


def test_plans(results: list[dict[str, Any]]) -> None:
    planner = Planner(run('sweeps')[0], graph('grid'))
    for name, query in queries().items():
        alone = vars(plan_distributed(planner, *query))
        for key, value in vars(planner(*query)).items():
            assert same(alone[key], value), (name, key)
            for result in results:
                together = result['plans'][name][key]
                assert same(together, value), (name, key)


def test_plans_of_a_baseline(results: list[dict[str, Any]]) -> None:
    plan = vars(Dijkstra(graph('grid'))(*queries()['many']))
    for result in results:
        for key, value in plan.items():
            assert same(result['plans']['Dijkstra'][key], value), key


def test_a_failure_is_told_to_all(results: list[dict[str, Any]]) -> None:
    first, second = (result['plans'] for result in results)
    assert first['broken'] == 'planning failed in another process'
    assert second['broken'] == 'mine'
    for plans in (first, second):
        assert 'same length' in plans['bad']
        assert 'starts[1] = 999 is not a node' in plans['no node']


def test_a_dead_process_ends_the_run(folder: Path) -> None:
    codes = (folder / 'codes').read_text()
    assert codes == f'1 {-signal.SIGKILL}'
    assert 'BCMError: process 0 of 2 stops' in errors(folder, 0)
    # What it left goes on in one process, as if nothing had happened.
    data = graph('grid')
    seen: list[int] = []
    began = time.perf_counter()
    resumed, whole = make_map(data, small=True, seed=9), make_map(data, True)
    history = fit(
        resumed,
        data,
        KILLED,
        checkpoint=folder / 'killed.checkpoint',
        callback=lambda step, metrics: seen.append(step),
    )
    assert time.perf_counter() - began < 60
    assert seen[0] >= 25  # the others were made before
    assert_close(
        outcome(resumed, history), outcome(whole, fit(whole, data, KILLED))
    )


@settings(deadline=None, max_examples=15)
@given(
    data=random_graphs(),
    size=st.integers(1, 5),
    kind=st.sampled_from(['sweeps', 'paper', 'exact']),
)
def test_shares_add_up(data: Data, size: int, kind: str) -> None:
    data = planning_graph(data)
    model = make_map(data, small=True)
    adjacency = Adjacency.from_data(data)
    config = FitConfig(
        targets=targets_of(kind, bootstrap_nodes=3),
        sources=6,
        goals=4,
        ranking=0.5,
    )
    config = config.resolve(adjacency, hop_diameter(adjacency))
    sampler = PairSampler(adjacency, seed=0)
    run = Run(model, data, sampler, config, Processes(distributed=False))
    block = config.target_settings.blocks(run).block(0)
    loss = block_loss(run, block)
    loss.backward()
    gradients = [p.grad for p in model.parameters()]
    model.zero_grad()
    total, goals = 0.0, []
    for rank in range(size):
        columns = OneOf(rank, size).share(block.goals.size(-1))
        goals.append(block.goals[..., columns])
        if goals[-1].numel() > 0:
            share = block_loss(run, block, columns)
            share.backward()
            total += float(share.detach())
    assert torch.equal(torch.cat(goals, -1), block.goals)
    assert total == pytest.approx(float(loss.detach()), rel=1e-4, abs=1e-6)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        if gradient is not None:
            torch.testing.assert_close(
                parameter.grad, gradient, rtol=1e-3, atol=1e-5
            )


def test_distributed_needs_a_group() -> None:
    data = graph('grid')
    model = make_map(data, small=True)
    with pytest.raises(BCMError, match='init_process_group'):
        fit(model, data, FitConfig(steps=1), distributed=True)

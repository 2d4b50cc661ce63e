"""Budgets of CML and potentials of EigenAgent."""

import pytest
import torch

from bcm_pyg import Planner
from bcm_pyg.baselines import CML, EigenAgent
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import Greedy
from benchmarks.lib.results import Results
from benchmarks.scripts import baselines
from benchmarks.scripts.baselines import (
    POTENTIALS,
    Potential,
    prediction_error,
)
from benchmarks.tables.baselines import cml_budget, eigen_potential


@pytest.fixture
def data():
    return weighted_grid('ushape', 10, 'wide', 1)


def test_a_potential_walks_as_eigen_agent_does(data):
    agent = EigenAgent(data, epsilon=2e-3)
    potential = Potential(agent, *POTENTIALS['epsilon 0.002'])
    starts, goals = sample_queries(data, 50, seed=0)
    plan = Planner(potential, data, Greedy(), complete=False)(starts, goals)
    assert torch.equal(plan.cost, agent(starts, goals).cost)


def test_resistance_is_that_of_a_chain():
    """Between neighbours of a chain it is 1, between its ends the sum."""
    mask = torch.ones(3, 3, dtype=torch.bool).numpy()
    mask[1] = False
    agent = EigenAgent(weighted_grid(mask, 3, 'uniform'), modes=3)
    value = Potential(agent, *POTENTIALS['resistance']).value
    resistance = 2 * (value.diagonal() - value)  # to its own: 0
    assert resistance[3, 4].item() == pytest.approx(1, abs=1e-5)
    assert resistance[3, 5].item() == pytest.approx(2, abs=1e-5)


def test_prediction_error(data):
    cml = CML(data, walks=0, dim=8)
    tail, head = (end.numpy() for end in data.edge_index)
    cml.V[:] = 0.0
    assert prediction_error(cml) == pytest.approx(1)
    cml.V[:] = cml.Q[head] - cml.Q[tail]
    assert prediction_error(cml) == 0


def test_all_of_it(folders, monkeypatch):
    threads = torch.get_num_threads()
    assert cml_budget() == eigen_potential() == 'not run yet.'
    try:
        for _ in range(2):  # the second time there is nothing to do
            baselines.main('--quick --cml --eigen --pairs 5'.split())
    finally:
        torch.set_num_threads(threads)
    quick = folders / 'quick'
    rows = Results('eigen_potential', quick).rows
    settings = {(row['layout'], row['costs']) for row in rows}
    assert len(rows) == len(settings) * len(POTENTIALS)
    for name in ('cml_budget', 'eigen_potential'):
        for row in Results(name, quick).rows:
            Results(name).add({**row, 'side': 40, 'gap': 10.0})
    *_, line, paper = cml_budget().splitlines()
    assert line.startswith('| 100 | ') and line.count('| 10 |') == 3
    assert paper.startswith('| *paper* |  | 0.27 | 186 | 0.20 |')
    lines = eigen_potential().splitlines()
    assert len(lines) == 2 + len(POTENTIALS) + 1
    assert lines[2].count('| 10.0 |') > 3

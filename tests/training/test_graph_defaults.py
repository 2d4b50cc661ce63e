"""Settings that are left open depend on the graph."""

from __future__ import annotations

import math

import pytest
import torch

from bcm_pyg import FitConfig
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training.graph_defaults import MAX_SWEPT, resolve_config
from bcm_pyg.training.sweeps import hop_diameter
from bcm_pyg.utils import Adjacency


def heavy_tailed(side: int) -> Adjacency:
    """An open grid with costs of several orders of magnitude."""
    data = weighted_grid('open', side)
    noise = torch.Generator().manual_seed(0)
    data.edge_cost = torch.randn(data.num_edges, generator=noise).mul(2).exp()
    return Adjacency.from_data(data)


@pytest.mark.parametrize('side', [20, 40, 60])
def test_defaults_of_the_grids_of_the_paper(side: int) -> None:
    data = weighted_grid('ushape', side)
    config = resolve_config(FitConfig(), Adjacency.from_data(data))
    assert config.sweeps == {20: 11, 40: 23, 60: 35}[side]
    assert (config.draws, config.renew_every) == (4, 8)


@pytest.mark.parametrize('kind', ['sweeps', 'exact'])
@pytest.mark.parametrize('side', [100, 200])
def test_backups_stay_cheap_on_large_graphs(kind: str, side: int) -> None:
    adjacency = Adjacency.from_data(weighted_grid('open', side))
    config = resolve_config(FitConfig(targets=kind), adjacency)
    hops = 2 * (side - 1)
    backups = hops if kind == 'exact' else round(0.3 * hops) - 1
    draw = backups * adjacency.num_edges * config.renew
    assert config.draws is not None and config.renew_every is not None
    assert config.draws < 4
    draws = 1 if kind == 'exact' else config.draws
    assert draws * draw <= MAX_SWEPT * config.renew_every
    if config.renew_every > 8:  # no more than it must be
        assert draws * draw > MAX_SWEPT * (config.renew_every - 1)
    if config.draws > 1:
        assert (config.draws + 1) * draw > 8 * MAX_SWEPT
    given = resolve_config(FitConfig(draws=3, renew_every=5), adjacency)
    assert (given.draws, given.renew_every) == (3, 5)


@pytest.mark.parametrize('costs', ['uniform', 'mild', 'wide'])
def test_grids_of_the_paper_are_not_heavy_tailed(costs: str) -> None:
    adjacency = Adjacency.from_data(weighted_grid('open', 20, costs))
    config = resolve_config(FitConfig(), adjacency)
    assert (config.sweeps, config.seeds) == (round(0.3 * 38), 48)


def test_heavy_tails_take_more_backups_of_fewer_values() -> None:
    adjacency = heavy_tailed(20)
    config = resolve_config(FitConfig(), adjacency)
    assert config.sweeps == round(0.6 * 38)
    assert config.seeds == round(0.6 * math.sqrt(400))
    # What is given stays, and few backups have many values to start from.
    given = resolve_config(FitConfig(sweeps=11), adjacency)
    assert (given.sweeps, given.seeds) == (11, 48)
    given = resolve_config(FitConfig(seeds=3), adjacency)
    assert (given.sweeps, given.seeds) == (23, 3)


def test_heavy_tails_of_a_large_graph_leave_goals_their_renewals() -> None:
    adjacency = heavy_tailed(200)
    assert hop_diameter(adjacency) == 398
    assert resolve_config(FitConfig(), adjacency).sweeps == round(0.3 * 398)


def test_many_backups_start_from_few_values_on_any_graph() -> None:
    adjacency = Adjacency.from_data(weighted_grid('open', 20))
    few = resolve_config(FitConfig(sweeps=20), adjacency)
    many = resolve_config(FitConfig(sweeps=19), adjacency)
    assert (few.seeds, many.seeds) == (12, 48)


def test_costs_of_zero_are_no_trouble() -> None:
    data = weighted_grid('open', 5)
    data.edge_cost = torch.zeros(data.num_edges)
    config = resolve_config(FitConfig(), Adjacency.from_data(data))
    assert config.sweeps == 2

"""Settings that are left open depend on the graph."""

from __future__ import annotations

import pytest

from bcm_pyg import FitConfig
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.training.graph_defaults import MAX_SWEPT, resolve_config
from bcm_pyg.utils import Adjacency


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

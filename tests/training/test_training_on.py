"""Maps that were trained before, on this graph or on another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_fits import KINDS, small_map, tiny, weights
from torch_geometric.data import Data

from bcm_pyg import (
    BCM,
    BCMError,
    FitConfig,
    Planner,
    fit,
)
from bcm_pyg.datasets import sample_queries, weighted_grid


def test_training_goes_on(grid: Data) -> None:
    model = small_map(grid)
    fit(model, grid, tiny(steps=3))
    before = weights(model)
    fit(model, grid, tiny(steps=2))
    assert weights(model) != before
    assert model.info.training['steps'] == 2


def test_an_encoder_that_fails_leaves_the_map_of_its_old_graph(
    grid: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = BCM.from_data(grid)
    fit(model, grid, tiny(steps=1))
    graph, scale = model.info.fingerprint, float(model.cost_scale)
    other = weighted_grid('open', side=6, costs='mild', seed=9)

    def fail(*args: Any) -> None:
        raise RuntimeError('no such code')

    monkeypatch.setattr(model.encoder, 'forward', fail)
    with pytest.raises(RuntimeError, match='no such code'):
        fit(model, other, tiny(steps=1))
    assert (model.info.fingerprint, float(model.cost_scale)) == (graph, scale)


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize(
    'encoder', ['one_hot', 'node_table', 'landmark+node_table']
)
def test_a_graph_of_another_size(grid: Data, encoder: str, kind: str) -> None:
    model = BCM.from_data(grid, encoder)
    before = weights(model), model.info.fingerprint
    for side in (9, 11):
        other = weighted_grid('open', side=side)
        with pytest.raises(BCMError, match='built for 100 nodes .got a graph'):
            fit(model, other, tiny(targets=kind, steps=2, validations=0))
        with pytest.raises(BCMError, match='built for 100 nodes .got a graph'):
            Planner(model, other)
    assert (weights(model), model.info.fingerprint) == before


def test_updating_beats_starting_anew() -> None:
    data = weighted_grid('open', side=8, seed=1)
    torch.manual_seed(0)
    old = BCM.from_data(data)
    fit(old, data, FitConfig(steps=250, validations=0))
    hit = torch.rand(data.num_edges) < 0.1
    dear = data.clone()
    dear.edge_cost = torch.where(hit, 3 * data.edge_cost, data.edge_cost)
    scale = float(old.cost_scale)
    new = BCM.from_data(dear)
    losses = []
    for model in (old, new):
        history = fit(model, dear, FitConfig(steps=40, validations=1))
        losses.append(history.loss[-1])
    assert float(old.cost_scale) == scale  # values keep their meaning
    assert old.info.fingerprint == new.info.fingerprint
    assert losses[0] < losses[1] / 2


@pytest.mark.parametrize('loaded', [False, True])
@pytest.mark.parametrize('make', [BCM.from_data, BCM.paper])
def test_other_units_keep_the_map(
    make: Callable[[Data], BCM], loaded: bool, tmp_path: Path
) -> None:
    minutes = weighted_grid('open', side=6, costs=(1, 9), seed=1)
    model = make(minutes)
    fit(model, minutes, tiny(steps=5))
    scale = float(model.cost_scale)
    assert scale == float(make(minutes).cost_scale)
    pairs = sample_queries(minutes, 20)
    before = Planner(model, minutes).distance(*pairs)
    seconds = minutes.clone()
    for factor in (60, 1, 3, 9, 60):  # back and forth, at once or slowly
        seconds.edge_cost = factor * minutes.edge_cost
        if loaded:
            model.save(tmp_path)
            model = BCM.load(tmp_path, seconds, force=True)
        fit(model, seconds, tiny(steps=0))
        if factor == 3:
            assert float(model.cost_scale) == pytest.approx(scale)
            continue
        assert float(model.cost_scale) == pytest.approx(factor * scale)
        torch.testing.assert_close(
            Planner(model, seconds).distance(*pairs), factor * before
        )


def test_a_scale_that_cannot_be_is_not_taken() -> None:
    data = weighted_grid('open', side=4)
    model = BCM.from_data(data)
    scale = float(model.cost_scale)
    for cost in (0.0, 1e-42):
        data.edge_cost = torch.full_like(data.edge_cost, cost)
        fit(model, data, tiny(steps=0))
        assert float(model.cost_scale) == scale


def test_frozen_parts_stay(grid: Data) -> None:
    model = small_map(grid)
    model.encoder.requires_grad_(False)
    before = weights(model)
    fit(model, grid, tiny(steps=3))
    for name, value in weights(model).items():
        # The last bias cancels in every score, so nothing moves it.
        same = name.startswith('encoder') or name == 'cost_scale'
        same = same or name == 'transition.lin3.bias'
        assert (value == before[name]) is same


def test_a_trained_map_of_another_size_is_warned_of(grid: Data) -> None:
    model = small_map(grid, 'gnn')
    fit(model, grid, tiny(steps=1))
    fit(model, grid, tiny(steps=1))
    other = grid.clone()
    other.edge_cost = grid.edge_cost + 1
    fit(model, other, tiny(steps=1))  # other costs are no other graph
    with pytest.warns(UserWarning, match='num_nodes=100 .this one has 36'):
        fit(model, weighted_grid('open', side=6), tiny(steps=1))

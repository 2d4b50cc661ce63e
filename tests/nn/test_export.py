from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from helpers import ALL_ENCODERS, ReluTransition, tiny_map
from safetensors.torch import load_file
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.nn import export_scorer

BATCHES = [0, 1, 2, 3, 7, 500]


def ids(batch: int, data: Data) -> list[Tensor]:
    return list(torch.randint(int(data.num_nodes), (3, batch)))


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_ids_to_scores(grid: Data, encoder: str) -> None:
    data = planning_graph(grid)
    model = tiny_map(data, encoder)
    program = export_scorer(model, grid).module()
    embedding = model.encode(data)
    for batch in BATCHES:
        i, j, g = ids(batch, data)
        out = program(i, j, g)
        assert out.shape == (batch,)
        assert not out.requires_grad
        expected = model.score(embedding, i, j, g)
        torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)


def test_rows_to_scores(grid: Data) -> None:
    model = tiny_map(grid)
    program = export_scorer(model).module()
    hidden = model.project_nodes(planning_graph(grid)).detach()
    for batch in BATCHES:
        i, j, g = ids(batch, grid)
        out = program(hidden[i], hidden[j], hidden[g])
        expected = model.score(model.encode(grid), i, j, g)
        torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)


def test_at_the_goal(grid: Data) -> None:
    """Raw scores are 0 there, whatever the convention of the map."""
    for terminal in ('paper', 'calibrated'):
        model = tiny_map(grid, terminal=terminal)
        i, j, _ = ids(9, grid)
        out = export_scorer(model, grid).module()(i, j, j)
        assert out.tolist() == [0.0] * 9


def test_the_program_keeps_its_weights(grid: Data) -> None:
    model = tiny_map(grid)
    program = export_scorer(model, grid).module()
    i, j, g = ids(5, grid)
    before = program(i, j, g)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(program(i, j, g), before)
    assert before.abs().min() > 0


def test_it_needs_no_more_than_it_says(grid: Data) -> None:
    model = BCM.from_data(grid)
    sizes = {k: v.numel() for k, v in export_scorer(model).state_dict.items()}
    assert sum(sizes.values()) == 2 * 128**2 + 3 * 128
    sizes = {
        k: v.numel() for k, v in export_scorer(model, grid).state_dict.items()
    }
    assert sum(sizes.values()) == 2 * 128**2 + 3 * 128 + 100 * 128


def test_through_a_file(grid: Data, tmp_path: Path) -> None:
    model = tiny_map(grid)
    program = export_scorer(model, grid)
    torch.export.save(program, tmp_path / 'scorer.pt2')
    other = torch.export.load(tmp_path / 'scorer.pt2')
    for batch in BATCHES:
        i, j, g = ids(batch, grid)
        assert torch.equal(other.module()(i, j, g), program.module()(i, j, g))


def test_bad_arguments(grid: Data) -> None:
    with pytest.raises(BCMError, match='model must be a BCM'):
        export_scorer(torch.nn.Linear(2, 2))  # type: ignore[arg-type]
    with pytest.raises(BCMError, match='expected a torch_geometric'):
        export_scorer(tiny_map(grid), 'grid')  # type: ignore[arg-type]


def test_a_transition_of_ones_own(grid: Data) -> None:
    model = tiny_map(grid)
    model.transition = ReluTransition(192, 8, 8)
    i, j, g = ids(50, grid)
    out = export_scorer(model, grid).module()(i, j, g)
    expected = model.score(model.encode(grid), i, j, g)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)


def test_plain_pytorch_reads_a_map(grid: Data, tmp_path: Path) -> None:
    """Without this package: two files, five lines of torch.nn."""
    model = BCM.from_data(grid)
    model.save(tmp_path)

    config = json.loads((tmp_path / 'config.json').read_text())
    (weights,) = tmp_path.glob('map-*.safetensors')
    state = load_file(weights)
    widths = config['transition']
    hidden = widths['hidden_channels']
    phi = torch.nn.Sequential(
        torch.nn.Linear(widths['in_channels'], hidden),
        torch.nn.SiLU(),
        torch.nn.Linear(hidden, hidden),
        torch.nn.SiLU(),
        torch.nn.Linear(hidden, widths['out_channels']),
    )
    places = {'lin1': '0', 'lin2': '2', 'lin3': '4'}
    phi.load_state_dict(
        {
            f'{place}.{kind}': state[f'transition.{name}.{kind}']
            for name, place in places.items()
            for kind in ('weight', 'bias')
        }
    )
    row = state['encoder.tables.0'][grid.coord[:, 0]]
    column = state['encoder.tables.1'][grid.coord[:, 1]]
    o = torch.cat([row, column, row * column], dim=1)
    i, j, g = ids(200, grid)
    score = (phi(o[j] - o[i]) - phi(o[g] - o[i])).square().sum(1)

    expected = model.score(model.encode(planning_graph(grid)), i, j, g)
    torch.testing.assert_close(score, expected)
    assert float(score.detach().max()) > 0


def test_a_state_dict_is_all_there_is(grid: Data) -> None:
    """It loads, strictly, into a map built anew, and scores the same."""
    model = BCM.from_data(grid)
    other = BCM.from_data(grid)
    i, j, g = ids(20, grid)
    each = torch.arange(20)
    block = grid, i, j, g, each
    assert not torch.equal(model(*block), other(*block))
    other.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(model(*block), other(*block))

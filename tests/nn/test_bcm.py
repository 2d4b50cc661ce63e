from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from helpers import ALL_ENCODERS, slow_score, tiny_map
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import fingerprint
from bcm_pyg.nn import (
    InteractionEncoder,
    KHotEncoder,
    LandmarkEncoder,
    OneHotEncoder,
    Transition,
)

INF = float('inf')


class Plain(torch.nn.Module):
    """The least an encoder can be."""

    out_channels = 2

    def forward(self, data: Data) -> Tensor:
        return data.pos


def test_repr(grid: Data) -> None:
    assert str(BCM.from_data(grid)) == (
        'BCM(\n'
        "  terminal='calibrated', cost_scale=5.512, parameters=59,008, "
        'last_training=0 steps\n'
        '  (encoder): InteractionEncoder(codes=[10, 10], channels=64)\n'
        '  (transition): Transition(192, 128, 128, 128)\n'
        ')'
    )


@pytest.mark.parametrize(
    ('encoder', 'parameters'),
    [('interaction', 186_112), ('one_hot', 541_440), ('k_hot', 152_320)],
)
def test_parameters_of_the_paper(encoder: str, parameters: int) -> None:
    data = weighted_grid('ushape', side=40, costs='wide', seed=42)
    wide = BCM.from_data(data, encoder, hidden_channels=256)
    for model in (wide, BCM.paper(data, encoder)):
        assert model.num_parameters() == parameters
        assert model.storage_bytes() == 4 * parameters


@pytest.mark.parametrize(
    ('side', 'parameters', 'megabytes'),
    [(20, 183_552, 0.734), (40, 186_112, 0.744), (60, 188_672, 0.755)],
)
def test_storage_of_the_paper(
    side: int, parameters: int, megabytes: float
) -> None:
    data = weighted_grid('open', side=side, costs='uniform', seed=0)
    assert data.num_nodes == side * side
    model = BCM.paper(data)
    assert model.num_parameters() == parameters
    assert round(model.storage_bytes() / 1e6, 3) == megabytes
    small = BCM.from_data(data)  # half the width
    assert small.num_parameters() == parameters - 123_264


def test_frozen_parameters_are_stored_but_not_counted(diamond: Data) -> None:
    model = tiny_map(diamond, 'one_hot')
    model.transition.lin3.requires_grad_(False)
    assert model.num_parameters() == 5 * 8 + 8 + 8 * 8 + 8
    assert model.storage_bytes() == 4 * (5 * 8 + 8 + 2 * (8 * 8 + 8))


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
@torch.no_grad()
def test_score_against_the_paper(diamond: Data, encoder: str) -> None:
    model = tiny_map(diamond, encoder)
    o = model.encode(diamond)
    for i, j, g in [(0, 1, 3), (0, 2, 3), (3, 0, 2), (1, 3, 1), (2, 3, 4)]:
        expected = slow_score(model, diamond, i, j, g)
        assert expected > 0
        got = float(model.score(o, i, j, g))
        assert got == pytest.approx(expected, rel=1e-4, abs=1e-7)
        ids = (torch.tensor([node]) for node in (i, j, g, 0))
        got = float(model(diamond, *ids))
        assert got == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize('shared', [True, False])
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_score_is_forward(grid: Data, encoder: str, shared: bool) -> None:
    model = tiny_map(grid, encoder)
    sources, goals = torch.randint(100, (2, 10))
    heads, source = torch.randint(100, (50,)), torch.arange(50) // 5
    if not shared:  # each source has its own
        goals = torch.randint(100, (10, 10))
    out = model(grid, sources, heads, goals, source)
    score = model.score(
        model.encode(grid),
        sources[source, None],
        heads[:, None],
        goals if shared else goals[source],
    )
    assert out.shape == (50, 10)
    torch.testing.assert_close(out, score, rtol=1e-4, atol=1e-5)
    parameters = list(model.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(out.sum(), parameters),
        torch.autograd.grad(score.sum(), parameters),
        rtol=1e-3,
        atol=1e-4,
    )


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_raw_score_of_the_goal_is_zero(grid: Data, encoder: str) -> None:
    model = BCM.from_data(grid, encoder)
    i, g = torch.randint(100, (2, 30))
    assert model.score(model.encode(grid), i, g, g).tolist() == [0.0] * 30
    out = model(grid, i, g, g, torch.arange(30)).diag()
    torch.testing.assert_close(out, torch.zeros(30), rtol=0, atol=1e-5)


def test_score_broadcasts(grid: Data) -> None:
    model = tiny_map(grid)
    o = model.encode(grid)
    j, g = torch.tensor([1, 10]), torch.tensor([5, 60, 99])
    out = model.score(o, 0, j[:, None], g)
    assert out.shape == (2, 3)
    for a, b in enumerate(j.tolist()):
        for c, d in enumerate(g.tolist()):
            torch.testing.assert_close(out[a, c], model.score(o, 0, b, d))


@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_projected_nodes(grid: Data, encoder: str) -> None:
    model = tiny_map(grid, encoder)
    hidden = model.project_nodes(grid)
    o = model.encode(grid)
    o = o.to_dense() if o.is_sparse else o
    expected = o @ model.transition.lin1.weight.T
    torch.testing.assert_close(hidden, expected, rtol=1e-4, atol=1e-6)
    nodes = torch.tensor([7, 99, 7])
    torch.testing.assert_close(model.project_nodes(grid, nodes), hidden[nodes])


def test_any_module_may_encode(diamond: Data) -> None:
    model = BCM(Plain(), Transition(2, 8, 8))
    torch.testing.assert_close(
        model.project_nodes(diamond),
        diamond.pos @ model.transition.lin1.weight.T,
    )
    nodes = torch.tensor([3, 0])
    torch.testing.assert_close(
        model.project_nodes(diamond, nodes), model.project_nodes(diamond)[nodes]
    )
    before = model.transition.lin1.weight.detach().clone()
    model.reset_parameters()
    assert not torch.equal(model.transition.lin1.weight, before)


@pytest.mark.parametrize('terminal', ['paper', 'calibrated'])
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
@torch.no_grad()
def test_distance(diamond: Data, encoder: str, terminal: str) -> None:
    model = tiny_map(diamond, encoder, terminal)
    scale = 17 / 5
    assert float(model.cost_scale) == pytest.approx(scale)
    planner = Planner(model, diamond)
    ways = {
        0: [(1, 1.0), (2, 5.0)],
        1: [(3, 1.0)],
        2: [(3, 0.0)],
        3: [(0, 10.0)],
        4: [],
    }
    for start in range(5):
        for goal in range(5):
            scores = [INF]
            for head, cost in ways[start]:
                if head == goal:
                    scores.append(cost if terminal == 'calibrated' else 0.0)
                else:
                    score = slow_score(model, diamond, start, head, goal)
                    scores.append(scale * score)
            if goal == 4:  # isolated: nobody else gets there
                scores = [INF]
            expected = 0.0 if start == goal else min(scores)
            got = planner.distance(start, goal)
            assert got.shape == (1,)
            assert got.item() == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_distance_of_ids_of_any_kind(diamond: Data) -> None:
    planner = Planner(tiny_map(diamond), diamond)
    expected = [1.0, 10.0, 0.0, INF, INF]
    starts, goals = [1, 3, 4, 4, 4], [3, 0, 4, 0, 3]
    out = planner.distance(starts, torch.tensor(goals))
    assert out.tolist() == pytest.approx(expected)
    assert out.dtype == torch.float32
    assert not out.requires_grad
    assert planner.distance(4, [0, 4]).tolist() == [INF, 0.0]
    assert planner.distance([], []).shape == (0,)
    with pytest.raises(BCMError, match=r'goals\[0\] = 5 is not a node'):
        planner.distance(0, 5)


def test_distance_follows_the_units_of_the_graph(grid: Data) -> None:
    """Costs of another unit: the same network, scaled answers."""
    metres = grid.clone()
    metres.edge_cost = 1000 * grid.edge_cost
    models = []
    for data in (grid, metres):
        torch.manual_seed(3)
        models.append(BCM.from_data(data))
    pairs = torch.arange(30), torch.arange(30, 60)
    torch.testing.assert_close(
        Planner(models[1], metres).distance(*pairs),
        1000 * Planner(models[0], grid).distance(*pairs),
        rtol=1e-4,
        atol=1e-3,
    )


def test_from_data(grid: Data) -> None:
    model = BCM.from_data(grid)
    assert isinstance(model.encoder, InteractionEncoder)
    assert model.encoder.init == 'smooth'
    assert model.terminal == 'calibrated'
    mean = grid.edge_cost.double().mean().item()
    assert float(model.cost_scale) == pytest.approx(mean)
    assert model.info.fingerprint == fingerprint(grid)
    assert model.info.training == {}
    model = BCM.from_data(grid, 'k_hot', 'paper', bins=4)
    assert str(model.encoder) == 'KHotEncoder(bins=[4, 4])'
    assert model.terminal == 'paper'
    encoder = OneHotEncoder(100)
    assert BCM.from_data(grid, encoder).encoder is encoder


@pytest.mark.parametrize(
    ('forward', 'message'),
    [
        (lambda data: data.pos, r'of shape .100, 3. .got .* .100, 2.'),
        (lambda data: data.edge_index, r'of shape .100, 3. .got torch.int64'),
        (lambda data: None, 'must return a tensor .got NoneType'),
        (lambda data: data.height, "Module fails on this graph: .*'height'"),
    ],
)
def test_from_data_tries_a_module(
    grid: Data, forward: Callable[[Data], object], message: str
) -> None:
    module = torch.nn.Module()
    module.out_channels = 3  # type: ignore[assignment]
    module.forward = forward
    with pytest.raises(BCMError, match=message):
        BCM.from_data(grid, module)


def test_paper(grid: Data) -> None:
    model = BCM.paper(grid)
    assert isinstance(model.encoder, InteractionEncoder)
    assert model.encoder.init == 'random'
    assert 0.4 < float(model.encoder.tables[0].detach().std()) < 0.6
    assert model.terminal == 'paper'
    assert float(model.cost_scale) == pytest.approx(
        float(grid.edge_cost.mean())
    )
    assert model.info.fingerprint == fingerprint(grid)
    assert isinstance(BCM.paper(grid, 'k_hot').encoder, KHotEncoder)
    assert BCM.paper(grid, init='smooth').encoder.init == 'smooth'
    assert BCM.paper(grid, OneHotEncoder(100)).terminal == 'paper'


@pytest.mark.parametrize('encoder', ['interaction', 'gnn'])
def test_reset_parameters(grid: Data, encoder: str) -> None:
    model = tiny_map(grid, encoder)
    model.info = replace(model.info, training={'steps': 3})
    before = {k: v.clone() for k, v in model.state_dict().items()}
    torch.manual_seed(7)
    model.reset_parameters()
    assert model.info.training == {}
    for key, value in model.named_parameters():
        if key.endswith('bias') and not before[key].any():
            continue  # PyG starts them at 0
        assert not torch.equal(value, before[key]), key
    assert torch.equal(model.cost_scale, before['cost_scale'])
    after = {k: v.clone() for k, v in model.state_dict().items()}
    torch.manual_seed(7)
    model.reset_parameters()
    for key, value in model.state_dict().items():
        assert torch.equal(value, after[key])


@pytest.mark.parametrize(
    ('encoder', 'kind'),
    [
        *((encoder, 'grid') for encoder in ALL_ENCODERS),
        ('interaction', 'diamond'),  # float coordinates
        ('k_hot', 'diamond'),
    ],
)
def test_compile(
    encoder: str, kind: str, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue(kind)
    model = tiny_map(data, encoder)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend='eager')
    i, j, g = torch.randint(int(data.num_nodes), (3, 9))
    block = data, i, j, g, torch.arange(9)
    out = compiled(*block)
    torch.testing.assert_close(out, model(*block), rtol=1e-4, atol=1e-5)
    parameters = list(model.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(out.sum(), parameters),
        torch.autograd.grad(model(*block).sum(), parameters),
        rtol=1e-3,
        atol=1e-4,
    )


def test_train_and_eval_score_alike(grid: Data) -> None:
    model = tiny_map(grid, 'gnn')
    i, j, g = torch.randint(100, (3, 9))
    block = grid, i, j, g, torch.arange(9)
    assert torch.equal(model(*block), model.eval()(*block))


class NoWidth(torch.nn.Module):
    pass


class StringWidth(torch.nn.Module):
    out_channels = '2'


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'terminal': 'free'}, r"\('calibrated', 'paper'\) \(got 'free'\)"),
        ({'encoder': NoWidth()}, r'NoWidth must have an int attribute'),
        ({'encoder': StringWidth()}, r'StringWidth must have an int attribute'),
        ({'encoder': 'k_hot'}, r'must be a torch.nn.Module.*\(got str\)'),
        ({'transition': Transition(3)}, 'takes 3 channels.* gives 2'),
        ({'cost_scale': 0.0}, r'positive and finite.*\(got 0.0\)'),
        ({'cost_scale': -1.0}, 'cost_scale'),
        ({'cost_scale': float('nan')}, 'cost_scale'),
        ({'cost_scale': INF}, 'cost_scale'),
        ({'cost_scale': 1e-50}, 'in float32'),  # 0 in the buffer
        ({'cost_scale': 1e50}, 'in float32'),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BCMError, match=message):
        BCM(**{'encoder': Plain(), **arguments})


def test_errors_of_from_data(grid: Data) -> None:
    with pytest.raises(BCMError, match=r"\('bins',\) go with the name"):
        BCM.from_data(grid, Plain(), bins=3)
    with pytest.raises(BCMError, match="unknown encoder 'two_hot'"):
        BCM.from_data(grid, 'two_hot')
    with pytest.raises(BCMError, match="got 'free'"):
        BCM.from_data(grid, terminal='free')
    with pytest.raises(BCMError, match='no coordinates found'):
        BCM.from_data(Data(edge_index=torch.tensor([[0], [1]])))


def test_default_encoder_without_coordinates(grid: Data) -> None:
    edges = {'edge_index': grid.edge_index, 'edge_cost': grid.edge_cost}
    data = Data(**edges, num_nodes=grid.num_nodes)
    with pytest.warns(UserWarning, match='no coordinates.*landmark'):
        model = BCM.from_data(data, channels=5)
    assert type(model.encoder) is LandmarkEncoder
    assert model.encoder.channels == 5
    for make in (BCM.paper, partial(BCM.from_data, encoder='interaction')):
        with pytest.raises(BCMError, match="'interaction'.* needs them"):
            make(data)


def test_the_map_of_the_paper_has_its_channels_on_large_grids() -> None:
    data = weighted_grid('open', 66)
    assert BCM.paper(data).encoder.channels == 64
    assert BCM.from_data(data).encoder.channels == 132
    shared = BCM.paper(data, bins=200).encoder  # by its levels
    assert shared.channels == BCM.from_data(data, bins=200).encoder.channels

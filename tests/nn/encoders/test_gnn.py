from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch
from helpers import random_graph
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.nn import GNNEncoder, check_encoder
from bcm_pyg.nn.encoders.parts.local_features import (
    edge_features,
    local_features,
    num_local_features,
)


class Weighted(torch.nn.Module):
    """Remembers the weights it was called with."""

    supports_edge_weight = True

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor
    ) -> Tensor:
        self.seen = edge_weight
        return x.new_zeros(x.size(0), 3)


class WithEdges(torch.nn.Module):
    """Remembers the features of edges it was called with."""

    supports_edge_attr = True

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor
    ) -> Tensor:
        self.seen = edge_attr
        return x.new_zeros(x.size(0), 3)


class Unweighted(torch.nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x.new_zeros(x.size(0), 3).index_add(
            0, edge_index[1], x[edge_index[0], :3]
        )


def test_gnn(grid: Data) -> None:
    encoder = GNNEncoder.from_data(grid)
    assert str(encoder) == (
        'GNNEncoder(\n  (gnn): CostGNN(45, 64, num_layers=3)\n)'
    )
    assert encoder.in_channels == 2 * (1 + 2 * 6) + 1 + 2 * (4 + 2 + 3) == 45
    assert encoder.edge_channels == 4
    assert encoder.out_channels == 45 + 64
    assert not encoder.per_node
    assert encoder(grid).shape == (100, 109)


def test_parameters_do_not_grow_with_the_graph(
    grid: Data, diamond: Data
) -> None:
    shapes = [
        [p.shape for p in GNNEncoder.from_data(data).parameters()]
        for data in (grid, diamond)
    ]
    assert shapes[0] == shapes[1] != []


def test_features_against_a_loop(diamond: Data) -> None:
    encoder = GNNEncoder.from_data(diamond, frequencies=3)
    plain = GNNEncoder.from_data(diamond, frequencies=3, structure=False)
    out = plain.features(diamond)
    assert out.shape == (5, 2 + 6 + 6 + 1)
    more = encoder.features(diamond)
    assert torch.equal(more[:, :15], out)
    structure = local_features(diamond, encoder.mean_cost)
    assert torch.equal(more[:, 15:], structure)
    for node in range(5):
        place = [
            2 * (x - low) / (high - low) - 1
            for x, (low, high) in zip(
                diamond.pos[node].tolist(), encoder.bounds, strict=True
            )
        ]
        angles = [math.pi / 2 * p * 2**f for p in place for f in range(3)]
        expected = [
            *place,
            *(math.sin(angle) for angle in angles),
            *(math.cos(angle) for angle in angles),
            0.0,  # each has a place of its own
        ]
        assert out[node].tolist() == pytest.approx(expected, abs=1e-5)


def test_features_where_all_nodes_share_a_coordinate() -> None:
    data = Data(pos=torch.tensor([[0.0, 3.0], [1.0, 3.0]]))
    encoder = GNNEncoder(
        [(0.0, 1.0), (3.0, 3.0)], frequencies=1, structure=False
    )
    torch.testing.assert_close(
        encoder.features(data),
        torch.tensor(
            [
                [-1.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0],
                [1.0, -1.0, 1.0, -1.0, 0.0, 0.0, 0.0],
            ]
        ),
    )


def test_nodes_at_one_place_differ() -> None:
    data = planning_graph(
        Data(
            pos=torch.tensor([[0.0, 0.5], [0.0, 0.5], [1.0, 0.0]]),
            edge_index=torch.tensor([[0, 1, 2, 2], [2, 2, 0, 1]]),
            edge_cost=torch.ones(4),
        )
    )
    for structure in (True, False):
        out = GNNEncoder.from_data(data, structure=structure)(data)
        assert not torch.allclose(out[0], out[1])


def test_costs_become_weights(diamond: Data) -> None:
    gnn = Weighted()
    encoder = GNNEncoder.from_data(diamond, channels=3, gnn=gnn)
    assert encoder.mean_cost == pytest.approx(17 / 5)
    encoder(diamond)
    expected = [1 / (1 + c / (17 / 5)) for c in diamond.edge_cost.tolist()]
    assert gnn.seen.tolist() == pytest.approx(expected)
    assert gnn.seen.tolist()[3] == 1  # the free edge


def test_edge_features_go_to_those_who_take_them(diamond: Data) -> None:
    gnn = WithEdges()
    encoder = GNNEncoder.from_data(diamond, channels=3, gnn=gnn)
    encoder(diamond)
    assert torch.equal(gnn.seen, edge_features(diamond, encoder.mean_cost))
    assert gnn.seen.size(1) == encoder.edge_channels


def test_zero_costs(diamond: Data) -> None:
    diamond.edge_cost = torch.zeros(5)
    gnn = Weighted()
    encoder = GNNEncoder.from_data(diamond, channels=3, gnn=gnn)
    assert encoder.mean_cost == 1
    encoder(diamond)
    assert gnn.seen.tolist() == [1.0] * 5
    check_encoder(GNNEncoder.from_data(diamond), diamond)


def test_one_layer_against_a_loop(diamond: Data) -> None:
    encoder = GNNEncoder.from_data(diamond, channels=4, num_layers=1, gnn='GCN')
    conv = encoder.gnn.convs[0]
    x = encoder.features(diamond)
    weights = (1 / (1 + diamond.edge_cost / encoder.mean_cost)).tolist()
    edges = [
        (tail, head, weight)
        for (tail, head), weight in zip(
            diamond.edge_index.T.tolist(), weights, strict=True
        )
    ]
    edges += [(node, node, 1.0) for node in range(5)]
    degree = [sum(w for _, h, w in edges if h == n) for n in range(5)]
    rows = []
    for node in range(5):
        heard = torch.zeros(x.size(1))
        for tail, head, weight in edges:
            if head == node:
                heard += (
                    weight / math.sqrt(degree[tail] * degree[head]) * x[tail]
                )
        rows.append(conv.lin.weight @ heard + conv.bias)
    expected = torch.cat([x, torch.stack(rows)], dim=1)
    torch.testing.assert_close(encoder(diamond), expected)


@pytest.mark.parametrize('name', ['CostGNN', 'GCN', 'GraphSAGE', 'GAT'])
def test_named_models(diamond: Data, name: str) -> None:
    encoder = GNNEncoder.from_data(
        diamond, channels=8, gnn=name, structure=False
    )
    assert type(encoder.gnn).__name__ == name
    assert encoder.config()['gnn'] == name
    assert encoder(diamond).shape == (5, 35)
    check_encoder(encoder, diamond)

    changed = diamond.clone()
    changed.edge_cost = diamond.edge_cost + torch.arange(5.0)
    hears_costs = not torch.equal(encoder(diamond), encoder(changed))
    assert hears_costs == (name != 'GraphSAGE')


def test_own_module(diamond: Data) -> None:
    encoder = GNNEncoder.from_data(diamond, channels=3, gnn=Unweighted())
    out = encoder(diamond)
    assert out[4, -3:].tolist() == [0.0, 0.0, 0.0]
    assert torch.equal(out[1, -3:], encoder.features(diamond)[0, :3])
    check_encoder(encoder, diamond)
    with pytest.raises(BCMError, match='subclass NodeEncoder and register it'):
        encoder.config()


@pytest.mark.parametrize('num_axes', [1, 3, 5])
def test_any_number_of_axes(num_axes: int) -> None:
    data = planning_graph(random_graph(20, 60, seed=3, axes=num_axes))
    encoder = GNNEncoder.from_data(data)
    width = 13 * num_axes + 1 + num_local_features(num_axes)
    assert encoder.out_channels == width + 64
    check_encoder(encoder, data)


def test_reset_parameters(diamond: Data) -> None:
    encoder = GNNEncoder.from_data(diamond)
    before = encoder(diamond)
    encoder.reset_parameters()
    assert not torch.equal(encoder(diamond), before)
    own = GNNEncoder.from_data(diamond, channels=3, gnn=Unweighted())
    before = own(diamond)
    own.reset_parameters()  # it has none, nor a method of that name
    assert torch.equal(own(diamond), before)


def test_config_rebuilds() -> None:
    encoder = GNNEncoder([(0, 1)], 2.5, 8, 3, 4, 'GraphSAGE', False)
    assert encoder.config() == {
        'bounds': [[0.0, 1.0]],
        'mean_cost': 2.5,
        'channels': 8,
        'num_layers': 3,
        'frequencies': 4,
        'gnn': 'GraphSAGE',
        'structure': False,
    }
    assert str(GNNEncoder.from_config(encoder.config())) == str(encoder)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'bounds': []}, 'at least one axis'),
        ({'bounds': [(0, float('nan'))]}, 'finite and ascending'),
        ({'mean_cost': 0.0}, r'mean_cost must be positive.*\(got 0.0\)'),
        ({'mean_cost': float('inf')}, 'mean_cost'),
        ({'num_layers': 0}, r'num_layers must be an int from 1 to 1000'),
        ({'num_layers': 10**9}, 'num_layers'),
        ({'channels': 0}, 'channels'),
        ({'frequencies': -1}, 'frequencies'),
        ({'gnn': 'MLP'}, "such as 'GCN'.*got 'MLP'"),
        ({'gnn': 'NoSuchModel'}, "got 'NoSuchModel'"),
        ({'gnn': 'PNA'}, 'PNA needs more than channels and layers'),
        ({'gnn': 3}, r'torch.nn.Module \(got int\)'),
    ],
)
def test_gnn_errors(arguments: dict, message: str) -> None:
    with pytest.raises(BCMError, match=message):
        GNNEncoder(**{'bounds': [(0, 1)], **arguments})


def test_gnn_refuses_raw_positions(diamond: Data) -> None:
    encoder = GNNEncoder.from_data(diamond)
    raw = diamond.clone()
    raw.pos = diamond.pos.double()
    with pytest.raises(BCMError, match=r'pass planning_graph\(data\)'):
        encoder(raw)


@pytest.mark.parametrize('gnn', ['CostGNN', 'GCN'])
def test_features_are_computed_once_a_graph(
    grid: Data, monkeypatch: pytest.MonkeyPatch, gnn: str
) -> None:
    data = grid.clone()
    encoder = GNNEncoder.from_data(data, gnn=gnn, channels=8)
    calls = []
    features = GNNEncoder.features

    def counted(self: GNNEncoder, data: Data) -> Tensor:
        calls.append(data)
        return features(self, data)

    monkeypatch.setattr(GNNEncoder, 'features', counted)
    out = encoder(data)
    assert torch.equal(encoder(data), out)
    assert torch.equal(encoder(data.clone()), out)
    with torch.no_grad():
        assert torch.equal(encoder(data), out)
    assert len(calls) == 1
    # Costs that change in place are seen, even past the version counter.
    data.edge_cost.numpy()[:3] += 1
    assert not torch.equal(encoder(data), out)
    assert len(calls) == 2
    assert torch.equal(encoder(data), copy.deepcopy(encoder)(data))
    data.pos = data.pos + 0.25
    assert torch.equal(encoder(data), copy.deepcopy(encoder)(data))
    encoder.reset_parameters()
    assert torch.equal(encoder(data), copy.deepcopy(encoder)(data))
    assert pickle.loads(pickle.dumps(encoder))._known is None


def test_features_are_not_kept_where_autograd_looks(grid: Data) -> None:
    data = grid.clone()
    encoder = GNNEncoder.from_data(data, channels=8)
    with torch.inference_mode():
        encoder(data)
    encoder(data).sum().backward()
    data.pos = data.pos.clone().requires_grad_()
    for _ in range(2):
        encoder(data).sum().backward()
    assert data.pos.grad is not None


def test_a_module_that_works_in_place(grid: Data) -> None:
    class InPlace(torch.nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return x.mul_(2)[:, :4]

    encoder = GNNEncoder.from_data(grid, gnn=InPlace(), channels=4)
    assert torch.equal(encoder(grid), encoder(grid))


class LearnedFeatures(GNNEncoder):
    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.gain = torch.nn.Parameter(torch.ones(()))

    def features(self, data: Data) -> torch.Tensor:
        return super().features(data) * self.gain


def test_features_of_a_subclass_are_not_kept(grid: Data) -> None:
    encoder = LearnedFeatures.from_data(planning_graph(grid))
    with torch.no_grad():
        encoder(planning_graph(grid))
    for _ in range(2):
        encoder.gain.grad = None
        encoder(planning_graph(grid)).sum().backward()
        assert encoder.gain.grad is not None

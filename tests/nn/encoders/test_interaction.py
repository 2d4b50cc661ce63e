from __future__ import annotations

import pytest
import torch
from helpers import random_graph
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.nn import InteractionEncoder, check_encoder
from bcm_pyg.nn.encoders.base import select_nodes


def test_interaction_on_a_grid(grid: Data) -> None:
    encoder = InteractionEncoder.from_data(grid)
    assert str(encoder) == 'InteractionEncoder(codes=[10, 10], channels=64)'
    assert encoder.out_channels == 192
    assert encoder.per_node
    out = encoder(grid)
    assert out.shape == (100, 192)
    row_table, column_table = encoder.tables
    for node in range(100):
        r, c = row_table[node // 10], column_table[node % 10]
        assert torch.equal(out[node], torch.cat([r, c, r * c]))


@pytest.mark.parametrize(
    ('shape', 'channels'),
    [((64, 3), 64), ((3, 65), 130), ((100, 2), 192), ((300,), 64)],
)
def test_channels_of_long_axes(shape: tuple[int, ...], channels: int) -> None:
    last = torch.tensor(shape) - 1
    data = Data(
        coord=torch.stack([torch.zeros_like(last), last]),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_cost=torch.tensor([1.0, 2.0]),
    )
    assert InteractionEncoder.from_data(data).channels == channels
    assert InteractionEncoder.from_data(data, channels=5).channels == 5
    # Where all steps of a length cost the same, as in games.
    data.edge_cost = torch.tensor([2.0, 2.0])
    assert InteractionEncoder.from_data(data).channels == 64


def test_exact_numbers() -> None:
    encoder = InteractionEncoder([2, 3], channels=2)
    with torch.no_grad():
        encoder.tables[0].copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        encoder.tables[1].copy_(
            torch.tensor([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]])
        )
    data = Data(coord=torch.tensor([[0, 0], [1, 2]]))
    assert encoder(data).tolist() == [
        [1.0, 2.0, 5.0, 6.0, 5.0, 12.0],
        [3.0, 4.0, 9.0, 10.0, 27.0, 40.0],
    ]


def test_one_axis_has_no_product() -> None:
    encoder = InteractionEncoder([4], channels=3)
    assert encoder.out_channels == 3
    data = Data(coord=torch.tensor([[2], [0]]))
    assert torch.equal(encoder(data), encoder.tables[0][[2, 0]])


def test_three_axes_have_one_product() -> None:
    encoder = InteractionEncoder([4, 5, 6], channels=2)
    assert encoder.out_channels == 8
    out = encoder(Data(coord=torch.tensor([[3, 1, 5], [0, 4, 2]])))
    for node, (x, y, z) in enumerate([(3, 1, 5), (0, 4, 2)]):
        a, b, c = (
            table[code].tolist()
            for table, code in zip(encoder.tables, (x, y, z), strict=True)
        )
        product = [a[0] * b[0] * c[0], a[1] * b[1] * c[1]]
        assert out[node].tolist() == pytest.approx(a + b + c + product)


def test_some_nodes_agree_with_all(grid: Data) -> None:
    encoder = InteractionEncoder.from_data(grid)
    nodes = torch.tensor([99, 3, 3, 50])
    some = encoder(select_nodes(grid, nodes))
    assert torch.equal(some, encoder(grid)[nodes])


def test_smooth_and_random_starts() -> None:
    smooth = InteractionEncoder([40, 40])
    table = smooth.tables[0].detach()
    size = table.norm(dim=1)  # cosine and sine of equal height go in pairs
    torch.testing.assert_close(size, size[:1].expand(40))
    near = (table[1:] - table[:-1]).norm(dim=1).mean()
    far = (table[20:] - table[:-20]).norm(dim=1).mean()
    assert near < 0.7 * far

    random = InteractionEncoder([40, 40], init='random')
    table = random.tables[0].detach()
    assert 0.45 < float(table.std()) < 0.55
    near = (table[1:] - table[:-1]).norm(dim=1).mean()
    far = (table[20:] - table[:-20]).norm(dim=1).mean()
    assert near > 0.9 * far


@pytest.mark.parametrize('init', ['smooth', 'random'])
def test_reset_parameters(init: str) -> None:
    encoder = InteractionEncoder([6, 7], 4, init=init)
    before = [table.detach().clone() for table in encoder.tables]
    torch.manual_seed(1)
    encoder.reset_parameters()
    first = [table.detach().clone() for table in encoder.tables]
    assert not any(map(torch.equal, before, first))
    torch.manual_seed(1)
    encoder.reset_parameters()
    assert all(map(torch.equal, first, encoder.tables))


def test_config_rebuilds() -> None:
    encoder = InteractionEncoder([4, 5], 3, 'random')
    assert encoder.config() == {
        'axis_sizes': [4, 5],
        'channels': 3,
        'init': 'random',
    }
    twin = InteractionEncoder.from_config(encoder.config())
    assert twin.config() == encoder.config()
    assert str(twin) == str(encoder)


def test_interaction_errors() -> None:
    with pytest.raises(BCMError, match=r"smooth.*\(got 'zero'\)"):
        InteractionEncoder([4, 4], init='zero')
    with pytest.raises(BCMError, match=r'channels must be .* 1 \(got 0\)'):
        InteractionEncoder([4, 4], channels=0)
    data = planning_graph(random_graph(20, 60, seed=1))
    with pytest.raises(BCMError, match='use ContinuousInteractionEncoder'):
        InteractionEncoder.from_data(data)


def test_integer_codes_at_one_place_differ(grid: Data) -> None:
    data = grid.clone()
    data.coord[99] = data.coord[98]
    encoder = InteractionEncoder.from_data(data)
    assert 'coincident=1' in str(encoder)
    assert not torch.equal(*encoder(data)[98:])
    check_encoder(encoder, data)

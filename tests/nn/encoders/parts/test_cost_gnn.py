from __future__ import annotations

import torch
from torch.nn.functional import silu
from torch_geometric.data import Data

from bcm_pyg.nn.encoders.parts.cost_gnn import CostConv, CostGNN

EDGES = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 0]])


def test_conv_against_a_loop() -> None:
    conv = CostConv(3, 4, 2)
    x, edge = torch.randn(4, 3), torch.randn(4, 2)
    along, against = conv.lin_edge(edge).split(4, dim=1)
    rows = []
    for node in range(4):  # node 3 is isolated
        row = conv.lin_self(x[node])
        following = [
            silu(conv.lin_next(x[head]) + along[k])
            for k, (tail, head) in enumerate(EDGES.T.tolist())
            if tail == node
        ]
        preceding = [
            silu(conv.lin_past(x[tail]) + against[k])
            for k, (tail, head) in enumerate(EDGES.T.tolist())
            if head == node
        ]
        for heard in (following, preceding):
            if heard:
                row = row + torch.stack(heard).mean(0)
        rows.append(row)
    torch.testing.assert_close(conv(x, EDGES, edge), torch.stack(rows))


def test_rounds_add_up() -> None:
    gnn = CostGNN(3, 4, num_layers=2, edge_channels=2)
    assert str(gnn) == 'CostGNN(3, 4, num_layers=2)'
    x, edge = torch.randn(4, 3), torch.randn(4, 2)
    first = gnn.convs[0](x, EDGES, edge)
    expected = first + gnn.convs[1](silu(first), EDGES, edge)
    torch.testing.assert_close(gnn(x, EDGES, edge), expected)


def test_order_of_edges_does_not_matter() -> None:
    gnn = CostGNN(3, 4, num_layers=3, edge_channels=2)
    x, edge = torch.randn(4, 3), torch.randn(4, 2)
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(
        gnn(x, EDGES[:, order], edge[order]), gnn(x, EDGES, edge)
    )


def test_reset_parameters(diamond: Data) -> None:
    gnn = CostGNN(2, 4, num_layers=2, edge_channels=1)
    before = {key: value.clone() for key, value in gnn.state_dict().items()}
    gnn.reset_parameters()
    for key, value in gnn.state_dict().items():
        assert not torch.equal(value, before[key]), key

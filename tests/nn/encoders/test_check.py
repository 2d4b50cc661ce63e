from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers import ALL_ENCODERS, random_graph
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.nn import NodeEncoder, check_encoder, encoder_resolver


class Fourier(NodeEncoder):
    """What a user writes: ten lines."""

    per_node = True

    def __init__(self, num_axes: int, width: int) -> None:
        super().__init__()
        self.num_axes, self.out_channels = num_axes, width
        self.lin = torch.nn.Linear(num_axes, width)

    def forward(self, data: Data) -> Tensor:
        return self.lin(data.pos).sin()

    def config(self) -> dict[str, Any]:
        return {'num_axes': self.num_axes, 'width': self.out_channels}


@pytest.mark.parametrize('name', ALL_ENCODERS)
@pytest.mark.parametrize('num_axes', [1, 2, 3])
def test_good_encoders_on_float_coordinates(name: str, num_axes: int) -> None:
    data = random_graph(20, 50, seed=1, axes=num_axes)
    encoder = encoder_resolver(name, planning_graph(data))
    check_encoder(encoder, data)  # raw graphs are welcome here


@pytest.mark.parametrize('name', ALL_ENCODERS)
def test_good_encoders_on_a_grid(grid: Data, name: str) -> None:
    check_encoder(encoder_resolver(name, grid), grid)


def test_good_encoder_of_a_user(diamond: Data) -> None:
    check_encoder(Fourier(2, 5), diamond)


def test_good_module_that_is_no_node_encoder(diamond: Data) -> None:
    class Plain(torch.nn.Module):
        out_channels = 2

        def forward(self, data: Data) -> Tensor:
            return data.pos

    check_encoder(Plain(), diamond)


def test_good_encoder_with_frozen_parameters(diamond: Data) -> None:
    encoder = Fourier(2, 5)
    encoder.requires_grad_(False)
    check_encoder(encoder, diamond)


def test_checking_leaves_no_gradients(diamond: Data) -> None:
    encoder = Fourier(2, 5)
    check_encoder(encoder, diamond)
    assert all(parameter.grad is None for parameter in encoder.parameters())


class NoModule:
    out_channels = 2


class NoWidth(Fourier):
    def __init__(self) -> None:
        super().__init__(2, 5)
        del self.out_channels


class FloatWidth(Fourier):
    def __init__(self) -> None:
        super().__init__(2, 5)
        self.out_channels = 5.0  # type: ignore[assignment]


class NoTensor(Fourier):
    def forward(self, data: Data) -> Any:
        return (super().forward(data),)


class OtherWidth(Fourier):
    def forward(self, data: Data) -> Tensor:
        return super().forward(data)[:, 1:]


class OtherLength(Fourier):
    def forward(self, data: Data) -> Tensor:
        return super().forward(data)[1:]


class Double(Fourier):
    def forward(self, data: Data) -> Tensor:
        return super().forward(data).double()


class NotFinite(Fourier):
    def forward(self, data: Data) -> Tensor:
        return super().forward(data) / (data.pos[:, :1] - 2)  # node 3


class NotRepeatable(Fourier):
    def forward(self, data: Data) -> Tensor:
        return torch.nn.functional.dropout(super().forward(data), 0.5)


class Detached(Fourier):
    def forward(self, data: Data) -> Tensor:
        return super().forward(data).detach()


class Unused(Fourier):
    def __init__(self) -> None:
        super().__init__(2, 5)
        self.spare = torch.nn.Parameter(torch.ones(3))


class OtherProject(Fourier):
    def project(self, data: Data, weight: Tensor) -> Tensor:
        return 1.01 * super().project(data, weight)


class TransposedProject(Fourier):
    def project(self, data: Data, weight: Tensor) -> Tensor:
        return super().project(data, weight).T


class DoubleProject(Fourier):
    def project(self, data: Data, weight: Tensor) -> Tensor:
        return super().project(data, weight).double()


class LooksAround(Fourier):
    def forward(self, data: Data) -> Tensor:
        return super().forward(data) - data.pos.mean()


class NeedsEdges(Fourier):
    def forward(self, data: Data) -> Tensor:
        out = super().forward(data)
        tail, head = data.edge_index
        return out.index_add(0, head, out[tail])


class ForgetsRows(Fourier):
    def __init__(self) -> None:
        super().__init__(2, 5)
        self.width = 5

    def forward(self, data: Data) -> Tensor:
        out = super().forward(data)
        return out if data.get('edge_index') is not None else out[:1]


class ConfigLacks(Fourier):
    def config(self) -> dict[str, Any]:
        return {'num_axes': 2}


class ConfigLies(Fourier):
    def config(self) -> dict[str, Any]:
        return {'num_axes': 2, 'width': 6}


class ConfigIsNoJSON(Fourier):
    def config(self) -> dict[str, Any]:
        return {'num_axes': torch.tensor(2), 'width': 5}


@pytest.mark.parametrize(
    ('encoder', 'message'),
    [
        (NoModule(), 'NoModule must be a torch.nn.Module'),
        (Fourier, 'Fourier is a class: pass an encoder made of it'),
        (NoWidth(), r'int attribute out_channels \(got None\)'),
        (FloatWidth(), r'out_channels \(got 5.0\)'),
        (NoTensor(2, 5), r'must return a tensor \(got tuple\)'),
        (OtherWidth(2, 5), r'shape \(5, 5\) \(got torch.float32.*\(5, 4\)'),
        (OtherLength(2, 5), r'shape \(5, 5\) \(got torch.float32.*\(4, 5\)'),
        (Double(2, 5), 'float32 embeddings.*got torch.float64'),
        (NotFinite(2, 5), 'node 3 an embedding that is not finite'),
        (NotRepeatable(2, 5), 'another result on the second call'),
        (Detached(2, 5), 'has parameters but its output has no gradient'),
        (Unused(), "no gradient arrives at parameter 'spare'"),
        (OtherProject(2, 5), r'project\(\) does not agree with forward'),
        (TransposedProject(2, 5), r'project\(\) does not agree with forward'),
        (DoubleProject(2, 5), r'project\(\) does not agree with forward'),
        (LooksAround(2, 5), 'claims per_node, but gives other embeddings'),
        (NeedsEdges(2, 5), 'claims per_node, but fails'),
        (ForgetsRows(), 'claims per_node, but gives other embeddings'),
        (ConfigLacks(2, 5), r'config\(\) does not rebuild it .*width'),
        (ConfigLies(2, 5), 'rebuilds an encoder of other shapes'),
        (ConfigIsNoJSON(2, 5), r'config\(\) does not rebuild it .*JSON'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_bad_encoders(diamond: Data, encoder: Any, message: str) -> None:
    with pytest.raises(BCMError, match=message):
        check_encoder(encoder, diamond)


def test_a_claim_not_made_is_not_checked(diamond: Data) -> None:
    encoder = LooksAround(2, 5)
    encoder.per_node = False
    check_encoder(encoder, diamond)

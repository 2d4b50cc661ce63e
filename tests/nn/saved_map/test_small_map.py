from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers import ALL_ENCODERS, assert_same_plan, tiny_map
from map_folders import change_weights, in_config
from safetensors.torch import load_file
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, FitConfig, Planner, fit
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.nn.quantize import DTYPES, dequantize, quantize

SMALL = [dtype for dtype in DTYPES if dtype != 'float32']


@pytest.mark.parametrize('dtype', SMALL)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_round_trip_of_small_maps(
    grid: Data, tmp_path: Path, encoder: str, dtype: str
) -> None:
    model = BCM.from_data(grid, encoder)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    model.save(tmp_path / 'map', dtype=dtype)
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])  # it was not changed itself
    other = BCM.load(tmp_path / 'map', grid)
    assert (model.info.dtype, other.info.dtype) == ('float32', dtype)
    assert str(other) == str(model)
    steps = {'float16': 2**-11, 'int8': 0.5 / 127 * (1 + 2**-7)}
    for key, value in other.state_dict().items():
        assert value.dtype == before[key].dtype
        error = (value - before[key]).abs().double().max()
        assert error <= steps[dtype] * before[key].abs().max()
    for key, value in other.named_buffers():
        assert torch.equal(value, before[key])
    assert other.transition.lin2.weight.requires_grad
    # Once rounded, it is written and read to the bit, in any dtype.
    for again in (dtype, 'float32'):
        other.save(tmp_path / again, dtype=again)
        third = BCM.load(tmp_path / again, grid)
        assert third.info.dtype == again
        for key, value in third.state_dict().items():
            assert torch.equal(value, other.state_dict()[key])
    names = [os.listdir(tmp_path / name) for name in ('map', dtype)]
    assert sorted(names[0]) == sorted(names[1])


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_storage_is_what_the_file_holds(
    grid: Data, tmp_path: Path, encoder: str, dtype: str
) -> None:
    model = BCM.from_data(grid, encoder)
    model.save(tmp_path, dtype=dtype)
    (path,) = tmp_path.glob('*.safetensors')
    stored = load_file(path)
    held = sum(v.nbytes for k, v in stored.items() if k != 'cost_scale')
    assert model.storage_bytes(dtype) == held
    assert BCM.load(tmp_path, grid).storage_bytes() == held
    assert model.storage_bytes() == model.storage_bytes('float32')
    assert held < path.stat().st_size < held + 4000


def test_storage_of_small_maps() -> None:
    data = weighted_grid('ushape', 40, 'wide', 42)
    model = BCM.from_data(data, hidden_channels=96)
    weights, tables, biases = 96 * (192 + 96 + 96), 2 * 40 * 64, 3 * 96
    assert model.num_parameters() == weights + tables + biases == 42_272
    assert model.storage_bytes('float32') == 4 * 42_272
    assert model.storage_bytes('float16') == 2 * 42_272
    scales = 96 * (2 + 1 + 1) + 2 * 40
    assert model.storage_bytes('int8') == (
        weights + tables + 2 * (biases + scales)
    )
    assert model.storage_bytes('int8') == 43_488
    assert BCM.paper(data).storage_bytes('int8') == 189_856
    with pytest.raises(BCMError, match=r"dtype must be one of.*got 'half'"):
        model.storage_bytes('half')


@pytest.mark.parametrize('dtype', SMALL)
def test_planning_with_small_maps(
    grid: Data, tmp_path: Path, dtype: str
) -> None:
    """As with a map whose weights were rounded by hand."""
    model = BCM.from_data(grid)
    model.save(tmp_path, dtype=dtype)
    with torch.no_grad():
        for value in model.parameters():
            if dtype == 'int8' and value.dim() > 1:
                value.copy_(dequantize(*quantize(value)))
            else:
                value.copy_(value.half())
    starts, goals = torch.arange(50), torch.arange(99, 49, -1)
    assert_same_plan(
        Planner(BCM.load(tmp_path, grid), grid)(starts, goals),
        Planner(model, grid)(starts, goals),
    )


def test_training_on_forgets_the_dtype(grid: Data, tmp_path: Path) -> None:
    BCM.from_data(grid).save(tmp_path, dtype='int8')
    model = BCM.load(tmp_path, grid)
    assert model.storage_bytes() == model.storage_bytes('int8')
    fit(model, grid, FitConfig(steps=1))
    assert model.info.dtype == 'float32'
    model = BCM.load(tmp_path, grid)
    model.reset_parameters()
    assert model.storage_bytes() == model.storage_bytes('float32')


def test_numbers_that_half_precision_cannot_hold(
    grid: Data, tmp_path: Path
) -> None:
    model = BCM.from_data(grid)
    with torch.no_grad():
        model.transition.lin2.weight[0, 0] = torch.finfo(torch.float32).max
        model.transition.lin2.bias[0] = 1e30
    model.save(tmp_path, dtype='float16')  # stays float32
    other = BCM.load(tmp_path, grid)
    assert torch.equal(
        other.transition.lin2.weight, model.transition.lin2.weight
    )
    assert other.transition.lin2.bias[0].item() == pytest.approx(1e30)
    model.save(tmp_path, dtype='int8')  # scales have the range of float32
    other = BCM.load(tmp_path, grid)
    assert other.transition.lin2.weight[0, 0].item() == pytest.approx(
        torch.finfo(torch.float32).max, rel=0.004
    )


# Damaged --------------------------------------------------------------------

W = 'transition.lin2.weight'
B = 'transition.lin2.bias'


T = 'encoder.tables.0'
ONE = torch.ones(1, 1, dtype=torch.bfloat16)
NAN, INF = float('nan'), float('inf')


def damaged_scale(value: float) -> Callable[[dict[str, Tensor]], None]:
    def change(state: dict[str, Tensor]) -> None:
        state[W + '.scale'][3, 1] = value

    return change


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda s: s.pop(W + '.scale'), 'no tensor .*lin2.weight.scale'),
        (
            lambda s: s.update({W + '.scale': s[W + '.scale'].float()}),
            'weight.scale is torch.float32 .*not torch.bfloat16',
        ),
        (
            lambda s: s.update({W + '.scale': s[W + '.scale'][:, :1].clone()}),
            r'weight.scale .*not torch.bfloat16 of shape \(256, 2\)',
        ),
        (damaged_scale(INF), 'lin2.weight has scales that are not positive'),
        (damaged_scale(NAN), 'lin2.weight has scales that are not positive'),
        (damaged_scale(0.0), 'lin2.weight has scales that are not positive'),
        (damaged_scale(-1.0), 'lin2.weight has scales that are not positive'),
        (damaged_scale(3e38), 'lin2.weight has values that are not finite'),
        (lambda s: s[W][3].fill_(-128), 'lin2.weight has integers below -127'),
        (lambda s: s.update({W: s[W].half()}), 'is torch.float16.*torch.int8'),
        (lambda s: s.update({T: s[T].half()}), 'tables.0 is torch.float16'),
        (lambda s: s.update({B: s[B].float()}), 'not go with its largest'),
        (lambda s: s[B].fill_(1e-7), 'not go with its largest'),
        (
            lambda s: s.update({B: s[B].to(torch.int8), B + '.scale': ONE}),
            'lin2.bias is torch.int8',
        ),
        (lambda s: s.update({W: s[W][:, :9].clone()}), r'shape \(256, 9\)'),
        (lambda s: s.update({W: s[W].to(torch.uint8)}), 'torch.uint8'),
        (lambda s: s.update({B: s[B].to(torch.int8)}), 'torch.int8'),
        (lambda s: s.update({B: s[B].bfloat16()}), 'torch.bfloat16'),
        (
            lambda s: s.update({'cost_scale': s['cost_scale'].half()}),
            'cost_scale is torch.float16',
        ),
        (
            lambda s: s.update({B + '.scale': torch.ones(1, 1)}),
            r'unknown tensor .*lin2.bias.scale',
        ),
    ],
)
def test_damaged_small_maps(
    grid: Data,
    tmp_path: Path,
    change: Callable[[dict[str, Tensor]], object],
    message: str,
) -> None:
    BCM.from_data(grid, hidden_channels=256).save(tmp_path, dtype='int8')
    change_weights(tmp_path, change)
    with pytest.raises(BCMError, match=message):
        BCM.load(tmp_path, grid)


def test_a_small_file_under_the_name_of_a_large_one(
    grid: Data, tmp_path: Path
) -> None:
    BCM.from_data(grid).save(tmp_path, dtype='float16')
    in_config('dtype', value='float32')(tmp_path)
    with pytest.raises(BCMError, match='is torch.float16 of shape'):
        BCM.load(tmp_path, grid)
    BCM.from_data(grid).save(tmp_path)
    for dtype in SMALL:
        in_config('dtype', value=dtype)(tmp_path)
        with pytest.raises(BCMError, match='is torch.float32'):
            BCM.load(tmp_path, grid)


def test_matrices_of_tiny_maps_are_integers(grid: Data, tmp_path: Path) -> None:
    model = tiny_map(grid)
    model.save(tmp_path, dtype='int8')
    other = BCM.load(tmp_path, grid).state_dict()
    for key, value in model.named_parameters():
        if value.dim() > 1:
            value = dequantize(*quantize(value.detach()))
        else:
            value = value.half().float()
        assert torch.equal(other[key], value), key

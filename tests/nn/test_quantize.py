from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bcm_pyg.nn.quantize import GROUP, compress, dequantize, quantize


def slow_quantize(value: Tensor) -> tuple[list, list]:
    """Number by number, of a matrix, along its longer side."""
    if value.size(0) > value.size(1):
        codes, scales = slow_quantize(value.T)
        return [list(row) for row in zip(*codes, strict=True)], scales
    codes, scales = [], []
    for row in value.tolist():
        codes.append([])
        scales.append([])
        for begin in range(0, len(row), GROUP):
            group = row[begin : begin + GROUP]
            step = torch.tensor(max(map(abs, group))) / 127
            scale = float(step.bfloat16()) or 1.0
            scales[-1].append(scale)
            codes[-1] += [
                max(-127, min(127, round(float(torch.tensor(x) / scale))))
                for x in group
            ]
    return codes, scales


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 4),
    st.integers(0, 3 * GROUP),
    st.booleans(),
    st.integers(-30, 30),
    st.integers(0, 2**16),
)
def test_integers_and_scales(
    rows: int, columns: int, tall: bool, power: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows, columns = (columns, rows) if tall else (rows, columns)
    value = torch.randn(rows, columns, generator=generator) * 10.0**power
    codes, scale = quantize(value)
    expected, scales = slow_quantize(value)
    assert codes.dtype == torch.int8
    assert codes.tolist() == expected or value.numel() == 0
    assert scale.tolist() == scales or value.numel() == 0
    short, long = sorted((rows, columns))
    assert scale.shape == (short, -(-long // GROUP))
    assert codes.is_contiguous()
    again = dequantize(codes, scale)
    assert again.dtype == torch.float32
    assert again.shape == value.shape
    step = scale.float().repeat_interleave(GROUP, 1)[:, :long]
    step = step.T if rows > columns else step
    assert bool(((again - value).abs() <= 0.5001 * step).all())
    codes2, scale2 = quantize(again)
    assert torch.equal(codes2, codes)
    assert torch.equal(scale2, scale)


def test_more_than_two_dimensions() -> None:
    value = torch.randn(3, 5, 40)
    codes, scale = quantize(value)
    assert codes.shape == (3, 5, 40)
    assert scale.shape == (3, 2)
    flat = quantize(value.flatten(1))
    assert torch.equal(codes.flatten(1), flat[0])
    assert torch.equal(scale, flat[1])
    assert torch.equal(dequantize(codes, scale).flatten(1), dequantize(*flat))


def test_zeros_stay_zeros() -> None:
    codes, scale = quantize(torch.zeros(2, 3))
    assert codes.tolist() == [[0] * 3] * 2
    assert dequantize(codes, scale).tolist() == [[0.0] * 3] * 2


def test_which_tensors_are_rounded() -> None:
    large = torch.randn(128, 128)
    state = {
        'large': large,
        'flat': torch.randn(2**14),
        'small': torch.randn(3, 2),
        'none': torch.zeros(0, 5),
        'zero': torch.zeros(3),
        'huge': torch.tensor([1.0, 1e5]),
        'tiny': torch.tensor([1e-9, 1e-6]),
        'number': torch.tensor(2),
        'double': torch.ones(2, dtype=torch.float64),
        'buffer': torch.randn(128, 128),
    }
    parameters = [key for key in state if key != 'buffer']
    assert compress(state, parameters, 'float32') == state
    half = compress(state, parameters, 'float16')
    assert half.keys() == state.keys()
    rounded = {k for k, v in half.items() if v.dtype == torch.float16}
    assert rounded == {'large', 'flat', 'small', 'zero'}
    assert torch.equal(half['large'], large.half())
    assert all(half[key] is state[key] for key in state.keys() - rounded)
    whole = compress(state, parameters, 'int8')
    matrices = {'large', 'small'}
    scales = {f'{key}.scale' for key in matrices}
    assert whole.keys() == state.keys() | scales
    assert {whole[key].dtype for key in matrices} == {torch.int8}
    assert {whole[key].dtype for key in scales} == {torch.bfloat16}
    same = state.keys() - matrices
    assert all(torch.equal(whole[key], half[key]) for key in same)

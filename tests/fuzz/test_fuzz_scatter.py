"""scatter_min of anything: what a loop says, or one clear error."""

from __future__ import annotations

import math

import torch
from hostile import tensors, tensors_of, things
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bcm_pyg import BCMError
from bcm_pyg.utils import scatter_min

INF = float('inf')


def slow_scatter_min(
    src: Tensor, index: list[int], size: int
) -> tuple[list[float], list[int]]:
    """Of a vector, entry by entry."""
    value, place = [INF] * size, [-1] * size
    for entry, group in enumerate(index):
        new, old = float(src[entry]), value[group]
        if place[group] < 0 or new < old:
            value[group], place[group] = new, entry
        elif math.isnan(new) and not math.isnan(old):
            value[group], place[group] = new, entry
    return value, place


def same(one: float, two: float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))


@settings(max_examples=1500, deadline=None)
@given(
    st.integers(0, 6).flatmap(
        lambda size: st.tuples(
            tensors_of((size,)),
            st.lists(st.integers(-1, 4), min_size=size, max_size=size),
        )
    ),
    st.none() | st.integers(-1, 6),
)
def test_vectors(case: tuple[Tensor, list[int]], size: int | None) -> None:
    src, index = case
    fits = all(0 <= group for group in index)
    if size is not None:
        fits &= size >= 0 and all(group < size for group in index)
    try:
        value, place = scatter_min(src, torch.tensor(index).long(), 0, size)
    except BCMError:
        plain = src.is_floating_point() and not src.is_sparse
        assert not (fits and plain and not src.is_meta)
        return
    assert fits
    if size is None:
        size = max(index, default=-1) + 1
    wanted = slow_scatter_min(src.detach(), index, size)
    assert all(map(same, value.tolist(), wanted[0]))
    assert place.tolist() == wanted[1]


@settings(max_examples=1000, deadline=None)
@given(
    st.one_of(tensors(), things),
    st.one_of(tensors(), things),
    st.one_of(st.integers(-4, 4), things),
    st.one_of(st.none(), st.integers(-2, 9), things),
    st.sampled_from([None, 'native', 'torch_scatter', 'x', 1]),
)
def test_anything(
    src: object, index: object, dim: object, size: object, backend: object
) -> None:
    try:
        value, place = scatter_min(src, index, dim, size, backend)  # type: ignore[arg-type]
    except BCMError as error:
        assert str(error)
        return
    assert isinstance(src, Tensor) and isinstance(dim, int)
    assert value.shape == place.shape
    assert value.dtype == src.dtype

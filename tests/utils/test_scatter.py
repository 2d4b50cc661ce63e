import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bcm_pyg import BCMError
from bcm_pyg.typing import WITH_TORCH_SCATTER
from bcm_pyg.utils import scatter_amin, scatter_min

INF, NAN = float('inf'), float('nan')

# CI with the extra `scatter` sets the variable, so that a broken installation
# fails instead of leaving the second backend unproven.
needs_torch_scatter = pytest.mark.skipif(
    not WITH_TORCH_SCATTER and not os.environ.get('BCM_PYG_REQUIRE_SCATTER'),
    reason='torch-scatter is not installed',
)
BACKENDS = [
    'native',
    pytest.param('torch_scatter', marks=needs_torch_scatter),
]
each_backend = pytest.mark.parametrize('backend', BACKENDS)


def slow_scatter_min(
    src: Tensor, index: Tensor, dim: int, dim_size: int
) -> tuple[Tensor, Tensor]:
    """The definition, one entry at a time."""
    rows = src.movedim(dim, 0)
    value = torch.full((dim_size, *rows.shape[1:]), INF, dtype=src.dtype)
    arg = torch.full(value.shape, -1)
    for e, n in enumerate(index.tolist()):
        for rest in np.ndindex(rows.shape[1:]):
            at = (n, *rest)
            new, old = rows[(e, *rest)], value[at]
            if arg[at] == -1 or new < old or (new.isnan() and not old.isnan()):
                value[at], arg[at] = new, e
    return value.movedim(0, dim), arg.movedim(0, dim)


def assert_same(got: tuple[Tensor, Tensor], want: tuple[Tensor, Tensor]):
    torch.testing.assert_close(got[0], want[0], rtol=0, atol=0, equal_nan=True)
    assert got[1].tolist() == want[1].tolist()


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tensor, Tensor, int, int]:
    """Values with many ties, NaN and infinities on one to three axes."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dim = draw(st.integers(0, len(shape) - 1))
    shape[dim] = draw(st.integers(0, 10))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    largest = torch.finfo(dtype).max
    number = st.sampled_from(
        [-INF, -largest, -1.5, -0.0, 0.0, 1.0, 2.5, largest, INF, NAN]
    )
    size = torch.Size(shape).numel()
    values = draw(st.lists(number, min_size=size, max_size=size))
    groups = draw(
        st.lists(st.integers(0, 4), min_size=shape[dim], max_size=shape[dim])
    )
    dim_size = draw(st.integers(max(groups, default=-1) + 1, 7))
    src = torch.tensor(values, dtype=dtype).reshape(shape)
    return src, torch.tensor(groups, dtype=torch.long), dim, dim_size


def test_torch_scatter_is_there_if_required():
    if not os.environ.get('BCM_PYG_REQUIRE_SCATTER'):
        pytest.skip('BCM_PYG_REQUIRE_SCATTER is not set')
    assert WITH_TORCH_SCATTER


@each_backend
def test_value_and_arg(backend):
    src = torch.tensor([3.0, 1.0, 2.0, 5.0, 4.0])
    index = torch.tensor([0, 0, 2, 2, 3])
    value, arg = scatter_min(src, index, dim_size=5, backend=backend)
    assert value.tolist() == [1.0, INF, 2.0, 4.0, INF]
    assert arg.tolist() == [1, -1, 2, 4, -1]
    assert value.dtype == torch.float32
    assert arg.dtype == torch.long


@each_backend
def test_dim_size_defaults_to_the_largest_group(backend):
    index = torch.tensor([2, 0])
    value, arg = scatter_min(torch.ones(2), index, backend=backend)
    assert value.tolist() == [1.0, INF, 1.0]
    assert arg.tolist() == [1, -1, 0]


@each_backend
def test_lowest_id_wins_ties(backend):
    src = torch.tensor([2.0, 1.0, 1.0, 1.0, 0.0, -0.0])
    index = torch.tensor([0, 0, 0, 1, 2, 2])
    value, arg = scatter_min(src, index, backend=backend)
    assert value.tolist() == [1.0, 1.0, 0.0]
    assert arg.tolist() == [1, 3, 4]


@each_backend
def test_nan_wins_its_group_alone(backend):
    src = torch.tensor([1.0, NAN, NAN, -INF, 2.0])
    index = torch.tensor([0, 0, 0, 0, 1])
    value, arg = scatter_min(src, index, backend=backend)
    assert value.isnan().tolist() == [True, False]
    assert value[1] == 2.0
    assert arg.tolist() == [1, 4]


@each_backend
def test_infinities_are_values_like_others(backend):
    largest = torch.finfo(torch.float32).max
    src = torch.tensor([INF, INF, 3.0, -INF, largest, INF, -INF, -INF])
    index = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    value, arg = scatter_min(src, index, backend=backend, dim_size=5)
    assert value.tolist() == [INF, -INF, largest, -INF, INF]
    assert arg.tolist() == [0, 3, 4, 6, -1]  # a group of +inf is not empty


@each_backend
@pytest.mark.parametrize('dim', [-3, -2, -1, 0, 1, 2])
def test_any_dim(dim, backend):
    src = torch.randint(0, 3, (3, 4, 5)).float()
    index = torch.randint(0, 3, (src.size(dim),))
    got = scatter_min(src, index, dim, dim_size=4, backend=backend)
    assert got[0].shape[dim] == got[1].shape[dim] == 4
    assert_same(got, slow_scatter_min(src, index, dim % 3, 4))


@each_backend
def test_nothing_to_reduce(backend):
    src, index = torch.empty(0, 2), torch.empty(0, dtype=torch.long)
    value, arg = scatter_min(src, index, dim_size=3, backend=backend)
    assert value.tolist() == [[INF, INF]] * 3
    assert arg.tolist() == [[-1, -1]] * 3
    value, arg = scatter_min(src, index, backend=backend)
    assert value.shape == arg.shape == (0, 2)


@settings(max_examples=100, deadline=None)
@given(problem=problems())
def test_native_agrees_with_slow_loop(problem):
    got = scatter_min(*problem, backend='native')
    assert_same(got, slow_scatter_min(*problem))
    amin = scatter_amin(*problem)
    torch.testing.assert_close(amin, got[0], rtol=0, atol=0, equal_nan=True)


@needs_torch_scatter
@settings(max_examples=200, deadline=None)
@given(problem=problems())
def test_backends_agree(problem):
    native = scatter_min(*problem, backend='native')
    assert_same(scatter_min(*problem, backend='torch_scatter'), native)


@each_backend
def test_default_backend_on_cpu_gives_the_same(backend):
    src, index = torch.rand(20, 3), torch.randint(0, 6, (20,))
    assert_same(
        scatter_min(src, index), scatter_min(src, index, backend=backend)
    )


@each_backend
@pytest.mark.parametrize('dim', [0, 1])
def test_gradcheck(dim, backend):
    src = torch.randperm(24).double().reshape(6, 4).requires_grad_()
    index = torch.randint(0, 3, (src.size(dim),))

    def finite_values(src: Tensor) -> Tensor:
        value, arg = scatter_min(src, index, dim, dim_size=4, backend=backend)
        return value.masked_fill(arg < 0, 0.0)

    assert torch.autograd.gradcheck(finite_values, (src,))


@each_backend
def test_gradient_goes_to_the_lowest_winner(backend):
    src = torch.tensor([2.0, 1.0, 1.0, 7.0, 7.0], requires_grad=True)
    index = torch.tensor([0, 0, 0, 1, 1])
    value, arg = scatter_min(src, index, dim_size=3, backend=backend)
    assert value.tolist() == [1.0, 7.0, INF]
    assert not arg.requires_grad
    (value[:2] * torch.tensor([10.0, 3.0])).sum().backward()
    assert src.grad.tolist() == [0.0, 10.0, 0.0, 3.0, 0.0]


@each_backend
def test_empty_groups_and_infinities_give_no_nan_gradient(backend):
    src = torch.tensor([[INF, 1.0], [2.0, -INF]], requires_grad=True)
    index = torch.tensor([1, 1])
    value, _ = scatter_min(src, index, dim_size=3, backend=backend)
    assert value.tolist() == [[INF, INF], [2.0, -INF], [INF, INF]]
    value.sum().backward()
    assert src.grad.tolist() == [[0.0, 0.0], [1.0, 1.0]]


@each_backend
def test_same_with_and_without_gradient(backend):
    src = torch.tensor([INF, NAN, 1.0, 1.0, -INF])
    index = torch.tensor([0, 1, 3, 3, 4])
    plain = scatter_min(src, index, dim_size=6, backend=backend)
    value, arg = scatter_min(
        src.clone().requires_grad_(), index, dim_size=6, backend=backend
    )
    assert value.requires_grad
    assert_same((value.detach(), arg), plain)


def test_compiles_to_one_graph():
    compiled = torch.compile(scatter_min, fullgraph=True, backend='eager')
    src = torch.tensor([[3.0, 1.0], [1.0, 1.0], [0.0, NAN]])
    index = torch.tensor([0, 0, 2])
    want = scatter_min(src, index, dim_size=4)
    assert_same(compiled(src, index, dim_size=4), want)
    twin = src.clone().requires_grad_()
    value, _ = compiled(twin, index, dim_size=4)
    value[0].sum().backward()
    assert twin.grad.tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ('src', 'index', 'options', 'message'),
    [
        (torch.ones(2).long(), [0, 0], {}, 'src must be of floating dtype'),
        (torch.tensor(1.0), [0], {}, 'src must have at least one dimension'),
        (torch.ones(2), [0, 0], {'dim': 1}, r'dim must lie in \[-1, 0\]'),
        (torch.ones(2), [0, 0], {'dim': -2}, r'dim must lie in .*got -2'),
        (torch.ones(2), [0, 0, 0], {}, r'long vector of length 2 .*\(3,\)'),
        (torch.ones(2), [[0, 0]], {}, r'long vector of length 2 .*\(1, 2\)'),
        (torch.ones(2), [0.0, 0.0], {}, 'long vector .*float32'),
        (torch.ones(3), [0, -1, -2], {}, 'got -1 at position 1'),
        (torch.ones(3), [0, 2, 3], {'dim_size': 2}, r'\[0, 2\).*2 at position'),
        (torch.ones(2), [0, 0], {'backend': 'cub'}, "backend .*got 'cub'"),
    ],
)
def test_errors(src, index, options, message):
    with pytest.raises(BCMError, match=message):
        scatter_min(src, torch.tensor(index), **options)


def test_missing_torch_scatter_says_what_to_install(monkeypatch):
    monkeypatch.setattr('bcm_pyg.utils.scatter.WITH_TORCH_SCATTER', False)
    src, index = torch.ones(1), torch.zeros(1, dtype=torch.long)
    with pytest.raises(BCMError, match='pip install .*torch-scatter'):
        scatter_min(src, index, backend='torch_scatter')
    assert scatter_min(src, index)[0].tolist() == [1.0]

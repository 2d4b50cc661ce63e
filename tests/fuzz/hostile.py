"""Inputs that nobody should hand in, for the fuzz tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
]
NUMBERS = [
    *(0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.0),
    *(float('nan'), float('inf'), -float('inf')),
    *(1e-45, 1e-38, 1e30, 3e38, 1e300, 2.0**53, 2.0**62),
]

#: What may stand in the place of anything.
things = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.lists(st.integers(-1, 3), max_size=3),
    st.just({}),
    st.just(object()),
)


@st.composite
def tensors(draw: st.DrawFn, max_size: int = 5) -> Tensor:
    """Any shape, any type, any numbers, any memory layout."""
    shape = draw(st.lists(st.integers(0, max_size), max_size=3))
    return draw(tensors_of(tuple(shape)))


@st.composite
def tensors_of(draw: st.DrawFn, shape: tuple[int, ...]) -> Tensor:
    """Of one shape, all else open."""
    count = int(np.prod(shape, dtype=int))
    values = draw(
        st.lists(st.sampled_from(NUMBERS), min_size=count, max_size=count)
    )
    out = torch.tensor(values, dtype=torch.float64).reshape(shape)
    out = out.to(draw(st.sampled_from(DTYPES)))
    kind = draw(st.integers(0, 11))
    if kind == 0 and out.dim() > 1:
        out = out.transpose(0, -1).contiguous().transpose(0, -1)
    elif kind == 1 and out.is_floating_point():
        out.requires_grad_()
    elif kind == 2 and out.dim() > 0:
        out = out.to_sparse()
    elif kind == 3:
        out = out.to('meta')
    return out


@st.composite
def graphs(draw: st.DrawFn) -> Data:
    """A small graph of which something may be wrong."""
    num_nodes = draw(st.integers(0, 6))
    num_edges = draw(st.integers(0, 9))
    ids = st.integers(0, max(0, num_nodes - 1))
    ends = st.lists(ids, min_size=num_edges, max_size=num_edges)
    good = st.sampled_from([0.0, 0.25, 1.0, 1.0, 2.5, 7.0])
    costs = st.lists(good, min_size=num_edges, max_size=num_edges)
    places = st.lists(
        st.lists(
            st.sampled_from([0.0, 1.0, 2.5, -4.0]), min_size=2, max_size=2
        ),
        min_size=num_nodes,
        max_size=num_nodes,
    )
    data = Data(
        pos=torch.tensor(draw(places)).reshape(num_nodes, 2),
        edge_index=torch.tensor([draw(ends), draw(ends)]).long(),
        edge_cost=torch.tensor(draw(costs)),
    )
    changes: dict[str, Any] = {
        'pos': tensors_of((num_nodes, draw(st.integers(0, 3)))),
        'edge_index': tensors_of((2, num_edges)),
        'edge_cost': tensors_of((num_edges,)),
        'edge_weight': tensors_of((num_edges,)),
        'edge_attr': tensors_of((num_edges, 1)),
        'coord': tensors_of((num_nodes, 2)),
        'num_nodes': st.integers(-1, 9),
        'num_edges': st.integers(-1, 9),
        'x': tensors_of((num_nodes, 1)),
    }
    names = st.sampled_from([*changes])
    for name in draw(st.lists(names, max_size=2, unique=True)):
        value = st.one_of(changes[name], tensors(), things)
        data[name] = draw(value)
    for name in draw(st.lists(names, max_size=1)):
        if name in data:
            del data[name]
    return data


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """A file after up to three accidents."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 8))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            content = content[:start]
        elif kind == 1:
            new = draw(st.binary(max_size=8))
            content = content[:start] + new + content[start + length :]
        elif kind == 2:
            number = str(draw(st.integers(-2, 10**12))).encode()
            content = content[:start] + number + content[start + length :]
        else:
            end = min(len(content), start + 20 * length)
            content = content[:end] + content[start:end] + content[end:]
    return content

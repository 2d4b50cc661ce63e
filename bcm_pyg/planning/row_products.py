from __future__ import annotations

import warnings
from functools import cache

import torch
from torch import Tensor

#: From so many rows on, products without a copy are the faster ones.
MANY_ROWS = 64


def row_products(left: Tensor, right: Tensor, index: Tensor) -> Tensor:
    r"""Dot products with some rows of a table,
    :math:`p_{bw} = l_b \cdot r_{i_{bw}}`.

    Many of them on a CPU are computed where the rows are, by the product that
    PyTorch has for the entries of a sparse matrix; otherwise rows are copied
    first.

    Args:
        left (torch.Tensor): :obj:`[B, H]`.
        right (torch.Tensor): The table, :obj:`[E, H]`, contiguous.
        index (torch.Tensor): Rows of the table, :obj:`[B, W]`.
    """
    if index.numel() == 0 or index.size(0) < MANY_ROWS or left.is_cuda:
        rows = right.index_select(0, index.view(-1))
        rows = rows.view(*index.shape, right.size(1))
        return torch.bmm(left[:, None], rows.transpose(1, 2)).squeeze(1)
    _silence_sparse()
    end = index.size(1) * (index.size(0) + 1)
    wanted = torch.sparse_csr_tensor(
        torch.arange(0, end, index.size(1), device=index.device),
        index.reshape(-1),
        left.new_zeros(index.numel()),
        (index.size(0), right.size(0)),
        check_invariants=False,
    )
    product = torch.sparse.sampled_addmm(wanted, left, right.t(), beta=0.0)
    return product.values().view(index.shape)


@cache
def _silence_sparse() -> None:
    """Lets PyTorch say that sparse matrices are in beta, to nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        torch.eye(1).to_sparse_csr()

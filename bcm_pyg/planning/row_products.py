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
    few = index.numel() == 0 or index.size(0) < MANY_ROWS
    on_cpu = left.device.type == 'cpu'
    if few or not on_cpu or not _has_sampled_products():
        rows = right.index_select(0, index.view(-1))
        rows = rows.view(*index.shape, right.size(1))
        return torch.bmm(left[:, None], rows.transpose(1, 2)).squeeze(1)
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
def _has_sampled_products() -> bool:
    """Whether this build of PyTorch has them; some lack sparse products.

    Asked once, it also lets PyTorch say to nobody that sparse matrices are in
    beta.
    """
    one = torch.ones(1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            torch.sparse.sampled_addmm(one.to_sparse_csr(), one, one)
        except RuntimeError:
            return False
    return True

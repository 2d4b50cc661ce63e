from __future__ import annotations

import pytest
import torch

from bcm_pyg.planning import row_products as module
from bcm_pyg.planning.row_products import MANY_ROWS, row_products


@pytest.mark.parametrize('sampled', [True, False])
@pytest.mark.parametrize('width', [0, 1, 3])
@pytest.mark.parametrize('rows', [0, 1, MANY_ROWS - 1, MANY_ROWS, 300])
def test_as_one_by_one(
    rows: int, width: int, sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module._has_sampled_products()
    monkeypatch.setattr(module, '_has_sampled_products', lambda: sampled)
    torch.manual_seed(0)
    left, right = torch.randn(rows, 20), torch.randn(17, 20)
    index = torch.randint(17, (rows, width))  # some come twice
    got = row_products(left, right, index)
    assert got.shape == (rows, width)
    for b in range(rows):
        for w in range(width):
            expected = float((left[b] * right[index[b, w]]).sum())
            assert float(got[b, w]) == pytest.approx(expected, abs=1e-5)


def test_rows_that_are_not_asked_for_may_be_anything() -> None:
    left, right = torch.ones(MANY_ROWS, 4), torch.ones(3, 4)
    right[1] = float('nan')
    index = torch.tensor([0, 2]).repeat(MANY_ROWS, 1)
    assert row_products(left, right, index).tolist() == [[4, 4]] * MANY_ROWS

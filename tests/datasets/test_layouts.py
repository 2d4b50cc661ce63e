import numpy as np
import pytest
from scipy.ndimage import label

from bcm_pyg import BCMError
from bcm_pyg.datasets import LAYOUTS, layout_mask


def picture(mask: np.ndarray) -> list[str]:
    return [''.join('#' if cell else '.' for cell in row) for row in mask]


def test_ushape():
    assert picture(layout_mask('ushape', 10)) == [
        '..........',
        '..........',
        '.#......#.',
        '.#......#.',
        '.#......#.',
        '.#......#.',
        '.########.',
        '..........',
        '..........',
        '..........',
    ]


def test_block():
    assert picture(layout_mask('block', 10)) == [
        '..........',
        '..........',
        '..........',
        '..........',
        '....##....',
        '....##....',
        '..........',
        '..........',
        '..........',
        '..........',
    ]


def test_wall():
    assert picture(layout_mask('wall', 5)) == [
        '..#..',
        '..#..',
        '.....',
        '..#..',
        '..#..',
    ]


def test_open():
    assert picture(layout_mask('open', 2)) == ['..', '..']


@pytest.mark.parametrize(
    ('layout', 'side', 'blocked'),
    [
        ('ushape', 20, 16),
        ('ushape', 40, 64),
        ('ushape', 60, 144),
        ('block', 20, 16),
        ('block', 40, 64),
        ('block', 60, 144),
        ('wall', 20, 19),
        ('wall', 40, 39),
        ('wall', 60, 59),
        ('open', 40, 0),
    ],
)
def test_number_of_blocked_cells(layout, side, blocked):
    mask = layout_mask(layout, side)
    assert mask.shape == (side, side)
    assert mask.dtype == np.bool_
    assert int(mask.sum()) == blocked


@pytest.mark.parametrize(
    ('layout', 'least'),
    [('ushape', 10), ('block', 5), ('wall', 3), ('open', 2)],
)
def test_least_side(layout, least):
    assert layout_mask(layout, np.int64(least)).shape == (least, least)
    with pytest.raises(BCMError, match=f"'{layout}' needs .* {least} .got"):
        layout_mask(layout, least - 1)


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('side', range(10, 30))
def test_layouts_lie_inside_and_leave_one_piece(layout, side):
    free = ~layout_mask(layout, side)
    assert label(free)[1] == 1  # pieces by 4-connectivity
    assert free[:, 0].all() and free[:, -1].all()


@pytest.mark.parametrize('side', [4.0, '4', None, True])
def test_side_must_be_an_int(side):
    with pytest.raises(BCMError, match=f'side must be an int .got {side!r}'):
        layout_mask('open', side)


def test_unknown_layout():
    with pytest.raises(BCMError, match="'ushape'.* or a boolean mask .*'maze'"):
        layout_mask('maze', 10)

"""The maze is one piece, with more than one route."""

import numpy as np
import pytest
from scipy.ndimage import label

from bcm_pyg.datasets import weighted_grid
from benchmarks.lib.graphs import GRAPHS, load, maze_mask


@pytest.mark.parametrize('side', [7, 10, 20, 41])
def test_maze_is_one_piece_with_more_than_one_route(side):
    mask = maze_mask(side, seed=3)
    assert mask.shape == (side, side) and mask.dtype == np.bool_
    assert label(~mask)[1] == 1
    data = weighted_grid(mask)
    assert data.num_edges / 2 > int((~mask).sum()) - 1  # more than a tree
    assert mask.mean() > 0.2


def test_maze_depends_on_its_seed_alone():
    assert (maze_mask(20, 1) == maze_mask(20, 1)).all()
    assert (maze_mask(20, 1) != maze_mask(20, 2)).any()


def test_maze_without_openings_is_a_tree():
    mask = maze_mask(21, opened=0.0)
    data = weighted_grid(mask)
    assert data.num_edges // 2 == int((~mask).sum()) - 1
    assert label(~mask)[1] == 1


def test_graphs_that_are_not_there_are_named():
    with pytest.raises(SystemExit, match='no graph atlantis: choose from sci'):
        load('atlantis', 1)
    assert len(GRAPHS) == len({path for path, _ in GRAPHS.values()})

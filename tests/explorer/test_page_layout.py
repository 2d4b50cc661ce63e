import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.explorer._layout import layout_of
from bcm_pyg.graph import from_occupancy


def path_graph(pos: list[list[float]]) -> Data:
    tail = torch.arange(len(pos) - 1)
    edges = torch.stack([tail, tail + 1])
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    data = Data(pos=torch.tensor(pos), edge_index=edges)
    data.edge_cost = torch.ones(edges.size(1))
    return planning_graph(data)


def test_grids_are_matrices():
    layout = layout_of(weighted_grid('ushape', 10, 'wide', 0))
    assert layout.cells
    assert layout.step == (1.0, 1.0)
    assert layout.x[:11].tolist() == [*range(10), 0]
    assert layout.y[:11].tolist() == [0] * 10 + [1]
    assert layout.blocked.sum() > 0
    assert layout.ground is not None and layout.ground.dtype == np.uint8
    assert layout.projection == ''


def test_occupancy_is_a_matrix_of_its_free_cells():
    occupied = np.zeros((3, 4), dtype=bool)
    occupied[1, 1] = True
    layout = layout_of(from_occupancy(occupied))
    assert layout.cells
    assert layout.x.max() == 3 and layout.y.max() == 2
    assert layout.ground is None  # all steps of a length cost the same


def test_walls_at_the_rim_are_part_of_a_matrix():
    occupied = np.ones((5, 6), dtype=bool)
    occupied[1:4, 2:5] = False
    data = from_occupancy(occupied)
    layout = layout_of(data)
    assert layout.frame == (6, 5)
    assert (layout.x.min(), layout.x.max()) == (2, 4)
    assert (layout.y.min(), layout.y.max()) == (1, 3)
    for name in ('pos', 'coord', 'grid_size'):  # x and y
        data[name] = data[name].flip(1)
    data.matrix_axes = torch.tensor([[1, 0]])
    turned = layout_of(planning_graph(data))
    assert turned.frame == (6, 5)
    assert np.array_equal(turned.x, layout.x)
    assert np.array_equal(turned.y, layout.y)


def test_streets_are_points():
    layout = layout_of(path_graph([[0.0, 0.0], [10.0, 5.0], [30.0, 0.5]]))
    assert not layout.cells
    x, y = layout.x * layout.step[0], layout.y * layout.step[1]
    assert np.allclose(x, [0, 10, 30], atol=1e-3)
    assert np.allclose(y, [5, 0, 4.5], atol=1e-3)  # the second axis is up
    steps = layout.steps_of(np.array([[10.0, 5.0], [40.0, 6.0]]))
    assert steps[0].tolist() == [layout.x[1], layout.y[1]]
    assert steps[1, 0] > layout.x.max() and steps[1, 1] < 0


def test_height_shades_the_ground():
    pos = [[float(i), float(j), float(i)] for i in range(4) for j in range(3)]
    layout = layout_of(path_graph(pos))
    assert layout.projection == 'seen from above: the first two axes'
    assert layout.ground is not None
    assert layout.ground[0] < layout.ground[-1]


def test_stacked_nodes_are_drawn_obliquely():
    occupied = np.zeros((3, 3, 3), dtype=bool)
    layout = layout_of(from_occupancy(occupied))
    assert layout.projection.startswith('oblique')
    places = set(zip(layout.x.tolist(), layout.y.tolist(), strict=True))
    assert len(places) == 27


def test_given_ground():
    data = weighted_grid('open', 4, 'uniform', 0)
    layout = layout_of(data, np.arange(16.0))
    assert layout.ground is not None
    assert layout.ground[0] < layout.ground[15]


def test_no_positions():
    data = path_graph([[0.0, 0.0], [1.0, 0.0]])
    del data.pos
    with pytest.raises(BCMError, match='an explorer needs them'):
        layout_of(data)


@pytest.mark.parametrize(
    ('pos', 'message'),
    [
        ([[0.0], [1.0]], 'pos has one axis'),
        ([[2.0, 1.0], [2.0, 1.0]], 'all nodes are at the same position'),
    ],
)
def test_useless_positions(pos, message):
    with pytest.raises(BCMError, match=message):
        layout_of(path_graph(pos))

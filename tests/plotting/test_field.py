import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from bcm_pyg import BCM, BCMError, Planner
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.plotting import plot_field
from bcm_pyg.utils import Adjacency


def exact(data, goal):
    graph = Adjacency.from_data(data).to_scipy(reverse=True)
    return dijkstra(graph, indices=goal)


def test_grid():
    data = weighted_grid('ushape', side=10)
    value = exact(data, 95)
    ax = plot_field(data, value, 95, unit='s')
    table = ax.images[0].get_array()
    assert table.mask.ravel().tolist() == data.blocked.tolist()
    free = ~data.blocked.numpy()
    assert np.allclose(table.compressed(), value[free])
    assert ax.figure.axes[1].get_ylabel() == 'cost to go (s)'
    (star,) = [line for line in ax.lines if line.get_marker() == '*']
    assert (*star.get_xdata(), *star.get_ydata()) == (5, 9)


def test_edges_show_the_mean_of_their_ends(diamond):
    value = torch.tensor([2.0, 1.0, 4.0, 0.0, float('inf')])
    ax = plot_field(diamond, value[: diamond.num_nodes], 3, colorbar=False)
    lines = ax.collections[0]
    shown = lines.get_array()
    found = dict(
        zip(
            [tuple(map(tuple, part)) for part in lines.get_segments()],
            shown.tolist(),
            strict=True,
        )
    )
    pos = diamond.pos.double().numpy()
    ends = tuple(pos[0, :2]), tuple(pos[1, :2])
    assert found[ends] == 1.5


def test_a_planner_gives_its_values():
    data = weighted_grid('open', side=5)
    planner = Planner(BCM.from_data(data), data)
    ax = plot_field(data, planner, 7)
    values = planner.distance_matrix(range(25), [7])[:, 0]
    shown = ax.images[0].get_array().filled().ravel()
    assert np.allclose(shown, values.numpy())


def test_errors():
    data = weighted_grid('open', side=4)
    with pytest.raises(BCMError, match='each of 16 nodes'):
        plot_field(data, torch.zeros(3), 0)
    for field in (BCM.from_data(data), None, 'abc'):
        with pytest.raises(BCMError, match=r'16 nodes \(got [A-Za-z]+\)'):
            plot_field(data, field, 3)
    with pytest.raises(BCMError, match='goal'):
        plot_field(data, torch.zeros(16), 16)

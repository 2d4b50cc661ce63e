import matplotlib
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

matplotlib.use('Agg')
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from bcm_pyg import BCMError
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import from_arrays
from bcm_pyg.plotting import plot_route


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close('all')


def edges(ax):
    return next(c for c in ax.collections if isinstance(c, LineCollection))


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_grid():
    data = weighted_grid('ushape', side=10)
    plan = Dijkstra(data)([0, 5], [99, 5])
    ax = plot_route(data, plan)
    assert len(edges(ax).get_segments()) == data.num_edges
    walls = [p for p in ax.patches if isinstance(p, Rectangle)]
    assert len(walls) == int(data.blocked.sum())
    assert ax.yaxis_inverted()
    assert labels(ax) == [f'route (cost {float(plan.cost[0]):.1f})']
    route = max(ax.lines, key=lambda line: len(line.get_xdata()))
    xy = list(zip(route.get_xdata(), route.get_ydata(), strict=True))
    assert xy == [(n % 10, n // 10) for n in plan.path(0)]


def test_several_planners_and_a_failure(diamond):
    good = Dijkstra(diamond)([0, 0], [3, 4])
    _, ax = plt.subplots()
    out = plot_route(diamond, {'a': good, 'b': good}, ax, colorbar=False)
    assert out is ax
    assert labels(ax) == ['a (cost 2.0)', 'b (cost 2.0)']
    failed = plot_route(diamond, good, query=1)
    assert labels(failed) == ['route (no route)']


def test_wide_costs_are_drawn_on_a_logarithmic_scale():
    data = Data(
        pos=torch.rand(4, 3),
        edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]),
        minutes=torch.tensor([0.1, 0.2, 500.0]),
    )
    from bcm_pyg import planning_graph

    plan = Dijkstra(planning_graph(data, cost='minutes'))(0, 3)
    ax = plot_route(data, plan, cost='minutes')
    assert isinstance(edges(ax).norm, LogNorm)


def test_errors(diamond):
    plan = Dijkstra(diamond)(0, 3)
    with pytest.raises(BCMError, match='none is 1'):
        plot_route(diamond, plan, query=1)
    with pytest.raises(BCMError, match='got list'):
        plot_route(diamond, [plan])
    line = Data(
        pos=torch.rand(2, 1),
        edge_index=torch.tensor([[0], [1]]),
        edge_cost=torch.ones(1),
    )
    with pytest.raises(BCMError, match='two coordinate axes'):
        plot_route(line, Dijkstra(line)(0, 1))


def test_routes_over_a_picture(diamond):
    _, ax = plt.subplots()
    ax.imshow(torch.rand(4, 4).numpy(), extent=(-1, 3, -2, 2))
    plot_route(diamond, Dijkstra(diamond)(0, 3), ax, edges=False)
    assert not any(isinstance(c, LineCollection) for c in ax.collections)
    assert ax.figure.axes == [ax]  # no colour bar
    assert labels(ax) == ['route (cost 2.0)']
    assert ax.get_xlim() == (-1, 3) and ax.get_ylim() == (-2, 2)


def test_streets_are_drawn_with_their_bends():
    data = from_arrays(
        [[0.0, 0.0], [4.0, 0.0], [4.0, 2.0]],
        [[0, 1, 1, 2], [1, 0, 2, 1]],
        [1.0, 1.0, 1.0, 1.0],
        edge_bends=[[0, 1], [0, 1], [1, 2], [2, 2]],
        bends=[[[2.0, 5.0], [9.0, 1.0]]],
    )
    ax = plot_route(data, Dijkstra(data)(0, 2))
    streets = [np.round(line, 6).tolist() for line in edges(ax).get_segments()]
    origin = data.pos_origin[0].tolist()
    up, side = (np.array([[2, 5], [9, 1]]) - origin).tolist()
    assert [line[1:-1] for line in streets] == [[up], [up], [side], []]
    route = max(ax.lines, key=lambda line: len(line.get_xdata()))
    assert route.get_xydata()[[1, 3]].round(6).tolist() == [up, side]
    assert len(route.get_xydata()) == 5

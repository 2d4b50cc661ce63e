import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, to_hex
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import from_arrays, from_occupancy, read_movingai
from bcm_pyg.plotting import plot_route


def streets(ax):
    return next(c for c in ax.collections if isinstance(c, LineCollection))


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn_routes(ax):
    """Lines in the legend, in order."""
    return ax.get_legend_handles_labels()[0]


def test_grid():
    data = weighted_grid('ushape', side=10)
    plan = Dijkstra(data)([0, 5], [99, 5])
    ax = plot_route(data, plan)
    (image,) = ax.images
    cells = image.get_array()[::2, ::2]
    assert cells.mask.ravel().tolist() == data.blocked.tolist()
    # An edge of a cell shows its own cost, between the cells.
    first = data.edge_cost[(data.edge_index.T == torch.tensor([0, 1])).all(1)]
    assert image.get_array()[0, 1] == float(first)
    assert ax.yaxis_inverted()
    assert labels(ax) == [f'route: {float(plan.cost[0]):.1f}']
    (route,) = drawn_routes(ax)
    xy = list(zip(route.get_xdata(), route.get_ydata(), strict=True))
    assert xy == [(n % 10, n // 10) for n in plan.path(0)]


def test_a_route_never_covers_a_wall():
    occupied = np.zeros((60, 60), dtype=bool)
    occupied[30, :59] = True
    data = from_occupancy(occupied)
    plan = Dijkstra(data)(0, data.num_nodes - 1)
    ax = plot_route(data, {'a': plan, 'b': plan})
    ax.figure.canvas.draw()
    box = ax.get_window_extent()
    cell = 72 / ax.figure.dpi * box.width / 60  # in points
    assert all(line.get_linewidth() < cell for line in ax.lines[:3])


def test_cells_whose_costs_are_lengths_have_one_colour():
    data = from_occupancy(np.zeros((4, 5), dtype=bool))
    ax = plot_route(data, Dijkstra(data)(0, 19))
    assert ax.figure.axes == [ax]  # no colour bar
    assert set(ax.images[0].get_array().compressed()) == {0.0}


def test_a_game_map_is_drawn_as_in_its_file(tmp_path):
    rows = ['@@@@@', '@...@', '@.@@@']
    text = 'type octile\nheight 3\nwidth 5\nmap\n' + '\n'.join(rows)
    (tmp_path / 'a.map').write_text(text)
    data = read_movingai(tmp_path / 'a.map')
    ax = plot_route(data, Dijkstra(data)(0, 1))
    walls = ax.images[0].get_array()[::2, ::2].mask
    shown = [''.join('@' if wall else '.' for wall in row) for row in walls]
    assert shown == rows
    assert ax.get_xlim() == (-0.5, 4.5)


def test_coinciding_routes_are_all_seen(diamond):
    plan = Dijkstra(diamond)(0, 3)
    ax = plot_route(diamond, {'a': plan, 'b': plan})
    wide, narrow = drawn_routes(ax)
    assert wide.get_linewidth() > 1.4 * narrow.get_linewidth()
    assert wide.get_zorder() < narrow.get_zorder()
    assert to_hex(wide.get_color()) != to_hex(narrow.get_color())


def test_several_planners_and_a_failure(diamond):
    good = Dijkstra(diamond)([0, 0], [3, 4])
    _, ax = plt.subplots()
    out = plot_route(diamond, {'a': good, 'b': good}, ax, unit='min')
    assert out is ax
    assert labels(ax) == ['a: 2.0 min', 'b: 2.0 min']
    failed = plot_route(diamond, good, query=1)
    assert labels(failed) == ['route (no route)']


def test_streets_have_one_quiet_colour_and_a_scale(diamond):
    ax = plot_route(diamond, Dijkstra(diamond)(0, 3))
    pairs = {tuple(sorted(e)) for e in diamond.edge_index.T.tolist()}
    assert len(streets(ax).get_segments()) == len(pairs)
    assert len({to_hex(c) for c in streets(ax).get_colors()}) == 1
    assert not ax.texts  # nobody knows the unit
    data = planning_graph(diamond)
    data.pos = 400 * data.pos
    data.lonlat = torch.zeros(data.num_nodes, 2)
    ax = plot_route(data, Dijkstra(data)(0, 3))
    (scale,) = [text.get_text() for text in ax.texts]
    number, unit = scale.split()
    span = float(data.pos[:, 0].max() - data.pos[:, 0].min())
    assert unit == 'm' and 0.05 * span < float(number) < 0.5 * span


def test_the_figure_has_the_shape_of_the_graph():
    pos = torch.tensor([[0.0, 0.0], [10.0, 0.0], [20.0, 1.0]])
    edges = torch.tensor([[0, 1], [1, 2]])
    data = Data(pos=pos, edge_index=edges, edge_cost=torch.ones(2))
    wide, high = plot_route(data, Dijkstra(data)(0, 2)).figure.get_size_inches()
    assert wide > 1.8 * high


def test_marks_are_not_clipped(diamond):
    ax = plot_route(diamond, Dijkstra(diamond)(0, 3))
    marks = [line for line in ax.lines if line.get_marker() in ('o', '*')]
    assert len(marks) == 2 and not any(mark.get_clip_on() for mark in marks)


def test_wide_costs_are_drawn_on_a_logarithmic_scale():
    data = weighted_grid('open', side=4)
    data.edge_cost = torch.full_like(data.edge_cost, 0.1)
    data.edge_cost[0] = 500.0
    ax = plot_route(data, Dijkstra(data)(0, 3))
    assert isinstance(ax.images[0].norm, LogNorm)


def test_another_cost():
    data = Data(
        pos=torch.rand(4, 3),
        edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]),
        minutes=torch.tensor([0.1, 0.2, 500.0]),
    )
    plan = Dijkstra(planning_graph(data, cost='minutes'))(0, 3)
    assert labels(plot_route(data, plan, cost='minutes')) == ['route: 500.3']


def test_errors(diamond):
    plan = Dijkstra(diamond)(0, 3)
    for query in (1, None):
        with pytest.raises(BCMError, match=f'none is {query}'):
            plot_route(diamond, plan, query=query)
    with pytest.raises(BCMError, match='got list'):
        plot_route(diamond, [plan])
    with pytest.raises(BCMError, match='a must be a Plan'):
        plot_route(diamond, {'a': 5})
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
    assert labels(ax) == ['route: 2.0']
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
    lines = [np.round(line, 6).tolist() for line in streets(ax).get_segments()]
    origin = data.pos_origin[0].tolist()
    up, side = (np.array([[2, 5], [9, 1]]) - origin).tolist()
    assert [line[1:-1] for line in lines] == [[up], [side]]
    (route,) = drawn_routes(ax)
    assert route.get_xydata()[[1, 3]].round(6).tolist() == [up, side]
    assert len(route.get_xydata()) == 5

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.planning import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ('-', '--', ':', '-.')


def plot_route(
    data: Data,
    plan: Plan | Mapping[str, Plan],
    ax: Axes | None = None,
    *,
    query: int = 0,
    colorbar: bool = True,
) -> Axes:
    """Draws a route, or one per planner, on the graph.

    Edges are coloured by cost. A grid (a graph with :obj:`blocked`) is drawn as
    its matrix: rows downward, blocked cells dark. Other graphs are drawn with
    their first coordinate to the right and their second upward. A query without
    a route is named in the legend all the same.

    Args:
        data (torch_geometric.data.Data): The graph; at least two axes.
        plan (Plan or Mapping[str, Plan]): The routes, or several by name.
        ax (matplotlib.axes.Axes, optional): Where to draw. (default: a new one)
        query (int, optional): Which query of the plan. (default: :obj:`0`)
        colorbar (bool, optional): Whether to show what colours mean. (default:
            :obj:`True`)
    """
    try:
        import matplotlib.pyplot as plt
        from matplotlib.collections import LineCollection
    except ImportError:
        raise BCMError(
            "plot_route needs matplotlib: run 'pip install bcm_pyg[plot]'"
        ) from None
    data = planning_graph(data).cpu()
    if data.pos.size(1) < 2:
        raise BCMError('a picture needs at least two coordinate axes')
    plans = {'route': plan} if isinstance(plan, Plan) else dict(plan)
    for name, one in plans.items():
        if not -len(one) <= query < len(one):
            raise BCMError(f'{name} has {len(one)} queries, none is {query}')
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 6), layout='constrained')

    is_grid = data.get('blocked') is not None
    xy = data.pos[:, :2].numpy().astype(float)
    if is_grid:
        xy = xy[:, ::-1]
        ax.invert_yaxis()
    segments = xy[data.edge_index.T.numpy()]
    lines = LineCollection(list(segments), cmap='YlGnBu', linewidths=1.5)
    lines.set_array(data.edge_cost.numpy())
    ax.add_collection(lines)
    if is_grid:
        wall = xy[data.blocked.numpy()]
        ax.plot(*wall.T, 's', color='0.25', markersize=4)
    for place, (name, one) in enumerate(plans.items()):
        _draw(ax, xy, one, query, name, place)
    if colorbar and ax.figure is not None:
        ax.figure.colorbar(lines, ax=ax, label='edge cost', shrink=0.8)
    ax.set_aspect('equal')
    ax.autoscale_view()
    ax.set_xticks([])
    ax.set_yticks([])
    ax.legend(loc='upper center', bbox_to_anchor=(0.5, -0.01), ncols=2)
    return ax


def _draw(
    ax: Any, xy: np.ndarray, plan: Plan, query: int, name: str, place: int
) -> None:
    path = plan.path(query)
    if not path:
        ax.plot([], [], color=f'C{place + 1}', label=f'{name} (no route)')
        return
    ax.plot(
        *xy[path].T,
        STYLES[place % len(STYLES)],
        color=f'C{place + 1}',
        linewidth=3,
        label=f'{name} (cost {float(plan.cost[query]):.1f})',
    )
    if place == 0:
        ax.plot(*xy[path[0]], 'o', color='k', markersize=9, zorder=5)
        ax.plot(*xy[path[-1]], '*', color='k', markersize=15, zorder=5)

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import edge_lines, planning_graph, route_points
from bcm_pyg.planning import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_route(
    data: Data,
    plan: Plan | Mapping[str, Plan],
    ax: Axes | None = None,
    *,
    query: int = 0,
    cost: str | None = None,
    colorbar: bool = True,
    edges: bool = True,
) -> Axes:
    """Draws a route, or one per planner, on the graph.

    Edges are coloured by cost and follow their bends. A grid (a graph with
    :obj:`blocked`) is drawn as its matrix: rows downward, blocked cells dark.
    Otherwise the first axis points to the right and the second upward; others
    are left out. A disc marks the start, a star the goal. The legend also names
    plans without a route.

    Args:
        data (torch_geometric.data.Data): The graph; at least two axes.
        plan (Plan or Mapping[str, Plan]): The routes, or several by name.
        ax (matplotlib.axes.Axes, optional): Where to draw. (default: a new one)
        query (int, optional): Which query of the plan. (default: :obj:`0`)
        cost (str, optional): The costs, as in
            :func:`~bcm_pyg.planning_graph`. (default: :obj:`None`)
        colorbar (bool, optional): Whether to show what colours mean. (default:
            :obj:`True`)
        edges (bool, optional): Whether to draw the graph itself, not only
            routes over what :obj:`ax` already shows. (default: :obj:`True`)
    """
    try:
        import matplotlib.pyplot as plt
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Rectangle
    except ImportError:
        raise BCMError(
            "plot_route needs matplotlib: run 'pip install bcm_pyg[plot]'"
        ) from None
    data = planning_graph(data, cost=cost).cpu()
    if data.pos.size(1) < 2:
        raise BCMError('a picture needs at least two coordinate axes')
    if not isinstance(plan, (Plan, Mapping)):
        kind = type(plan).__name__
        raise BCMError(f'plan must be a Plan, or plans by name (got {kind})')
    plans = {'route': plan} if isinstance(plan, Plan) else dict(plan)
    for name, one in plans.items():
        if not isinstance(one, Plan):
            raise BCMError(f'{name} must be a Plan (got {type(one).__name__})')
        if not -len(one) <= query < len(one):
            raise BCMError(f'{name} has {len(one)} queries, none is {query}')
        one.check_graph(data)
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 6), layout='constrained')

    is_grid = data.get('blocked') is not None
    xy = data.pos[:, :2].numpy().astype(float)
    if is_grid:
        xy = xy[:, ::-1]
        ax.invert_yaxis()
        for x, y in xy[data.blocked.numpy()] - 0.5:
            ax.add_patch(Rectangle((x, y), 1, 1, color='0.35', linewidth=0))
    if edges:
        begin, points = edge_lines(data, coordinates=xy)
        segments = np.split(points, begin[1:-1])
        lines = LineCollection(segments, cmap=_colours(), linewidths=1.5)
        lines.set_array(data.edge_cost.numpy())
        lines.set_norm(_scale(data.edge_cost.numpy()))
        ax.add_collection(lines)
    for rank, (name, one) in enumerate(plans.items()):
        line = route_points(data, one.path(query), xy)
        _draw(ax, line, one, query, name, rank)
    found = [one.path(query) for one in plans.values() if one.success[query]]
    if found:
        ax.plot(*xy[found[0][0]], 'o', color='k', markersize=9, zorder=5)
        ax.plot(*xy[found[0][-1]], '*', color='k', markersize=16, zorder=5)
    if edges and colorbar and ax.figure is not None:
        ax.figure.colorbar(lines, ax=ax, label='edge cost', shrink=0.8)
    ax.set_aspect('equal')
    ax.autoscale_view()
    ax.set(xticks=[], yticks=[])
    ax.legend(loc='upper center', bbox_to_anchor=(0.5, -0.01), ncols=2)
    return ax


def _colours() -> Any:
    """Grey to blue, without the light end that vanishes on white."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    part = colormaps['PuBuGn'](np.linspace(0.25, 1, 64))
    return LinearSegmentedColormap.from_list('cost', part)


def _scale(cost: np.ndarray) -> Any:
    """Linear, or logarithmic where costs span several orders of magnitude."""
    from matplotlib.colors import LogNorm, Normalize

    positive = cost[cost > 0]
    if positive.size and positive.max() > 30 * np.median(positive):
        return LogNorm(np.quantile(positive, 0.01), positive.max(), clip=True)
    return Normalize(cost.min(), cost.max())


def _draw(
    ax: Any, xy: np.ndarray, plan: Plan, query: int, name: str, rank: int
) -> None:
    """One route; later ones are thinner, so that all can be seen."""
    if len(xy) == 0:
        ax.plot([], [], ' ', label=f'{name} (no route)')
        return
    width = max(1.5, 6 - 2.5 * rank)
    if rank == 0:
        ax.plot(*xy.T, color='k', linewidth=width + 1.5, zorder=3)
    color = ('#d55e00', '#f0e442', '#cc79a7', '#009e73')[rank % 4]
    label = f'{name} (cost {float(plan.cost[query]):.1f})'
    (line,) = ax.plot(*xy.T, color=color, label=label)
    line.set(linewidth=width, zorder=3.05 + rank / 9)

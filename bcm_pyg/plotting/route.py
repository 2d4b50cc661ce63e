from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import route_points
from bcm_pyg.planning import Plan
from bcm_pyg.utils import counted

from ._canvas import Canvas, need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours that colour-blind people can distinguish (Okabe and Ito).
COLORS = ('#d55e00', '#56b4e9', '#cc79a7', '#009e73')


def plot_route(
    data: Data,
    plan: Plan | Mapping[str, Plan],
    ax: Axes | None = None,
    *,
    query: int = 0,
    cost: str | None = None,
    unit: str = '',
    colorbar: bool = True,
    edges: bool = True,
) -> Axes:
    """Draws a route, or one per planner, on the graph.

    A grid (a graph with :obj:`blocked` cells) is drawn as its matrix: rows
    downward, walls dark, cells and edges darker where they cost more. Of any
    other graph the first axis points to the right and the second upward; edges
    are drawn with their bends, and a bar shows the scale. A disc marks the
    start, a star the goal. Where routes coincide all are seen: later ones are
    thinner. The legend also names plans without a route.

    Args:
        data (torch_geometric.data.Data): The graph; at least two axes.
        plan (Plan or Mapping[str, Plan]): The routes, or several by name; with
            none the graph alone is drawn.
        ax (matplotlib.axes.Axes, optional): Where to draw. (default: a new
            figure of the shape of the graph)
        query (int, optional): Which query of the plan. (default: :obj:`0`)
        cost (str, optional): The costs, as in
            :func:`~bcm_pyg.planning_graph`. (default: :obj:`None`)
        unit (str, optional): The unit of costs, for the legend. (default: none)
        colorbar (bool, optional): Whether to show what colours of a grid mean.
            (default: :obj:`True`)
        edges (bool, optional): Whether to draw the graph itself, not only
            routes over what :obj:`ax` already shows. (default: :obj:`True`)
    """
    need_matplotlib()
    if not isinstance(plan, (Plan, Mapping)):
        kind = type(plan).__name__
        raise BCMError(f'plan must be a Plan, or plans by name (got {kind})')
    plans = {'route': plan} if isinstance(plan, Plan) else dict(plan)
    canvas = Canvas(data, ax, cost)
    for name, one in plans.items():
        if not isinstance(one, Plan):
            raise BCMError(f'{name} must be a Plan (got {type(one).__name__})')
        if not isinstance(query, int) or not -len(one) <= query < len(one):
            have = counted(len(one), 'query', 'queries')
            raise BCMError(f'{name} has {have}, none is {query}')
        one.check_graph(canvas.data)
    if edges:
        canvas.draw_graph(unit, colorbar)
    for rank, (name, one) in enumerate(plans.items()):
        _draw(canvas, one, query, name, unit, rank, len(plans))
    found = [one.path(query) for one in plans.values() if one.success[query]]
    if found:
        canvas.mark(found[0][0], found[0][-1])
    canvas.finish()
    if plans:
        canvas.ax.legend(
            loc='upper center',
            bbox_to_anchor=(0.5, -0.04),
            ncols=2,
            frameon=False,
            fontsize=9,
        )
    return canvas.ax


def _draw(
    canvas: Canvas,
    plan: Plan,
    query: int,
    name: str,
    unit: str,
    rank: int,
    count: int,
) -> None:
    """One route, on a white rim; the first of several is the widest."""
    path = plan.path(query)
    ax = canvas.ax
    if not path:
        ax.plot([], [], ' ', label=f'{name} (no route)')
        return
    line = route_points(canvas.data, path, canvas.xy)
    wide = canvas.width * (1.5 if count > 1 else 1.0) * 0.7**rank
    style: dict[str, Any] = {
        'solid_joinstyle': 'round',
        'solid_capstyle': 'round',
    }
    if rank == 0:
        ax.plot(*line.T, color='w', linewidth=wide + 1.5, zorder=3, **style)
    label = f'{name}: {float(plan.cost[query]):.1f} {unit}'.rstrip()
    ax.plot(
        *line.T,
        color=COLORS[rank % len(COLORS)],
        linewidth=max(0.8, wide),
        label=label,
        zorder=3.1 + rank / 10,
        **style,
    )
